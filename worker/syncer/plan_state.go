package syncer

import (
	"context"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// planPrefix is the prefix of the keys in a plan's state.
const planPrefix = "plan/"

// planState keeps the state of a plan separate from that of the connector, so that
// the next sync does not skip what a plan has only looked at.
type planState struct{ connector connectors.State }

// Put implements connectors.State.
func (n planState) Put(ctx context.Context, name string, data []byte) error {
	return n.connector.Put(ctx, planPrefix+name, data)
}

// Get implements connectors.State.
func (n planState) Get(ctx context.Context, name string) ([]byte, error) {
	return n.connector.Get(ctx, planPrefix+name)
}

// Keys implements connectors.State.
func (n planState) Keys(ctx context.Context, prefix string) ([]string, error) {
	names, err := n.connector.Keys(ctx, planPrefix+prefix)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], planPrefix)
	}
	return names, err
}

// DeletePrefix implements connectors.State.
func (n planState) DeletePrefix(ctx context.Context, prefix string) error {
	return n.connector.DeletePrefix(ctx, planPrefix+prefix)
}

// usePlanState gives a plan its own state, which is empty at its start.
func (s *slice) usePlanState(ctx context.Context, settings *connectors.Settings) error {
	if !s.isPlan || settings.State == nil {
		return nil
	}
	own := planState{settings.State}
	settings.State = own
	if s.job.Cursor != "" || s.job.Walked {
		return nil
	}
	return own.DeletePrefix(ctx, "")
}
