package body

import (
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// OfPeople is how many bytes of JSON an operation of a signed-in person has at
	// most, and so has a message of theirs over WebSocket.
	OfPeople = 1 << 20
	// OfStrangers is the same for whoever has not said who they are.
	OfStrangers = 64 << 10
	// MaxDepth is how deep the JSON may be nested.
	MaxDepth = 100
)

// ErrDeep is the error of JSON that is nested deeper than MaxDepth.
var ErrDeep = errors.New("nested too deeply")

// Limit is how many bytes of JSON v may send at once.
func Limit(v viewer.Viewer) int64 {
	if v.Kind == viewer.KindAnonymous || v.Kind == "" {
		return OfStrangers
	}
	return OfPeople
}

// Size says a limit of Limit in words.
func Size(limit int64) string {
	if limit%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", limit>>20)
	}
	return fmt.Sprintf("%d KiB", limit>>10)
}

// Check returns ErrDeep for JSON that is nested too deeply. It is linear in the
// bytes, and says nothing of bytes that are not JSON.
func Check(json []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case quoted:
			switch c {
			case '\\':
				i++
			case '"':
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return ErrDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
