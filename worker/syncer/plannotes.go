package syncer

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// planPrefix is what the names of a plan's notes begin with.
const planPrefix = "plan/"

// planState are notes of a plan's own beside those of the connector: what a walk
// remembers that was only to see what a sync would do must not make the next
// sync believe that it was done.
type planState struct{ of connectors.State }

func (n planState) Put(ctx context.Context, name string, data []byte) error {
	return n.of.Put(ctx, planPrefix+name, data)
}

func (n planState) Get(ctx context.Context, name string) ([]byte, error) {
	return n.of.Get(ctx, planPrefix+name)
}

func (n planState) Keys(ctx context.Context, prefix string) ([]string, error) {
	names, err := n.of.Keys(ctx, planPrefix+prefix)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], planPrefix)
	}
	return names, err
}

func (n planState) DeletePrefix(ctx context.Context, prefix string) error {
	return n.of.DeletePrefix(ctx, planPrefix+prefix)
}

// ownNotes gives a plan notes of its own, empty ones when it begins.
func (s *slice) ownNotes(ctx context.Context, settings *connectors.Settings) error {
	if !s.planning || settings.State == nil {
		return nil
	}
	own := planState{settings.State}
	settings.State = own
	if s.job.Cursor != "" || s.job.Walked {
		return nil
	}
	return own.DeletePrefix(ctx, "")
}
