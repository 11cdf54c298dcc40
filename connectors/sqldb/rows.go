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
	"github.com/magpie-search/magpie/internal/safetext"
)

// Limits of counting omitted rows.
const (
	maxOmittedRows  = 10_000
	maxOmittedBytes = 8 << 20
	// CountTimeout bounds the time that an engine spends on them.
	CountTimeout = time.Second
)

// maxMessage bounds an engine's message, in characters.
const maxMessage = 1000

// A Collector collects rows within limits, and counts the rows that it omits.
type Collector struct {
	limits       connectors.QueryLimits
	rows         *connectors.Rows
	bytes        int
	omittedBytes int
}

// NewCollector returns a collector for columns of some types.
func NewCollector(limits connectors.QueryLimits, columns, types []string) *Collector {
	limits = limits.WithDefaults()
	return &Collector{limits: limits, rows: &connectors.Rows{Columns: columns, Types: types, Values: [][]any{}, Limits: limits}}
}

// MaxFetch returns how many rows an engine should send: the result and the
// omitted rows that are counted.
func MaxFetch(limits connectors.QueryLimits) int { return limits.WithDefaults().Rows + maxOmittedRows }

// Add adds a row. It reports false for the first row that does not fit. Further
// rows must be passed to Count.
func (c *Collector) Add(row []any) (ok bool) {
	if len(c.rows.Values) >= c.limits.Rows {
		c.rows.Truncated, c.rows.Omitted = connectors.TruncatedByRows, 1
		return false
	}
	// One long value is cut so that a row of it still says something.
	longest := c.limits.Bytes / 4
	size := 0
	for i, value := range row {
		if text, ok := value.(string); ok {
			row[i] = truncateValue(text, longest)
		}
		size += valueSize(row[i])
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

// Count counts an omitted row of a size. It reports whether another one should
// be counted.
func (c *Collector) Count(bytes int) (more bool) {
	c.rows.Omitted++
	c.omittedBytes += bytes
	return c.rows.Omitted < maxOmittedRows && c.omittedBytes < maxOmittedBytes
}

// IsFull reports whether a row did not fit.
func (c *Collector) IsFull() bool { return c.rows.Truncated != "" }

// Rows returns the collected rows. complete says that the engine sent all rows,
// so that the number of omitted rows is exact.
func (c *Collector) Rows(complete bool) *connectors.Rows {
	c.rows.OmittedAtLeast = c.IsFull() && !complete
	return c.rows
}

func valueSize(value any) int {
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

func truncateValue(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return safetext.TruncateBytes(text, limit) + fmt.Sprintf("… [%d bytes]", len(text))
}

// Text returns a text of the engine. Other bytes are in hexadecimal.
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

// Integer parses a whole number. Numbers beyond int64 keep all digits.
func Integer(raw []byte) any {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	return Decimal(raw)
}

var plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// Decimal returns a number exactly. What JSON cannot represent is a text.
func Decimal(raw []byte) any {
	if plainNumber.Match(raw) {
		return json.Number(raw)
	}
	return Text(raw)
}

// Float parses a number. Infinities and other values are texts.
func Float(raw []byte) any {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return Text(raw)
	}
	return f
}

// StatementError returns a *connectors.QueryError with the engine's message.
func StatementError(code, message string) error {
	return &connectors.QueryError{Code: code, Message: limitMessage(message)}
}

// Refuse returns a *connectors.QueryError of a statement that is not run.
func Refuse(format string, arguments ...any) error {
	return &connectors.QueryError{Refused: true, Message: limitMessage(fmt.Sprintf(format, arguments...))}
}

func limitMessage(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"))
	return safetext.Truncate(text, maxMessage)
}

// QuoteName returns a name in a statement, quoted and truncated for a message.
func QuoteName(name string) string {
	const maxName = 80
	return strconv.Quote(safetext.Truncate(strings.ToValidUTF8(name, "\uFFFD"), maxName))
}
