package accesslog_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/request/accesslog"
)

func TestALineWaitsForTheLastHold(t *testing.T) {
	t.Parallel()
	_, e := accesslog.With(t.Context())
	written := 0
	write := func() { written++ }
	first, second := e.Hold(), e.Hold()
	first()
	e.End(write)
	if written != 0 {
		t.Error("written while it was held")
	}
	second()
	if written != 1 {
		t.Errorf("written %d times", written)
	}
	_, early := accesslog.With(t.Context())
	early.Hold()() // the connection ended before its handler
	early.End(write)
	if written != 2 {
		t.Errorf("written %d times", written)
	}
}

func TestARequestWithoutAnEntryIsLeftAlone(t *testing.T) {
	t.Parallel()
	e := accesslog.From(t.Context())
	e.SetRoute("/x")
	e.AddOperation("A", "query")
	e.Hold()()
	if e != nil || e.Attributes() != nil {
		t.Errorf("%v", e)
	}
}
