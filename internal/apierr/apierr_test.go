package apierr_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/apierr"
)

func TestInternalErrorsHideTheirCause(t *testing.T) {
	t.Parallel()
	e := apierr.From(errors.New(`pq: relation "users" does not exist`))
	if e.Code != apierr.Internal || strings.Contains(e.Message, "users") {
		t.Fatalf("From = %q %q", e.Code, e.Message)
	}
	if !strings.Contains(e.Error(), "users") {
		t.Fatalf("the log text %q lost the cause", e.Error())
	}
}

func TestWrapKeepsTheCode(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("outer: %w", apierr.Wrap("load", apierr.NotFound("Document")))
	e := apierr.From(err)
	if e.Code != apierr.CodeNotFound || e.Message != "Document not found" || e.Op != "load" {
		t.Fatalf("From = %+v", e)
	}
	if apierr.Wrap("load", nil) != nil {
		t.Fatal("Wrap(nil) is an error")
	}
	if got := apierr.From(fmt.Errorf("x: %w", context.DeadlineExceeded)).Code; got != apierr.Unavailable {
		t.Fatalf("a deadline is %q", got)
	}
}

func TestInvalidNamesItsField(t *testing.T) {
	t.Parallel()
	e := apierr.Invalid("limit", "must be between 1 and 100")
	if e.Message != "limit: must be between 1 and 100" || e.Code.Status() != http.StatusBadRequest {
		t.Fatalf("Invalid = %+v", e)
	}
	if apierr.Code("made up").Status() != http.StatusInternalServerError {
		t.Fatal("an unknown code is not a 500")
	}
}

type stateError string

func (stateError) Error() string      { return "refused" }
func (e stateError) SQLState() string { return string(e) }

func TestAnUnreachableServerIsUnavailable(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]apierr.Code{
		&net.OpError{Op: "dial", Err: errors.New("connection refused")}: apierr.Unavailable,
		stateError("57P01"): apierr.Unavailable,
		stateError("57P03"): apierr.Unavailable,
		stateError("53300"): apierr.Unavailable,
		stateError("25006"): apierr.Unavailable,
		stateError("08006"): apierr.Unavailable,
		stateError("23505"): apierr.Internal,
		stateError("57014"): apierr.Internal,
	} {
		if got := apierr.From(fmt.Errorf("read: %w", err)); got.Code != want || strings.Contains(got.Message, "refused") {
			t.Errorf("%v: %q %q", err, got.Code, got.Message)
		} else if (got.RetryAfter > 0) != (want == apierr.Unavailable) {
			t.Errorf("%v: come back after %s", err, got.RetryAfter)
		}
	}
}
