package connectors_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

func TestMarksSurviveWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	retryable := fmt.Errorf("walk: %w", connectors.Retryable(cause, 3*time.Second))
	needsAuth := fmt.Errorf("walk: %w", connectors.NeedsAuth(cause))
	fatal := fmt.Errorf("walk: %w", connectors.Fatal(cause))
	for name, err := range map[string]error{"retryable": retryable, "needs auth": needsAuth, "fatal": fatal, "plain": cause} {
		after, again := connectors.RetryAfterOf(err)
		if again != (name == "retryable") || connectors.IsNeedsAuth(err) != (name == "needs auth") || connectors.IsFatal(err) != (name == "fatal") {
			t.Errorf("%s: retryable %v, needs auth %v, fatal %v", name, again, connectors.IsNeedsAuth(err), connectors.IsFatal(err))
		}
		if again && after != 3*time.Second {
			t.Errorf("after %v, want 3s", after)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if text := retryable.Error(); text != "walk: the cause" {
		t.Errorf("the behaviour changed the text: %q", text)
	}
}

func TestNilErrorStaysNil(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, connectors.Retryable(nil, time.Second), connectors.NeedsAuth(nil), connectors.Fatal(nil)} {
		if _, again := connectors.RetryAfterOf(err); err != nil || again || connectors.IsNeedsAuth(err) || connectors.IsFatal(err) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWaitIsNeverNegative(t *testing.T) {
	t.Parallel()
	if after, _ := connectors.RetryAfterOf(connectors.Retryable(errors.New("x"), -time.Hour)); after != 0 {
		t.Errorf("after %v, want 0", after)
	}
}

func TestSkipLeavesOneItemOut(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read a.bin: %w", connectors.Skip(errors.New("kept elsewhere")))
	if !connectors.IsSkip(err) || connectors.IsFatal(err) || connectors.IsNeedsAuth(err) || err.Error() != "read a.bin: kept elsewhere" {
		t.Errorf("got %v", err)
	}
	if _, retryable := connectors.RetryAfterOf(err); retryable || connectors.Skip(nil) != nil || connectors.IsSkip(errors.New("x")) || connectors.IsSkip(nil) {
		t.Error("a skip is mistaken for something else, or something else for a skip")
	}
}
