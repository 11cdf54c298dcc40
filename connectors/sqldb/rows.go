package sqldb

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// Bounds of counting the rows that an answer has no room for.
const (
	maxCounted      = 10_000
	maxCountedBytes = 8 << 20
	// CountTime is how long an engine may go on with them.
	CountTime = time.Second
)

// maxMessage bounds what an engine says of a statement, in characters.
const maxMessage = 1000

// Collector gathers rows within limits, and counts those that have no room.
type Collector struct {
	limits  connectors.QueryLimits
	rows    *connectors.Rows
	bytes   int
	counted int // bytes of the rows that have no room
}

// NewCollector makes one for columns of some types.
func NewCollector(limits connectors.QueryLimits, columns, types []string) *Collector {
	limits = limits.WithDefaults()
	return &Collector{limits: limits, rows: &connectors.Rows{Columns: columns, Types: types, Values: [][]any{}, Limits: limits}}
}

// Wanted is how many rows an engine should send: those of an answer, and those that are counted behind them.
func Wanted(limits connectors.QueryLimits) int { return limits.WithDefaults().Rows + maxCounted }

// Add takes a row in. It reports false for the first row that has no room; the
// further ones are to be given to Count.
func (c *Collector) Add(row []any) (taken bool) {
	if len(c.rows.Values) >= c.limits.Rows {
		c.rows.Truncated, c.rows.Omitted = connectors.TruncatedByRows, 1
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
		c.rows.Truncated, c.rows.Omitted = connectors.TruncatedByBytes, 1
		if size > c.limits.Bytes {
			c.rows.OversizedRow = len(c.rows.Values) + 1
		}
		return false
	}
	c.bytes += size
	c.rows.Values = append(c.rows.Values, row)
	return true
}

// Count counts a row of some bytes that has no room, and reports whether it
// would count another one.
func (c *Collector) Count(bytes int) (more bool) {
	c.rows.Omitted++
	c.counted += bytes
	return c.rows.Omitted < maxCounted && c.counted < maxCountedBytes
}

// Full reports whether a row had no room.
func (c *Collector) Full() bool { return c.rows.Truncated != "" }

// Rows are those gathered. All says that the engine sent everything: what was
// left out is counted then.
func (c *Collector) Rows(all bool) *connectors.Rows {
	c.rows.OmittedAtLeast = c.Full() && !all
	return c.rows
}

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
