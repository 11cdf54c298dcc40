package notion_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors/notion"
)

func TestNotionsMarkdownIsCleaned(t *testing.T) {
	t.Parallel()
	const signed = "https://prod-files-secure.s3.us-west-2.amazonaws.com/1/2/plan.pdf?X-Amz-Expires=3600&X-Amz-Signature=abc"
	for name, c := range map[string]struct{ text, want string }{
		"colors":     {"A line {color=\"blue\"}\n# Title {toggle=\"true\" color=\"red\"}", "A line\n# Title"},
		"a callout":  {"<callout icon=\"💡\" color=\"gray_bg\">\n\tMind the gap\n</callout>", "Mind the gap"},
		"columns":    {"<columns>\n\t<column>\n\t\tLeft\n\t</column>\n\t<column>\n\t\tRight\n\t</column>\n</columns>", "Left\n\nRight"},
		"a toggle":   {"<details>\n<summary>More</summary>\n\tInside\n</details>", "More\nInside"},
		"a subpage":  {"<page url=\"https://www.notion.so/1a2b\">Plan (draft)</page>", "[Plan (draft)](https://www.notion.so/1a2b)"},
		"a mention":  {"Ask <mention-user url=\"user://1\">Ada</mention-user> by <mention-date start=\"2026-05-01\" end=\"2026-05-03\"/>, or <mention-page url=\"https://www.notion.so/2\"/>", "Ask @Ada by 2026-05-01 to 2026-05-03, or <https://www.notion.so/2>"},
		"a file":     {"<file src=\"" + signed + "\">The plan</file>\n<pdf src=\"" + signed + "\"></pdf>", "[The plan]\n[plan.pdf]"},
		"an image":   {"![A chart](" + signed + ") and ![](" + signed + ")", "[A chart] and [plan.pdf]"},
		"a link":     {"[here](https://example.com/a)", "[here](https://example.com/a)"},
		"elsewhere":  {"<video src=\"https://example.com/a.mp4\">Talk</video>", "[Talk](https://example.com/a.mp4)"},
		"a table":    {"<table header-row=\"true\">\n<tr>\n<td>A</td>\n<td>B|C</td>\n</tr>\n<tr>\n<td>1</td>\n<td>**2**</td>\n</tr>\n</table>", "| A | B\\|C |\n| --- | --- |\n| 1 | **2** |"},
		"a list":     {"- a\n\t- b\n\t\tbelow b\n\t\t```go\n\t\tx := 1\n\t\t\ty\n\t\t```\n- c", "- a\n    - b\n        below b\n        ```go\n        x := 1\n        \ty\n        ```\n- c"},
		"a heading":  {"# A {toggle=\"true\"}\n\tInside\n\n\tof it\nAfter", "# A\nInside\n\nof it\nAfter"},
		"unknown":    {"before\n<unknown url=\"https://www.notion.so/1#2\" alt=\"bookmark\"/>\nafter", "before\n\nafter"},
		"code stays": {"```html\n<callout>x</callout> {color=\"red\"}\n```\n<callout>y</callout>", "```html\n<callout>x</callout> {color=\"red\"}\n```\ny"},
	} {
		if got := notion.CleanMarkdown(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<table><tr><td>a</td></tr></table>", "word")
	f.Add("```\n<file src=\"x\">", "x")
	f.Fuzz(func(t *testing.T, text, word string) {
		got := notion.CleanMarkdown(text)
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q becomes %q", text, got)
		}
		if strings.Contains(got, "X-Amz-Signature=") && !strings.Contains(text, "```") && strings.Contains(text, "](https://x.amazonaws.com/a?X-Amz-Signature=1)") {
			t.Errorf("an address that expires is left: %q", got)
		}
	})
}

func TestPropertiesAreRendered(t *testing.T) {
	t.Parallel()
	page := `{"object":"page","properties":{
		"Name":{"id":"title","type":"title","title":[{"plain_text":"Boat"}]},
		"Amount":{"id":"a","type":"number","number":12.5},
		"Done":{"id":"b","type":"checkbox","checkbox":true},
		"Due":{"id":"c","type":"date","date":{"start":"2026-05-01","end":"2026-05-03","time_zone":null}},
		"Tags":{"id":"d","type":"multi_select","multi_select":[{"name":"red"},{"name":"fast"}]},
		"Who":{"id":"e","type":"people","people":[{"object":"user","id":"1","name":"Ada"},{"object":"user","id":"2"}]},
		"Sum":{"id":"f","type":"formula","formula":{"type":"string","string":"12 EUR"}},
		"Roll":{"id":"g","type":"rollup","rollup":{"type":"array","array":[{"type":"rich_text","rich_text":[{"plain_text":"x"}]},{"type":"number","number":3}],"function":"show_original"}},
		"Papers":{"id":"h","type":"files","files":[{"name":"plan.pdf","type":"file","file":{"url":"https://x/1"}}]},
		"Key":{"id":"i","type":"unique_id","unique_id":{"prefix":"T","number":7}},
		"Empty":{"id":"j","type":"select","select":null},
		"Linked":{"id":"k","type":"relation","relation":[{"id":"1"}],"has_more":false},
		"Odd":{"id":"l","type":"future","future":{"a":[1]}},
		"Notes":{"id":"m","type":"rich_text","rich_text":[{"plain_text":"two\nlines"}]}}}`
	const want = "# Boat\n\n- Amount: 12.5\n- Done: yes\n- Due: 2026-05-01 to 2026-05-03\n- Key: T-7\n- Notes: two lines\n- Papers: plan.pdf\n- Roll: x, 3\n- Sum: 12 EUR\n- Tags: red, fast\n- Who: Ada\n"
	if got := notion.RenderPage([]byte(page)); got != want {
		t.Errorf("the page is %q, want %q", got, want)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"object":"page","properties":{"A":{"type":"rollup","rollup":{"type":"array","array":[{"type":"formula","formula":{"type":"date","date":{"start":"x"}}}]}}}}`)
	f.Add(`{"id":"1","type":"image","image":{"type":"external","external":{"url":"https://x/y.png"},"caption":[{"plain_text":"c","annotations":{"bold":true}}]}}`)
	f.Add(`{"id":"1","type":"table_row","table_row":{"cells":[[{"plain_text":"a|b"}],[]]}}`)
	f.Add(`{"id":"1","type":"heading_9","heading_9":{"rich_text":[{"plain_text":"x"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{notion.RenderPage([]byte(text)), notion.RenderBlock([]byte(text))} {
			if utf8.ValidString(text) && !utf8.ValidString(got) {
				t.Errorf("%q becomes %q", text, got)
			}
		}
	})
}
