package quote_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/chat/quote"
)

func TestPassagesAreSplitIntoUnits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"sentences":            {"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		"lines of a paragraph": {"One goes\non here. Two.", []string{"One goes on here.", "Two."}},
		"no sentence ends":     {"Use e.g. kv.range or v1.2. It is (see Sec. 3) fine. Am 3. Mai um 8 Uhr z. B. nicht.", []string{"Use e.g. kv.range or v1.2.", "It is (see Sec. 3) fine.", "Am 3. Mai um 8 Uhr z. B. nicht."}},
		"quoted ends":          {"He said “stop.” Then it stopped. (It did.) Yes.", []string{"He said “stop.”", "Then it stopped.", "(It did.)", "Yes."}},
		"code in a sentence":   {"Run `a. B. c` now. Then wait.", []string{"Run `a. B. c` now.", "Then wait."}},
		"a lone tick":          {"A ` here. And there.", []string{"A ` here.", "And there."}},
		"wide script":          {"これは文です。次の文です！終わり", []string{"これは文です。", "次の文です！", "終わり"}},
		"headings and rules":   {"# Title\n\n## Sub\nText.\n\n---\nMore.\n\nUnder\n=====\n", []string{"Text.", "More.", "Under"}},
		"a table":              {"Before.\n\n| a | b |\n|---|---|\n| 1. One. | 2 |\n\nAfter.", []string{"Before.", "| a | b |\n|---|---|\n| 1. One. | 2 |", "After."}},
		"code":                 {"Before.\n\n```go\nx := 1\n\n// One. Two.\n```\nAfter.", []string{"Before.", "```go\nx := 1\n\n// One. Two.\n```", "After."}},
		"code without an end":  {"~~~\nx := 1\n```", []string{"~~~\nx := 1\n```"}},
		"longer fences":        {"````\n```\nx\n```\n````\nAfter.", []string{"````\n```\nx\n```\n````", "After."}},
		"announced code":       {"Do it. Run this:\n\n```\nx\n```\n", []string{"Do it.", "Run this:\n\n```\nx\n```"}},
		"announced list":       {"There are two:\n\n- One.\n- Two.\n\nAfter.", []string{"There are two:\n\n- One.\n- Two.", "After."}},
		"announcing nothing":   {"Run this:\n\n## Next\n\nText.", []string{"Text."}},
		"a list":               {"- One\n  goes on.\n\n- Two.\n3. Three\n\nAfter.", []string{"One goes on.", "Two.", "Three", "After."}},
		"a quotation":          {"> One is\n> quoted. Two.", []string{"One is quoted.", "Two."}},
		"nothing":              {" \n\n***\n", nil},
		"windows lines":        {"One.\r\nTwo.\r\n", []string{"One.", "Two."}},
		"not a list":           {"-5 degrees. 3.5 percent.", []string{"-5 degrees.", "3.5 percent."}},
	} {
		if got := quote.Units(test.in); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func FuzzUnits(f *testing.F) {
	f.Add("Change it for one queue:\n\n```sh\ntidectl queue update\n# Always.\n```\n\nThe pause is five seconds, e.g. after a crash.")
	f.Add("Dead letters can be brought back:\n\n1. Fix the handler.\n2. Run `tidectl`.\n")
	f.Add("- a:\n\t```\n|x|\n> 1) y. Z")
	f.Fuzz(func(t *testing.T, text string) {
		squeeze := func(s string) string {
			return strings.Join(strings.Fields(strings.ReplaceAll(s, ">", " ")), "")
		}
		all := squeeze(text)
		for _, unit := range quote.Units(text) {
			if strings.TrimSpace(unit) == "" {
				t.Fatalf("%q has an empty unit", text)
			}
			if !strings.Contains(all, squeeze(unit)) && !strings.Contains(unit, ":") {
				t.Fatalf("%q is no quote of %q", unit, text)
			}
		}
	})
}

func TestALargeTableIsQuotedRowByRow(t *testing.T) {
	t.Parallel()
	const header = "| Key | Default |\n|---|---|\n"
	small := header + "| a | 1 |\n| b | 2 |"
	if got := quote.Units(small); !slices.Equal(got, []string{small}) {
		t.Errorf("a small table: %q", got)
	}
	got := quote.Units("Before.\n\n" + header + "| a | 1 |\n| b | 2 |\n| c | 3 |\n| d | 4 |\n\nAfter.")
	want := []string{"Before.", header + "| a | 1 |", header + "| b | 2 |", header + "| c | 3 |", header + "| d | 4 |", "After."}
	if !slices.Equal(got, want) {
		t.Errorf("a large table: %q", got)
	}
}
