package connectortest

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// A Breakage is a way in which a platform fails.
type Breakage string

// The breakages that a [Setup].Break is called with.
const (
	Unauthorized Breakage = "unauthorized" // 401 for credentials that were valid before
	RateLimited  Breakage = "limited"      // 429 or the platform's equivalent, with a delay of RateLimitedFor
	Unavailable  Breakage = "unavailable"  // 503 or an equivalent, without a delay
	Truncated    Breakage = "cut off"      // a body or connection that ends too early
)

// RateLimitedFor is the delay that a RateLimited platform asks for.
const RateLimitedFor = 7 * time.Second

// breakagesBecomeErrors checks the errors of a source for each breakage, and
// that the source works again afterwards.
func breakagesBecomeErrors(t *testing.T, setup Setup) {
	if setup.Break == nil {
		return
	}
	setup.Fixture.Put(t, "docs/a.md", []byte("# A\n\nwhat is in it, and some more of it"))
	source := setup.open(t)
	item := itemAt(t, source, "docs/a.md")
	changes := func() error { return nil }
	if feeder, ok := source.(connectors.Feeder); ok {
		_, c := openFeed(t, setup)
		changes = func() error { _, err := feeder.Changes(t.Context(), c.token); return err }
	}
	for _, breakage := range []Breakage{Unauthorized, RateLimited, Unavailable, Truncated} {
		repair := setup.Break(t, breakage)
		if repair == nil {
			continue // the platform does not fail in this way
		}
		_, walking := source.Walk(t.Context(), "")
		for call, err := range map[string]error{"walk": walking, "open": openAndRead(t, source, item), "check": source.Check(t.Context()), "changes": changes()} {
			if call == "open" && len(item.Content) > 0 || err == nil && call != "walk" {
				continue // it sends no request
			}
			breakage.expect(t, call, err)
		}
		repair()
		if _, err := source.Walk(t.Context(), ""); err != nil {
			t.Errorf("Walk after the platform was %s: %v", breakage, err)
		}
	}
	expectContent(t, source, itemAt(t, source, "docs/a.md"), []byte("# A\n\nwhat is in it, and some more of it"))
}

func openAndRead(t *testing.T, source connectors.Source, item connectors.Item) error {
	t.Helper()
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, reader)
	return errors.Join(err, reader.Close())
}

// expect checks the error of a call during the breakage.
func (b Breakage) expect(t *testing.T, call string, err error) {
	t.Helper()
	after, retryable := connectors.RetryAfterOf(err)
	ok := map[Breakage]bool{
		Unauthorized: connectors.IsNeedsAuth(err) && !retryable,
		RateLimited:  retryable && after >= RateLimitedFor-2*time.Second && after <= RateLimitedFor+2*time.Second,
		Unavailable:  retryable,
		Truncated:    retryable,
	}[b]
	if !ok || errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("%s when the platform is %s: %v (retryable %v, after %s, needs auth %v)", call, b, err, retryable, after, connectors.IsNeedsAuth(err))
	}
}
