package check_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
)

func TestNameIsTrimmedAndBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, want, message string }{
		{"  Handbook ", "Handbook", ""},
		{strings.Repeat("ä", check.MaxName), strings.Repeat("ä", check.MaxName), ""},
		{" \t", "", "name: must not be blank"},
		{strings.Repeat("x", check.MaxName+1), "", "name: must have at most 200 characters"},
		{"a\x00b", "", "name: must not have control characters"},
		{"a\xffb", "", "name: must not have control characters"},
	} {
		got, err := check.Name("name", c.name)
		if message := messageOf(err); got != c.want || message != c.message {
			t.Errorf("Name(%q) = %q, %q, want %q, %q", c.name, got, message, c.want, c.message)
		}
	}
}

func TestTextsAreBoundedAndStorable(t *testing.T) {
	t.Parallel()
	long, odd := strings.Repeat("x", check.MaxDescription+1), "a\x00b"
	for _, c := range []struct {
		err     error
		message string
	}{
		{check.Description("description", nil), ""},
		{check.Description("description", &long), "description: must have at most 4000 characters"},
		{check.Description("description", &odd), "description: must not contain the character U+0000"},
		{check.Text("prompt", " ", 10), "prompt: must not be blank"},
		{check.Text("prompt", "Answer\nbriefly", 20), ""},
	} {
		if message := messageOf(c.err); message != c.message {
			t.Errorf("got %q, want %q", message, c.message)
		}
	}
}

func TestTextsOfAJSONValueAreStorable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value   any
		problem string
	}{
		{"text", ""}, {"a\x00b", "must not contain the character U+0000"}, {"a\xffb", "must be UTF-8 text"}, {1.5, ""}, {nil, ""},
		{[]any{"a", map[string]any{"b": []any{true, "c"}}}, ""},
		{[]any{"a", map[string]any{"b": []any{true, "\x00"}}}, "must not contain the character U+0000"},
		{map[string]any{"a\x00": 1.0}, "must not contain the character U+0000"},
	} {
		if got := check.Unstorable(c.value); got != c.problem {
			t.Errorf("Unstorable(%q) = %q, want %q", c.value, got, c.problem)
		}
	}
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return apierr.From(err).Message
}
