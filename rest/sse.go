package rest

import (
	"bytes"
	"strings"
)

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

// appendEvent appends a server-sent event. Each line of the data gets its own data
// field, so that data cannot forge fields. Line breaks in the name become spaces.
func appendEvent(to []byte, name string, data []byte) []byte {
	to = append(to, "event: "...)
	to = append(to, strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == 0 {
			return ' '
		}
		return r
	}, name)...)
	to = append(to, '\n')
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte{'\n'})
	data = bytes.ReplaceAll(data, []byte{'\r'}, []byte{'\n'})
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		to = append(append(append(to, "data: "...), line...), '\n')
	}
	return append(to, '\n')
}

// appendComment appends a comment, which keeps an idle connection open.
func appendComment(to []byte) []byte { return append(to, ": keep-alive\n\n"...) }
