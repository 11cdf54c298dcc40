package clickhouse

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sqldb"
)

// A result is a response in the format JSONCompact.
type result struct {
	Meta []struct{ Name, Type string }
	Data [][]json.RawMessage
	Rows int
	// Exception is the error of a statement that failed after its first rows.
	Exception string
}

// isComplete reports whether all the rows are there that the server counted.
func (r *result) isComplete() bool {
	return len(r.Data) == r.Rows && !slices.ContainsFunc(r.Data, func(row []json.RawMessage) bool { return len(row) != len(r.Meta) })
}

// text returns a value as text, "" for NULL.
func (r *result) text(row, column int) string {
	value, _ := convertValue("String", r.Data[row][column]).(string)
	return value
}

// integer returns a value as an integer, otherwise if it is none or NULL.
func (r *result) integer(row, column int, otherwise int64) int64 {
	if n, ok := convertValue("Int64", r.Data[row][column]).(int64); ok {
		return n
	}
	return otherwise
}

// collect returns the rows within limits. maxRows and maxBytes are those that the
// server was given: it ends a result there without saying so.
func (r *result) collect(limits connectors.QueryLimits, maxRows, maxBytes int) *connectors.Rows {
	columns, types := make([]string, len(r.Meta)), make([]string, len(r.Meta))
	for i, column := range r.Meta {
		columns[i], types[i] = column.Name, column.Type
	}
	collector := sqldb.NewCollector(limits, columns, types)
	size, more := 0, true
	for i, values := range r.Data {
		size += memorySize(values)
		if collector.IsFull() {
			if !more {
				continue
			}
			if i < maxRows {
				more = collector.Count(sqldb.RowSize(values))
			}
			continue
		}
		row := make([]any, len(values))
		for i, raw := range values {
			row[i] = convertValue(types[i], raw)
		}
		collector.Add(row)
	}
	return collector.Rows(more && len(r.Data) < maxRows && size < maxBytes)
}

// memorySize returns the most that a row can have taken in the server's memory,
// where it is measured.
func memorySize(values []json.RawMessage) int {
	const overhead = 32 // of numbers of 256 bits, lengths and marks of NULL
	return sqldb.RowSize(values) + len(values)*overhead
}

// wrappers are types that say how a value is stored.
var wrappers = regexp.MustCompile(`^(?:(?:Nullable|LowCardinality)\((.*)\)|SimpleAggregateFunction\([^,]+, (.*)\))$`)

// plainType removes the types that say how a value is stored.
func plainType(name string) string {
	for {
		match := wrappers.FindStringSubmatch(name)
		if match == nil {
			return name
		}
		name = match[1] + match[2]
	}
}

// convertValue returns a value of a type. Arrays, tuples and the like are their
// JSON.
func convertValue(kind string, raw json.RawMessage) any {
	text := string(raw)
	switch {
	case text == "null":
		return nil
	case text == "true" || text == "false":
		return text == "true"
	case strings.HasPrefix(text, `"`):
		if json.Unmarshal(raw, &text) != nil {
			return string(raw)
		}
	}
	switch kind := plainType(kind); {
	case strings.HasPrefix(kind, "Int") && !strings.HasPrefix(kind, "Interval"), strings.HasPrefix(kind, "UInt"):
		return sqldb.Integer([]byte(text))
	case strings.HasPrefix(kind, "Float"), kind == "BFloat16":
		return sqldb.Float([]byte(text))
	case strings.HasPrefix(kind, "Decimal"), strings.HasPrefix(kind, "Interval"):
		return sqldb.Decimal([]byte(text))
	default:
		return text
	}
}

var enumValue = regexp.MustCompile(`'((?:[^'\\]|\\.)*)' = -?[0-9]+`)

// maxEnumValues bounds the values of an enumerated type that the catalogue has.
const maxEnumValues = 50

// enumValues returns the values of an enumerated type, nil for other types.
func enumValues(kind string) []string {
	if !strings.HasPrefix(plainType(kind), "Enum") {
		return nil
	}
	var values []string
	for _, match := range enumValue.FindAllStringSubmatch(kind, maxEnumValues) {
		values = append(values, unescape(match[1]))
	}
	return values
}

// unescape replaces the escapes in a text of a statement.
func unescape(text string) string {
	unquoted, err := strconv.Unquote(`"` + strings.NewReplacer(`\'`, `'`, `"`, `\"`).Replace(text) + `"`)
	if err != nil {
		return text
	}
	return unquoted
}
