package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// cursorSum is how many bytes of a checksum a cursor carries: enough that a cut
// off or mistyped one, or one of another list, is told apart and answered 400.
const cursorSum = 6

// wrapCursor makes a GraphQL cursor fit for a URL, and bound to its route.
func wrapCursor(pattern, cursor string) string {
	sum := sha256.Sum256([]byte(pattern + "\n" + cursor))
	return base64.RawURLEncoding.EncodeToString(append(sum[:cursorSum:cursorSum], cursor...))
}

// unwrapCursor undoes wrapCursor; false for anything that it did not make for
// this route.
func unwrapCursor(pattern, wrapped string) (string, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimSpace(wrapped))
	if err != nil || len(raw) <= cursorSum {
		return "", false
	}
	cursor := string(raw[cursorSum:])
	return cursor, wrapCursor(pattern, cursor) == strings.TrimSpace(wrapped)
}
