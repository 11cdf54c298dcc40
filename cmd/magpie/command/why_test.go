package command_test

import (
	"testing"

	"github.com/google/uuid"
)

func TestTheShellSaysWhyADocumentIsFound(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.fails("Document not found", "why", uuid.NewString(), "ada@example.com")
	s.fails("user: must be an email address", "why", uuid.NewString(), "ada")
	s.fails("document", "why", "x", "ada@example.com")
}
