//go:build !cgo

package postgresql_test

import (
	"strings"
	"testing"

	wasmquery "github.com/wasilibs/go-pgquery"

	"github.com/magpie-search/magpie/connectors/postgresql"
)

// deep returns statements that nest by the same tokens n times.
func deep(n int) map[string]string {
	out := map[string]string{"values": "values " + strings.Repeat("(", n/2) + "1" + strings.Repeat(")", n/2)}
	for _, prefix := range []string{"- ", "not ", "+ ", "~ ", "-1 - "} {
		out["prefix "+prefix] = "select " + strings.Repeat(prefix, n/strings.Count(prefix+"x", " ")) + "1"
	}
	for _, bracket := range []string{"(", "-(", "select (", "select exists(", "f(", "(select (", "array[", "select array(", "case when (", "coalesce(", "row("} {
		opens := strings.Count(bracket, "(") + strings.Count(bracket, "[")
		closing := strings.Map(func(c rune) rune {
			switch c {
			case '(':
				return ')'
			case '[':
				return ']'
			}
			return -1
		}, bracket)
		if strings.HasPrefix(bracket, "case") {
			closing = ") then 1 end"
		}
		times := n / (opens + len(strings.Fields(bracket)))
		text := strings.Repeat(bracket, times) + "1" + strings.Repeat(closing, times)
		if !strings.HasPrefix(bracket, "select") {
			text = "select " + text
		}
		out["bracket "+bracket] = text
	}
	for _, suffix := range []string{"+1", "||1", "::int", "[1]", " is null", " collate c", " union select 1", " except all select 1", " and 1", " or 1"} {
		out["suffix "+suffix] = "select 1" + strings.Repeat(suffix, n/len(strings.Fields(strings.NewReplacer("::", ":: ", "+", "+ ", "||", "|| ", "[", "[ ", "]", " ]").Replace(suffix))))
	}
	out["joins"] = "select 1 from a" + strings.Repeat(" join b on true", n/5)
	return out
}

// A statement twice as deep as those that are parsed must not exhaust the parser's stack.
func TestTheParserHasRoomForTwiceTheTokens(t *testing.T) {
	t.Parallel()
	for name, sql := range deep(2000) {
		func() {
			defer func() {
				if cause := recover(); cause != nil {
					t.Errorf("%s: the parser panics: %v", name, cause)
				}
			}()
			_, err := wasmquery.Parse(sql)
			t.Logf("%s: %d bytes, %v", name, len(sql), err)
		}()
	}
}

func TestStatementsOfTooManyTokensAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := postgresql.Inspect("select 1" + strings.Repeat(", 1", 450)); err != nil {
		t.Errorf("a long list: %v", err)
	}
	if _, err := postgresql.Inspect("select 1" + strings.Repeat(", 1", 550)); !refused(err) || !strings.Contains(err.Error(), "too many words") {
		t.Errorf("a longer list: %v", err)
	}
}
