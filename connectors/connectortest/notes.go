package connectortest

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
)

// Notes are those of one connector, in memory, with the limits of real ones. The
// zero value is empty.
type Notes struct{ connectors.PassingNotes }

// The bounds of a note, in bytes.
const (
	maxNoteName = 200
	maxNote     = 1 << 20
)

// Save implements [connectors.Notes].
func (n *Notes) Save(ctx context.Context, name string, data []byte) error {
	if name == "" || len(name) > maxNoteName || len(data) > maxNote {
		return fmt.Errorf("the note %q of %d bytes is too large", name, len(data))
	}
	return n.PassingNotes.Save(ctx, name, data)
}

// Forget makes the notes empty.
func (n *Notes) Forget() {
	_ = n.Drop(context.Background(), "") // it has no error
}
