package requestid

import (
	"context"
	"crypto/rand"
	"strings"

	"github.com/google/uuid"
)

// Header is the HTTP header with the id, in requests and responses.
const Header = "X-Request-Id"

// maxLength is the longest id that is accepted from a client.
const maxLength = 128

type contextKey struct{}

// With returns a context that carries id.
func With(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, contextKey{}, id)
}

// From returns the id in ctx, or "".
func From(ctx context.Context) string {
	id, _ := ctx.Value(contextKey{}).(string)
	return id
}

// randomDigits and randomLength describe the ids of New, which are those of [rand.Text].
const (
	randomDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	randomLength = 26
)

// New returns a new id, which nobody can guess.
func New() string { return rand.Text() }

// IsRandom reports whether an id has the form of an id that nobody can guess: of New, or
// of a UUID of version 4 in lower case, which clients choose.
func IsRandom(id string) bool {
	if len(id) == randomLength {
		return strings.Trim(id, randomDigits) == ""
	}
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.Version() == 4 && parsed.String() == id
}

// Pattern is Acceptable as a regular expression.
const Pattern = `^[A-Za-z0-9._-]{1,128}$`

// Acceptable reports whether an id from a client is harmless in logs and headers: 1
// to 128 letters, digits, dots, underscores and hyphens.
func Acceptable(id string) bool {
	if id == "" || len(id) > maxLength {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
