package connectortest

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// Breakage is a way in which a platform refuses to work.
type Breakage string

// What a [Setup].Break is asked for. Limited is 429, or the platform's own way to
// say it, with LimitedFor to wait; Unauthorized a 401 for credentials that were
// right before; Unavailable a 503 or the like without a time; CutOff a body that
// ends before its time, or a connection that does.
const (
	Unauthorized Breakage = "unauthorized"
	Limited      Breakage = "limited"
	Unavailable  Breakage = "unavailable"
	CutOff       Breakage = "cut off"
)

// LimitedFor is how long a platform asks to wait when it is Limited.
const LimitedFor = 7 * time.Second

// breakagesAreTold checks what a source makes of each breakage, and that it
// works again when that is over.
func breakagesAreTold(t *testing.T, setup Setup) {
	if setup.Break == nil {
		return // the platform cannot be told to break
	}
	setup.Fixture.Put(t, "docs/a.md", []byte("# A\n\nwhat is in it, and some more of it"))
	source := setup.open(t)
	item := itemAt(t, source, "docs/a.md")
	for _, breakage := range []Breakage{Unauthorized, Limited, Unavailable, CutOff} {
		repair := setup.Break(t, breakage)
		if repair == nil {
			continue // not this way
		}
		_, walking := source.Walk(t.Context(), "")
		for call, err := range map[string]error{"walk": walking, "open": opened(t, source, item), "check": source.Check(t.Context())} {
			if call == "open" && len(item.Content) > 0 || err == nil && call != "walk" {
				continue // it asks nothing of the platform
			}
			breakage.expect(t, call, err)
		}
		repair()
		if _, err := source.Walk(t.Context(), ""); err != nil {
			t.Errorf("a walk after the platform was %s: %v", breakage, err)
		}
	}
	expectContent(t, source, itemAt(t, source, "docs/a.md"), []byte("# A\n\nwhat is in it, and some more of it"))
}

func opened(t *testing.T, source connectors.Source, item connectors.Item) error {
	t.Helper()
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, reader)
	return errors.Join(err, reader.Close())
}

// expect checks what a call came to.
func (b Breakage) expect(t *testing.T, call string, err error) {
	t.Helper()
	after, retryable := connectors.RetryAfterOf(err)
	wanted := map[Breakage]bool{
		Unauthorized: connectors.IsNeedsAuth(err) && !retryable,
		Limited:      retryable && after >= LimitedFor-2*time.Second && after <= LimitedFor+2*time.Second,
		Unavailable:  retryable,
		CutOff:       retryable,
	}[b]
	if !wanted || errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("%s of a platform that is %s: %v (retryable %v, after %s, needs auth %v)", call, b, err, retryable, after, connectors.IsNeedsAuth(err))
	}
}
