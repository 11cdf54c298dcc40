package syncer

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// planPrefix is what the names of a plan's notes begin with.
const planPrefix = "plan/"

// planNotes are notes of a plan's own beside those of the connector: what a walk
// remembers that was only to see what a sync would do must not make the next
// sync believe that it was done.
type planNotes struct{ of connectors.Notes }

func (n planNotes) Save(ctx context.Context, name string, data []byte) error {
	return n.of.Save(ctx, planPrefix+name, data)
}

func (n planNotes) Load(ctx context.Context, name string) ([]byte, error) {
	return n.of.Load(ctx, planPrefix+name)
}

func (n planNotes) Names(ctx context.Context, prefix string) ([]string, error) {
	names, err := n.of.Names(ctx, planPrefix+prefix)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], planPrefix)
	}
	return names, err
}

func (n planNotes) Drop(ctx context.Context, prefix string) error {
	return n.of.Drop(ctx, planPrefix+prefix)
}

// ownNotes gives a plan notes of its own, empty ones when it begins.
func (s *slice) ownNotes(ctx context.Context, settings *connectors.Settings) error {
	if !s.planning || settings.Notes == nil {
		return nil
	}
	own := planNotes{settings.Notes}
	settings.Notes = own
	if s.job.Cursor != "" || s.job.Walked {
		return nil
	}
	return own.Drop(ctx, "")
}
