package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// cursorSum is the number of checksum bytes in a cursor. They detect truncated and
// mistyped cursors, and those of another list.
const cursorSum = 6

// wrapCursor encodes a GraphQL cursor for URLs and binds it to its route.
func wrapCursor(pattern, cursor string) string {
	sum := sha256.Sum256([]byte(pattern + "\n" + cursor))
	return base64.RawURLEncoding.EncodeToString(append(sum[:cursorSum:cursorSum], cursor...))
}

// unwrapCursor reverts wrapCursor. It returns false for any other text.
func unwrapCursor(pattern, wrapped string) (string, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimSpace(wrapped))
	if err != nil || len(raw) <= cursorSum {
		return "", false
	}
	cursor := string(raw[cursorSum:])
	return cursor, wrapCursor(pattern, cursor) == strings.TrimSpace(wrapped)
}
