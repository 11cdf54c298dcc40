package adf_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors/atlassian/adf"
)

// doc returns a document with nodes in a short notation: JSON with single quotes.
func doc(nodes string) []byte {
	return []byte(strings.ReplaceAll(`{'version':1,'type':'doc','content':[`+nodes+`]}`, `'`, `"`))
}

func paragraph(inline string) string { return `{'type':'paragraph','content':[` + inline + `]}` }

func text(words string) string { return `{'type':'text','text':'` + words + `'}` }

func TestNodesBecomeMarkdown(t *testing.T) {
	t.Parallel()
	item := func(content string) string { return `{'type':'listItem','content':[` + content + `]}` }
	cell := func(kind, content string) string {
		return `{'type':'` + kind + `','attrs':{},'content':[` + paragraph(content) + `]}`
	}
	for name, c := range map[string]struct{ nodes, want string }{
		"paragraphs":            {paragraph(text("One.")) + "," + paragraph(text("Two.")), "One.\n\nTwo."},
		"marks":                 {paragraph(`{'type':'text','text':'bold ','marks':[{'type':'strong'}]},` + text("and ") + `,{'type':'text','text':'x*y','marks':[{'type':'code'}]}`), "**bold** and `x*y`"},
		"several marks":         {paragraph(`{'type':'text','text':'a','marks':[{'type':'em'},{'type':'strike'},{'type':'underline'},{'type':'textColor','attrs':{'color':'#ff0000'}}]}`), "~~*a*~~"},
		"a link":                {paragraph(`{'type':'text','text':'here','marks':[{'type':'link','attrs':{'href':'https://example.com/a (b)'}}]}`), "[here](https://example.com/a%20%28b%29)"},
		"marks in text":         {paragraph(text("1*2*3 [x] # not")), `1\*2\*3 \[x\] # not`},
		"a number at the start": {paragraph(text("1. not a list")), `1\. not a list`},
		"a hash at the start":   {paragraph(text("# not a heading")), `\# not a heading`},
		"a heading":             {`{'type':'heading','attrs':{'level':3},'content':[` + text("Title") + `]}`, "### Title"},
		"code":                  {`{'type':'codeBlock','attrs':{'language':'go'},'content':[` + text("a := 1\\nb := 2") + `]}`, "```go\na := 1\nb := 2\n```"},
		"code with a fence":     {`{'type':'codeBlock','content':[` + text("```") + `]}`, "````\n```\n````"},
		"lists": {`{'type':'bulletList','content':[` + item(paragraph(text("a"))+`,{'type':'orderedList','attrs':{'order':3},'content':[`+item(paragraph(text("b")))+","+item(paragraph(text("c")))+`]}`) + "," + item(paragraph(text("d"))) + `]}`,
			"- a\n\n  3. b\n  4. c\n- d"},
		"tasks": {`{'type':'taskList','attrs':{'localId':'x'},'content':[{'type':'taskItem','attrs':{'state':'DONE'},'content':[` + text("done") + `]},{'type':'taskItem','attrs':{'state':'TODO'},'content':[` + text("open") + `]}]}`,
			"- [x] done\n- [ ] open"},
		"decisions": {`{'type':'decisionList','content':[{'type':'decisionItem','attrs':{'state':'DECIDED'},'content':[` + text("we do") + `]}]}`, "- we do"},
		"a table": {`{'type':'table','content':[{'type':'tableRow','content':[` + cell("tableHeader", text("Name")) + "," + cell("tableHeader", text("Value")) + `]},{'type':'tableRow','content':[` + cell("tableCell", text("a|b")) + "," + cell("tableCell", text("2")) + `]}]}`,
			"| Name | Value |\n| --- | --- |\n| a\\|b | 2 |"},
		"a table without a header": {`{'type':'table','content':[{'type':'tableRow','content':[{'type':'tableCell','attrs':{'colspan':2},'content':[` + paragraph(text("wide")) + `]},` + cell("tableCell", text("x")) + `]}]}`,
			"|  |  |  |\n| --- | --- | --- |\n| wide |  | x |"},
		"a panel":        {`{'type':'panel','attrs':{'panelType':'warning'},'content':[` + paragraph(text("Careful")) + "," + paragraph(text("really")) + `]}`, "> **Warning:** Careful\n>\n> really"},
		"a quote":        {`{'type':'blockquote','content':[` + paragraph(text("said")) + `]}`, "> said"},
		"an expand":      {`{'type':'expand','attrs':{'title':'More'},'content':[` + paragraph(text("inside")) + `]}`, "**More**\n\ninside"},
		"a rule":         {paragraph(text("a")) + `,{'type':'rule'},` + paragraph(text("b")), "a\n\n---\n\nb"},
		"people":         {paragraph(`{'type':'mention','attrs':{'id':'5b10','text':'@Ada Lovelace'}},` + text(" asks ") + `,{'type':'mention','attrs':{'id':'5b11'}}`), "@Ada Lovelace asks @user"},
		"an emoji":       {paragraph(`{'type':'emoji','attrs':{'shortName':':smile:','text':'😄'}},{'type':'emoji','attrs':{'shortName':':acme:'}}`), "😄:acme:"},
		"a date":         {paragraph(`{'type':'date','attrs':{'timestamp':'1582152559'}},` + text(" ") + `,{'type':'date','attrs':{'timestamp':1714521600000}}`), "1970-01-19 2024-05-01"},
		"a status":       {paragraph(`{'type':'status','attrs':{'text':'In progress','color':'yellow'}}`), "**In progress**"},
		"cards":          {paragraph(`{'type':'inlineCard','attrs':{'url':'https://example.com/x'}}`) + `,{'type':'blockCard','attrs':{'data':{'name':'Plan','url':'https://example.com/y'}}}`, "<https://example.com/x>\n\n[Plan](https://example.com/y)"},
		"files":          {`{'type':'mediaSingle','content':[{'type':'media','attrs':{'type':'file','id':'6e7c','alt':'plan.png'}},{'type':'caption','content':[` + text("The plan") + `]}]}`, "[plan.png]\nThe plan"},
		"a file outside": {`{'type':'mediaSingle','content':[{'type':'media','attrs':{'type':'external','url':'https://example.com/a.png'}}]}`, "![a.png](https://example.com/a.png)"},
		"a line break":   {paragraph(text("a") + `,{'type':'hardBreak'},` + text("b")), "a\nb"},
		"unknown nodes":  {`{'type':'layoutSection','content':[{'type':'layoutColumn','attrs':{'width':50},'content':[` + paragraph(text("left")) + `]},{'type':'future','content':[` + text("kept") + `]}]}`, "left\n\nkept"},
		"an extension":   {`{'type':'extension','attrs':{'extensionKey':'toc','text':'Contents'}}`, "Contents"},
	} {
		if got := adf.Markdown(doc(c.nodes)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"plain text"`: "plain text", "": "", "null": "", "{}": "", "[]": "", "7": "", `{"type":"doc"}`: "", `{"type":"doc","content":{"a":1}}`: "",
		`{"type":"doc","content":[7,null,"x",{"type":"paragraph","content":[{"type":"text","text":"left"}],"marks":7}]}`: "left",
		strings.Repeat(`{"content":[`, 100_000) + strings.Repeat("]}", 100_000):                                          "",
	} {
		if got := adf.Markdown([]byte(text)); got != want {
			t.Errorf("%.80q is %q, want %q", text, got, want)
		}
	}
}

// Every word of a document is in its Markdown, whatever the nodes around it are.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		string(doc(paragraph(text("a")))), `{"type":"table","content":[{"content":[{"content":[{"type":"text","text":"x"}]}]}]}`, `{"type":"doc","content":[{"type":"codeBlock","content":[{"type":"text","text":"~~~"}]}]}`,
	} {
		f.Add([]byte(seed), "list")
	}
	f.Fuzz(func(t *testing.T, document []byte, kind string) {
		if got := adf.Markdown(document); utf8.Valid(document) && !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		inside, err := json.Marshal(map[string]any{"type": "doc", "content": []any{map[string]any{"type": kind, "content": []any{
			map[string]any{"type": kind, "content": []any{map[string]any{"type": "paragraph", "content": []any{map[string]any{"type": "text", "text": "needle"}}}}},
		}}}})
		if err != nil {
			return
		}
		switch kind {
		case "hardBreak", "mention", "emoji", "date", "status", "inlineCard", "mediaInline", "placeholder", "media", "rule", "blockCard", "embedCard", "text", "":
			return // they have no content
		}
		if got := adf.Markdown(inside); !strings.Contains(got, "needle") {
			t.Errorf("the text in %q is lost: %q", kind, got)
		}
	})
}
