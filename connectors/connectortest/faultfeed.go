package connectortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

const (
	partPresent = "present"
	partChanges = "changes"
)

// A changeSet is what a sync reads from a feed.
type changeSet struct {
	items             map[string]connectors.Item
	gone, permissions []string
}

var errExpired = errors.New("the token has expired")

// RecordFeed returns a token of the feed and the state that a sync leaves: it asks for
// the token of the present and walks the source.
func RecordFeed(t *testing.T, kind connectors.Kind, settings connectors.Settings) (token string, state *State) {
	t.Helper()
	state = &State{}
	settings.State = state
	source := Open(t, kind, settings)
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	present, err := feeder.Changes(t.Context(), "")
	if err != nil || present.Next == "" {
		t.Fatalf("the token of the present: %q, %v", present.Next, err)
	}
	cursor := ""
	for range maxPages {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatalf("walk: %v", err)
		}
		if page.Done {
			return present.Next, state
		}
		cursor = page.Next
	}
	t.Fatal("the walk did not come to an end")
	return "", nil
}

// syncFeed asks a source for the token of the present, and reads the changes since
// the token of the suite.
func (l FaultInjection) syncFeed(t *testing.T, s *syncResult, source connectors.Source, dial connectors.Dial, stop func() bool) {
	t.Helper()
	feeder, ok := source.(connectors.Feeder)
	if !ok || l.FeedToken == "" {
		return
	}
	s.readPresent(t.Context(), feeder, stop)
	if l.FeedState != nil {
		later := l.openSource(t, dial, l.FeedState.Clone())
		defer func() { _ = later.Close() }()
		feeder, _ = later.(connectors.Feeder)
	}
	s.readFeed(t.Context(), feeder, l.FeedToken, stop)
}

// readPresent asks for the token of the present.
func (s *syncResult) readPresent(ctx context.Context, feeder connectors.Feeder, stop func() bool) {
	if stop() {
		return
	}
	present, err := feeder.Changes(ctx, "")
	if err == nil && present.Next == "" {
		err = connectors.Retryable(errors.New("there is no token of the present"), 0)
	}
	s.record(partPresent, err)
}

// readFeed reads the changes since a token. A token that has expired is a retryable
// error: the source is walked then.
func (s *syncResult) readFeed(ctx context.Context, feeder connectors.Feeder, token string, stop func() bool) {
	if stop() {
		return
	}
	s.done[partChanges] = true
	s.changes.items = map[string]connectors.Item{}
	for range maxPages {
		page, err := feeder.Changes(ctx, token)
		switch {
		case err != nil:
			s.errs[partChanges] = err
			return
		case page.Expired:
			s.errs[partChanges] = connectors.Retryable(errExpired, 0)
			return
		}
		for _, item := range page.Items {
			s.changes.items[item.ID] = item
		}
		s.changes.gone = append(s.changes.gone, page.Gone...)
		s.changes.permissions = append(s.changes.permissions, page.Permissions...)
		s.warnings = append(s.warnings, page.Warnings...)
		if !page.More {
			return
		}
		if page.Next == token {
			s.errs[partChanges] = connectors.Retryable(fmt.Errorf("changes lead to themselves: %.100q", token), 0) // as the engine does
			return
		}
		token = page.Next
	}
	s.errs[partChanges] = errors.New("the changes did not come to an end")
}

// firstWrong returns the first change that the correct sync does not have, or nil.
func (c changeSet) firstWrong(want changeSet) error {
	for id, item := range c.items {
		if real, known := want.items[id]; !known || !equalItems(item, real) {
			return fmt.Errorf("the changed item %s is %+v, want %+v", id, withoutContent(item), withoutContent(real))
		}
	}
	for _, id := range c.gone {
		if !slices.Contains(want.gone, id) {
			return fmt.Errorf("the changes report %s as gone, so that it would be deleted", id)
		}
	}
	return nil
}

// firstMissing returns the first change that changes without an error lack, or nil.
func (c changeSet) firstMissing(want changeSet) error {
	for id := range want.items {
		if _, exists := c.items[id]; !exists {
			return fmt.Errorf("the changes lack the item %s", id)
		}
	}
	for _, id := range want.gone {
		if !slices.Contains(c.gone, id) {
			return fmt.Errorf("the changes lack that %s is gone", id)
		}
	}
	for _, id := range want.permissions {
		if _, listed := c.items[id]; !listed && !slices.Contains(c.permissions, id) {
			return fmt.Errorf("the changes lack the readers of %s", id)
		}
	}
	return nil
}
