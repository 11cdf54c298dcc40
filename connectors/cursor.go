package connectors

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// ErrCursor is the error of a walk from a cursor that no page has returned.
var ErrCursor = Fatal(errors.New("the cursor does not belong to this connector"))

// FormatCursor encodes a cursor: a struct with short JSON names, whose fields are
// strings, numbers and flags.
func FormatCursor(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // not for such a struct
	}
	return string(text)
}

// ParseCursor decodes a cursor of [FormatCursor]. Another text is ErrCursor. The
// caller checks the values.
func ParseCursor(text string, v any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if len(text) > MaxCursorBytes || decoder.Decode(v) != nil {
		return ErrCursor
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return ErrCursor
	}
	return nil
}
