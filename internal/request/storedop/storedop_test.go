package storedop_test

import (
	"context"
	"testing"

	"github.com/magpie-search/magpie/internal/request/storedop"
)

func TestOnlyMarkedContextsAreStored(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if storedop.Is(ctx) {
		t.Fatal("a plain context counts as stored")
	}
	child, cancel := context.WithCancel(storedop.With(ctx))
	defer cancel()
	if !storedop.Is(child) {
		t.Fatal("the mark does not pass to derived contexts")
	}
}
