package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/slack"
	"github.com/magpie-search/magpie/internal/testkit/slackserver"
)

// renderThread returns the first message of a thread's document.
func (o *testWorkspace) renderThread(t *testing.T, m slackserver.Message) string {
	t.Helper()
	if m.User == "" && m.Bot == "" {
		m.User = o.ada
	}
	root := o.world.Post(o.general, m)
	o.reply(root, "END")
	source := openWith(t, o.world, settings(o.world, nil))
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), []string{o.general + "/" + root})
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d, missing %q, %v", len(found), missing, err)
	}
	_, text, _ := strings.Cut(content(t, source, found[0]), "2024-05-01 09:")
	text, _, _ = strings.Cut(text, "\n\n**Grace Hopper**")
	return strings.TrimSpace(text[2:])
}

func TestMrkdwnBecomesMarkdown(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	for text, want := range map[string]string{
		"*bold* _italic_ ~gone~ `code *x*`": ": **bold** _italic_ ~~gone~~ `code *x*`",
		"2*3*4 and snake_case and ~/home":   `: 2\*3\*4 and snake_case and ~/home`,
		"*a* *b*":                           ": **a** **b**",
		"<@" + o.ada + "> <@U404> <@U404|old> <!here> <!channel>":          ": @Ada Lovelace @U404 @U404 @here @channel",
		"<!subteam^S1|@backend> <!subteam^S2> <!date^139^{date}|a day>":    ": @backend @subteam a day",
		"<#" + o.general + "> <#C404|other> <#C405|>":                      ": #general #private-channel #private-channel",
		"<https://example.com/a_b?x=1&amp;y=2>":                            ": <https://example.com/a_b?x=1&y=2>",
		"<https://example.com|see *this* [x]>":                             `: [see \*this\* \[x\]](https://example.com)`,
		"<mailto:ada@example.com|ada@example.com> <javascript:alert(1)|x>": ": [ada@example.com](mailto:ada@example.com) x",
		"<https://example.com/(a|b>":                                       ": [b](https://example.com/%28a)",
		"a &lt;script&gt; &amp;amp; <b>":                                   `: a \<script> &amp; b`,
		"# no heading":                                                     `: \# no heading`,
		"&gt; a quote\n&gt; goes on\nand an answer":                        "\n\n> a quote\n> goes on\n\nand an answer",
		"one\ntwo\n\nthree":                                                "\n\none\\\ntwo\n\nthree",
		"todo:\n• a\n• b\ndone":                                            "\n\ntodo:\n\n- a\n- b\n\ndone",
		"before ```if a &lt; b {\n\t*x*\n}``` after":                       "\n\nbefore\n\n```\nif a < b {\n\t*x*\n}\n```\n\nafter",
		"an open ```fence":                                                 ": an open \\`fence",
		"tick ` alone":                                                     ": tick \\` alone",
		"<@" + o.ada:                                                       ": \\<@" + o.ada,
		"```<https://example.com|x> <@" + o.ada + ">```":                   "\n\n```\nx @Ada Lovelace\n```",
	} {
		if got := o.renderThread(t, slackserver.Message{Text: text}); got != strings.TrimSpace(want) {
			t.Errorf("%q says\n%q, want\n%q", text, got, strings.TrimSpace(want))
		}
	}
}

func TestBlocksAndAttachmentsBecomeMarkdown(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	rich := `[{"type":"rich_text","elements":[
		{"type":"rich_text_section","elements":[{"type":"text","text":"Hello ","style":{"bold":true}},{"type":"user","user_id":"` + o.ada + `"},
			{"type":"text","text":" # and * "},{"type":"link","url":"https://example.com","text":"here"},{"type":"emoji","name":"tada","unicode":"1f389"},
			{"type":"emoji","name":"own"},{"type":"broadcast","range":"here"},{"type":"text","text":"x_y","style":{"code":true}},{"type":"text","text":"\nnext"}]},
		{"type":"rich_text_list","style":"bullet","indent":0,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"one"}]}]},
		{"type":"rich_text_list","style":"ordered","indent":1,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"a"}]},{"type":"rich_text_section","elements":[{"type":"text","text":"b"}]}]},
		{"type":"rich_text_preformatted","elements":[{"type":"text","text":"x := 1\n"}]},
		{"type":"rich_text_quote","elements":[{"type":"text","text":"so it is"}]}]}]`
	want := "**Hello** @Ada Lovelace # and \\* [here](https://example.com)🎉:own:@here`x_y`\\\nnext\n\n- one\n    1. a\n    2. b\n\n```\nx := 1\n```\n\n> so it is"
	if got := o.renderThread(t, slackserver.Message{Text: "the same in mrkdwn", Blocks: json.RawMessage(rich)}); got != want {
		t.Errorf("rich text says\n%q, want\n%q", got, want)
	}
	kit := `[{"type":"header","text":{"type":"plain_text","text":"Deploy *done*"}},{"type":"divider"},
		{"type":"section","text":{"type":"mrkdwn","text":"*web* is <https://example.com|up>"},"fields":[{"type":"mrkdwn","text":"*Took:* 3 min"}]},
		{"type":"context","elements":[{"type":"mrkdwn","text":"by CI"},{"type":"image","alt_text":"x"}]},
		{"type":"actions","elements":[{"type":"button","text":{"type":"plain_text","text":"Approve"}}]},{"type":7},"x"]`
	want = "**Deploy \\*done\\***\n\n**web** is [up](https://example.com)\n\n**Took:** 3 min\n\nby CI"
	if got := o.renderThread(t, slackserver.Message{Bot: "B1", Username: "CI", Subtype: "bot_message", Text: "fallback", Blocks: json.RawMessage(kit)}); got != want {
		t.Errorf("blocks say\n%q, want\n%q", got, want)
	}
	attached := `[{"fallback":"no","pretext":"Look","title":"Alarm","title_link":"https://example.com/a","text":"disk *full*","fields":[{"title":"Host","value":"db1"}]},
		{"from_url":"https://example.com/page","title":"A page","text":"that is somebody else's"},
		{"is_msg_unfurl":true,"from_url":"https://magpies.slack.com/archives/C9/p1","text":"the secret of another channel","fallback":"the secret"},
		{"fallback":"only this"},7]`
	want = "news\n\nLook\n\n[Alarm](https://example.com/a)\n\ndisk **full**\n\n**Host:** db1\n\n[A page](https://example.com/page)\n\n<https://magpies.slack.com/archives/C9/p1>\n\nonly this"
	if got := o.renderThread(t, slackserver.Message{Text: "news", Attachments: json.RawMessage(attached)}); got != want {
		t.Errorf("attachments say\n%q, want\n%q", got, want)
	}
	// A part of an unknown shape leaves the text readable.
	for _, odd := range []string{`7`, `{"a":1}`, `[[[]]]`, `[{"type":"rich_text","elements":"x"}]`} {
		if got := o.renderThread(t, slackserver.Message{Text: "still here", Blocks: json.RawMessage(odd), Attachments: json.RawMessage(odd)}); got != "still here" && got != ": still here" {
			t.Errorf("with blocks %s: %q", odd, got)
		}
	}
}

func TestTitlesAreShortAndSafe(t *testing.T) {
	t.Parallel()
	o := newTestWorkspace(t)
	for text, want := range map[string]string{
		"*How* do we `deploy`? <https://example.com|see>\nmore": "How do we deploy? see",
		"\n\n  > # hello  there":                                "hello there",
		strings.Repeat("word ", 40):                             strings.TrimSpace(strings.Repeat("word ", 15)) + "…",
		"a/b\\c":                                                "a/b\\c",
		"":                                                      "Thread",
	} {
		root := o.post(text)
		o.reply(root, "yes")
		found, _, err := openWith(t, o.world, settings(o.world, nil)).(connectors.Resolver).Resolve(t.Context(), []string{o.general + "/" + root})
		if err != nil || len(found) != 1 || found[0].Title != want {
			t.Errorf("%q: %+v, %v", text, found, err)
			continue
		}
		if strings.Count(found[0].Path, "/") != 1 || strings.Contains(found[0].Path, "\\") {
			t.Errorf("the path is %q", found[0].Path)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add("*a* <@U1> ```x``` &gt; `", `[{"type":"rich_text","elements":[{"type":"rich_text_list","style":"ordered","indent":99,"elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"x","style":{"bold":true}}]}]}]}]`)
	f.Add("<|><@><#><!>", `[{"type":"section","text":{"type":"plain_text","text":"*"}}]`)
	o := &testWorkspace{world: slackserver.New(f)}
	o.general = o.world.AddChannel(slackserver.Channel{Name: "general", Members: []string{o.world.BotUser}})
	registry, err := connectors.NewRegistry(slack.Kind(o.world.Dial))
	if err != nil {
		f.Fatal(err)
	}
	kind, _ := registry.Lookup("slack")
	source, err := kind.New(f.Context(), settings(o.world, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = source.Close() })
	f.Fuzz(func(t *testing.T, text, blocks string) {
		m := slackserver.Message{Text: text}
		if json.Valid([]byte(blocks)) {
			m.Blocks, m.Attachments = json.RawMessage(blocks), json.RawMessage(blocks)
		}
		root := o.world.Post(o.general, m)
		o.reply(root, "END")
		found, _, err := source.(connectors.Resolver).Resolve(t.Context(), []string{o.general + "/" + root})
		if err != nil || len(found) != 1 {
			t.Fatalf("found %d, %v", len(found), err)
		}
		item := found[0]
		if !utf8.Valid(item.Content) || item.Title == "" || len(item.Path) > connectors.MaxIDBytes || !utf8.ValidString(item.Path) || strings.Count(item.Path, "/") != 1 {
			t.Errorf("%q: %+v", text, item)
		}
		o.world.Delete(o.general, root)
	})
}
