package attached

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// Limits of sampling. They bound time and memory.
const (
	// samplingTimeout bounds the statements of a schema sync that read values.
	samplingTimeout = time.Minute
	// maxColumnValues is the maximum number of distinct values of a column: one with
	// more is not stored. The list of countries has about 200.
	maxColumnValues = 200
	// maxTableValues bounds the values of a table that are stored.
	maxTableValues = 400
	// maxSampledColumns is the maximum number of columns of a table that are read.
	maxSampledColumns = 50
	// maxNamedLength is the length of the longest value that a person would write in a
	// question, in characters. A column with a longer one is free text.
	maxNamedLength = connectors.MaxSampledText - 1
)

// MaxDatabaseValues is the maximum number of values of a database that are stored.
const MaxDatabaseValues = 20_000

// Sampling says which tables have no values although they could have.
type Sampling struct {
	// Failed is the number of tables whose statement failed, and Failure the first of the
	// errors.
	Failed  int
	Failure error
	// Unread is the number of tables that were left out because of the limits of time
	// and of values.
	Unread int
}

// SampleValues sets the samples of those columns of tables whose values people name in
// questions: columns of text with few distinct short values. It sends at most one statement
// for each table, and none for a database that does not allow samples. The error is that
// of ctx.
func SampleValues(ctx context.Context, database connectors.Database, tables []connectors.Table) (Sampling, error) {
	var s Sampling
	limited, cancel := context.WithTimeout(ctx, samplingTimeout)
	defer cancel()
	left := MaxDatabaseValues
	for i := range tables {
		t := &tables[i]
		columns := sampledColumns(t)
		if len(columns) == 0 {
			continue
		}
		if left <= 0 || limited.Err() != nil {
			s.Unread++
			continue
		}
		names := make([]string, len(columns))
		for at, column := range columns {
			names[at] = t.Columns[column].Name
		}
		rows, err := database.SampleColumns(limited, t.Schema, t.Name, names)
		switch {
		case ctx.Err() != nil:
			return s, context.Cause(ctx)
		case errors.Is(err, connectors.ErrNoSamples):
			return s, nil
		case limited.Err() != nil:
			s.Unread++
		case err != nil:
			s.fail(t, err)
		default:
			left -= setSamples(t, columns, rows, min(left, maxTableValues))
		}
	}
	return s, nil
}

func (s *Sampling) fail(t *connectors.Table, err error) {
	if s.Failed++; s.Failed == 1 {
		s.Failure = fmt.Errorf("%s: %w", qualifiedName(t.Schema, t.Name), err)
	}
}

// setSamples sets the samples of columns from rows that have these columns, and returns
// the number of values. A column whose values exceed the limit has none.
func setSamples(t *connectors.Table, columns []int, rows *connectors.Rows, limit int) (count int) {
	for at, column := range columns {
		values := namedValues(rows.Values, at)
		if count+len(values) > limit {
			continue
		}
		t.Columns[column].Samples = values
		count += len(values)
	}
	return count
}

// namedValues returns the distinct values of a column of rows in order, or nil if people
// do not name its values: too many, free text, addresses, keys.
func namedValues(rows [][]any, column int) []string {
	distinct := map[string]bool{}
	for _, row := range rows {
		if column >= len(row) {
			return nil
		}
		text, _ := row[column].(string)
		text = strings.Trim(text, " \x00")
		if text == "" || distinct[text] {
			continue
		}
		if len(distinct) == maxColumnValues || !isShortText(text) {
			return nil
		}
		distinct[text] = true
	}
	var out []string
	for text := range distinct {
		if isNamed(text) {
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// isShortText reports whether a column with this value may have values that people name.
func isShortText(text string) bool {
	if utf8.RuneCountInString(text) > maxNamedLength || strings.ContainsAny(text, "@\\{") || strings.Contains(text, "://") || strings.ContainsFunc(text, unicode.IsControl) {
		return false
	}
	return !slices.ContainsFunc(strings.FieldsFunc(text, isBorder), isKey)
}

func isBorder(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isKey reports whether a word is a hash or a key: long, and of letters and digits.
func isKey(word string) bool {
	const length = 12 // of the last part of a UUID
	return len(word) >= length && strings.ContainsFunc(word, unicode.IsDigit) && strings.ContainsFunc(word, unicode.IsLetter)
}

// isNamed reports whether a value has words: more letters than digits.
func isNamed(text string) bool {
	letters, digits := 0, 0
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	return letters > digits
}

// sampledColumns returns the positions of the columns that are read: of text, and neither
// enumerated, which has its values already, nor a key or something personal by its name.
func sampledColumns(t *connectors.Table) []int {
	var out []int
	for i, c := range t.Columns {
		if len(out) < maxSampledColumns && len(c.Values) == 0 && isText(c.Type) && !isSensitive(c.Name) {
			out = append(out, i)
		}
	}
	return out
}

// isText reports whether a type of any engine is one of text.
func isText(kind string) bool {
	kind = strings.ToLower(kind)
	for _, wrapper := range []string{"lowcardinality(", "nullable("} {
		kind = strings.TrimPrefix(kind, wrapper)
	}
	name, _, _ := strings.Cut(kind, "(")
	switch strings.TrimRight(strings.TrimSpace(name), ")") {
	case "text", "character", "character varying", "char", "varchar", "nchar", "nvarchar", "ntext", "citext", "tinytext", "mediumtext", "longtext", "enum", "string", "fixedstring":
		return true
	default:
		return false
	}
}

// isSensitive reports whether a column's name says that its values are secret, or
// identify one person or thing. Such a column is never read.
func isSensitive(name string) bool {
	bare := keyName(name)
	if strings.HasSuffix(bare, "id") {
		return true
	}
	for _, part := range []string{
		"password", "passwd", "passphrase", "passwort", "kennwort", "secret", "geheim", "token", "credential", "hash", "salt", "signature", "cookie", "session",
		"email", "phone", "telefon", "mobile", "iban", "cardnumber", "passport", "socialsecurity", "birth", "uuid", "apikey",
	} {
		if strings.Contains(bare, part) {
			return true
		}
	}
	words := strings.Fields(strings.ToLower(spaced(name)))
	return slices.ContainsFunc(words, func(word string) bool {
		return slices.Contains([]string{"pwd", "pass", "pw", "pin", "ssn", "cvv", "cvc", "otp", "mfa", "key", "mail", "fax", "tel", "guid", "url", "uri"}, word)
	})
}
