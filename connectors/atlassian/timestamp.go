package atlassian

import (
	"encoding/json"
	"strings"
	"time"
)

// A Timestamp is a time in one of Atlassian's formats, or the zero time if it
// cannot be parsed.
type Timestamp struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Timestamp) UnmarshalJSON(text []byte) error {
	var formatted string
	if json.Unmarshal(text, &formatted) != nil {
		return nil // an unknown format must not make the content unreadable
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999Z0700", time.DateOnly} {
		if t, err := time.Parse(layout, strings.TrimSpace(formatted)); err == nil {
			s.Time = t.UTC()
			return nil
		}
	}
	return nil
}
