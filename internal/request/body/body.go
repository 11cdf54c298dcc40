package body

import (
	"errors"
	"fmt"

	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// MaxBytes is the most bytes of JSON in an operation of an authenticated caller,
	// or in one of their WebSocket messages.
	MaxBytes = 1 << 20
	// MaxAnonymousBytes is MaxBytes for anonymous callers.
	MaxAnonymousBytes = 64 << 10
	// MaxDepth is the deepest nesting of the JSON.
	MaxDepth = 100
)

// ErrTooDeep says that JSON is nested deeper than MaxDepth.
var ErrTooDeep = errors.New("nested too deeply")

// Limit returns the most bytes of JSON that v may send at a time.
func Limit(v viewer.Viewer) int64 {
	if v.Kind == viewer.KindAnonymous || v.Kind == "" {
		return MaxAnonymousBytes
	}
	return MaxBytes
}

// FormatLimit formats a limit for people.
func FormatLimit(limit int64) string {
	if limit%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", limit>>20)
	}
	return fmt.Sprintf("%d KiB", limit>>10)
}

// CheckDepth returns ErrTooDeep for JSON that is nested too deeply. It takes linear
// time and does not check that the bytes are JSON.
func CheckDepth(json []byte) error {
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
				return ErrTooDeep
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
