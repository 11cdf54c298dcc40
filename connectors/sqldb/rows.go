package sqldb

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"magpie/connectors"
)

// What rows were cut off by.
const (
	ByRows  = "rows"
	ByBytes = "bytes"
)

// maxMessage bounds what an engine says of a statement, in characters.
const maxMessage = 1000

// Collector gathers rows within limits.
type Collector struct {
	limits connectors.QueryLimits
	rows   *connectors.Rows
	bytes  int
}

// NewCollector makes one for columns of some types.
func NewCollector(limits connectors.QueryLimits, columns, types []string) *Collector {
	return &Collector{limits: limits.WithDefaults(), rows: &connectors.Rows{Columns: columns, Types: types, Values: [][]any{}}}
}

// Add takes a row in, or reports that there is no more room.
func (c *Collector) Add(row []any) (more bool) {
	if len(c.rows.Values) >= c.limits.Rows {
		c.rows.Truncated = ByRows
		return false
	}
	// One long value is cut so that a row of it still says something.
	longest := c.limits.Bytes / 4
	size := 0
	for i, value := range row {
		if text, ok := value.(string); ok {
			row[i] = shortened(text, longest)
		}
		size += sizeOf(row[i])
	}
	if c.bytes+size > c.limits.Bytes {
		c.rows.Truncated = ByBytes
		return false
	}
	c.bytes += size
	c.rows.Values = append(c.rows.Values, row)
	return true
}

// Rows are those gathered so far.
func (c *Collector) Rows() *connectors.Rows { return c.rows }

func sizeOf(value any) int {
	const number = 8
	switch value := value.(type) {
	case string:
		return len(value) + 2
	case json.Number:
		return len(value)
	default:
		return number
	}
}

func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := most
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + fmt.Sprintf("… [%d bytes]", len(text))
}

// Text is a text of the engine's; bytes that are none are shown in hexadecimal.
func Text(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	const shown = 1 << 10
	if len(raw) > shown {
		return fmt.Sprintf("\\x%s… [%d bytes]", hex.EncodeToString(raw[:shown]), len(raw))
	}
	return `\x` + hex.EncodeToString(raw)
}

// Integer reads a whole number; one beyond int64 keeps all its digits.
func Integer(raw []byte) any {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	return Decimal(raw)
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// Decimal keeps a number exactly; what is no number in JSON is a text.
func Decimal(raw []byte) any {
	if plainNumber.Match(raw) {
		return json.Number(raw)
	}
	return Text(raw)
}

// Float reads a number; infinities and what is no number are texts.
func Float(raw []byte) any {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return Text(raw)
	}
	return f
}

// Wrong is a *connectors.QueryError with the engine's words.
func Wrong(code, message string) error {
	return &connectors.QueryError{Code: code, Message: bounded(message)}
}

// Refuse is a *connectors.QueryError of a statement that is not run.
func Refuse(format string, arguments ...any) error {
	return &connectors.QueryError{Refused: true, Message: bounded(fmt.Sprintf(format, arguments...))}
}

func bounded(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"))
	if utf8.RuneCountInString(text) <= maxMessage {
		return text
	}
	return string([]rune(text)[:maxMessage-1]) + "…"
}

// Brief is a name that a statement chose, fit for a message.
func Brief(name string) string {
	const longest = 80
	if utf8.RuneCountInString(name) > longest {
		name = string([]rune(name)[:longest-1]) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(name, "\uFFFD"))
}
