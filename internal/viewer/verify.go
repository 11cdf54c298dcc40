package viewer

import (
	"context"

	"github.com/google/uuid"
)

// A Verdict says which documents are not for a person now.
type Verdict struct {
	// Hidden are the documents, never nil.
	Hidden map[uuid.UUID]bool
	// Unanswered says that a source did not answer, so that its documents are hidden.
	Unanswered bool
}

// A Verifier asks the sources of documents whether a person may read them now. It is an
// optional ability of the Principals in the context.
type Verifier interface {
	// Verifies reports whether a source of the workspace is asked.
	Verifies(ctx context.Context, workspace uuid.UUID) (bool, error)
	// HiddenNow returns which documents are not for the person with an email address, ""
	// for nobody: of the sources that are asked, those that the person may not read and
	// those of which the source does not say now. It answers in bounded time.
	HiddenNow(ctx context.Context, workspace uuid.UUID, email string, documents []uuid.UUID) (Verdict, error)
}

// verifierOf returns the verifier for the viewer in ctx, nil if no source is asked.
func verifierOf(ctx context.Context) (Verifier, Viewer) {
	v, ok := From(ctx)
	if !ok || v.Kind == KindSystem || v.Workspace == uuid.Nil {
		return nil, v
	}
	verifier, _ := ctx.Value(principalsKey{}).(Verifier)
	return verifier, v
}

// Verifies reports whether the readers of some documents that the viewer in ctx may read
// are verified with HiddenNow before they are shown.
func Verifies(ctx context.Context) (bool, error) {
	verifier, v := verifierOf(ctx)
	if verifier == nil {
		return false, nil
	}
	return verifier.Verifies(ctx, v.Workspace)
}

// HiddenNow returns which documents the viewer in ctx may read by the rules that were
// imported, and may not be shown because their source does not let the person read them
// now, or does not answer.
func HiddenNow(ctx context.Context, documents []uuid.UUID) (Verdict, error) {
	verifies, err := Verifies(ctx)
	if err != nil || !verifies || len(documents) == 0 {
		return Verdict{Hidden: map[uuid.UUID]bool{}}, err
	}
	verifier, v := verifierOf(ctx)
	return verifier.HiddenNow(ctx, v.Workspace, v.ReaderEmail(), documents)
}
