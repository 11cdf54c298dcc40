package sharepoint_test

import (
	"testing"

	"github.com/magpie-search/magpie/connectors"
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
