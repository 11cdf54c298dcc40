package salesforce

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A row is a record as a query returns it: values by field, and objects of related
// records.
type row map[string]json.RawMessage

// text returns the value of a field, "" for none. Dots lead to related records.
func (r row) text(path string) string {
	name, rest, nested := strings.Cut(path, ".")
	raw := r[name]
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case nested:
		var inner row
		if json.Unmarshal(raw, &inner) != nil {
			return ""
		}
		return inner.text(rest)
	case raw[0] == '"':
		var text string
		_ = json.Unmarshal(raw, &text)
		return text
	case raw[0] == '{' || raw[0] == '[':
		return ""
	}
	return string(raw)
}

func (r row) flag(path string) bool { return r.text(path) == "true" }

func (r row) number(path string) int64 {
	n, err := strconv.ParseInt(r.text(path), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// time returns a time, zero for none.
func (r row) time(path string) time.Time { return parseTime(r.text(path)) }

func parseTime(text string) time.Time {
	for _, layout := range []string{"2006-01-02T15:04:05.000-0700", time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// shortID is the length of an id without the three letters that tell its case.
const shortID = 15

func isID(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9]{15}([A-Za-z0-9]{3})?$`).MatchString(text)
}

// compareIDs compares ids in the order of Salesforce: digits, capitals, small letters.
func compareIDs(a, b string) int {
	return strings.Compare(a[:min(shortID, len(a))], b[:min(shortID, len(b))])
}
