package sharepoint_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sharepoint"
)

func FuzzCursorsAndTokens(f *testing.F) {
	o := newOrganisation(f)
	o.Server.Put(o.drive, "docs/a.md", []byte("a"))
	for _, text := range []string{"", "{}", `{"k":"d|x|y"}`, `{"k":"p|"}`, `{"k":"d|","l":"#00","g":1}`, `{"v":1,"l":{}}`, `{"v":1,"l":{"d|x|y":"z"},"a":"d","m":[{"k":"d","i":"x"}]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source := open(t, o.settings(nil))
		cursor := text
		for range 20 {
			page, err := source.Walk(t.Context(), cursor)
			if err != nil || page.Done {
				break
			}
			if page.Next == cursor {
				t.Fatalf("the cursor %q leads to itself", cursor)
			}
			cursor = page.Next
		}
		page, err := source.(connectors.Feeder).Changes(t.Context(), text)
		if err == nil && !page.Expired && page.Next == "" {
			t.Errorf("the token %q has no next one", text)
		}
		_, _, _ = source.(connectors.Resolver).Resolve(t.Context(), []string{text})
	})
}

func FuzzContents(f *testing.F) {
	f.Add([]byte(`{"name":"a.aspx","title":"<T>","canvasLayout":{"horizontalSections":[{"columns":[{"webparts":[{"innerHtml":"<p>x</p></main><script>y</script>"}]}]}]}}`))
	f.Add([]byte(`{"id":"1","fields":{"Title":"a\nb","Owner":{"LookupValue":"Ada"},"Tags":["a",1,null],"Level":1e9}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if page, ok := sharepoint.RenderPage(data); ok && (strings.Count(string(page), "<main>") < 1 || !strings.HasSuffix(string(page), "</main></body></html>\n")) {
			t.Errorf("the page is %q", page)
		}
		if entry, ok := sharepoint.RenderListItem(data); ok && (!strings.HasPrefix(string(entry), "# ") || !utf8.Valid(entry)) {
			t.Errorf("the entry is %q", entry)
		}
	})
}
