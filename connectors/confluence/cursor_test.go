package confluence_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

// A walk requests lists, and no single pages.
func TestWalkNeedsFewRequests(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		home := s.Add(Content{Space: "TST", Title: "Home", Users: []string{s.reader.ID}})
		for i := range 1000 {
			page := s.Add(Content{Parent: home, Title: fmt.Sprintf("P%d", i), Body: "<p>x</p>", Labels: []string{"ops"}, Users: []string{s.reader.ID}})
			s.Add(Content{Type: "attachment", Container: page, Title: "f.txt", Data: []byte("x")})
			if i%2 == 0 {
				s.Add(Content{Type: "comment", Container: page, Body: "<p>c</p>"})
			}
		}
		source := s.open(t, s.settings(map[string]any{"includeComments": true, "include_permissions": true}))
		found, _ := walk(t, source)
		readersOf(t, source, slices.Collect(maps.Values(found))...)
		requests := s.Requests("")
		t.Logf("%d requests for %d items", requests, len(found))
		if len(found) != 2001 || requests > 60 {
			t.Errorf("%d requests for %d items", requests, len(found))
		}
	})
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{`{"s":"TST","k":"page"}`, `{"s":"TST","k":"blogpost","l":"at:1:2:3"}`, `{"s":"TST","k":"page","l":"at:60::0","p":"7","f":"att8"}`, ""} {
		f.Add(seed)
	}
	site := &site{Server: NewCenter(f)}
	site.reader = site.AddUser(User{})
	site.AddSpace(Space{Key: "TST", Users: []string{site.reader.ID}})
	page := site.Add(Content{Space: "TST", Title: "P"})
	registry, err := connectors.NewRegistry(site.kind())
	if err != nil {
		f.Fatal(err)
	}
	kind, _ := registry.Lookup("confluence")
	source, err := kind.New(f.Context(), site.settings(map[string]any{"includeBlogPosts": true}))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = source.Close() })
	f.Fuzz(func(t *testing.T, cursor string) {
		for range 20 {
			got, err := source.Walk(t.Context(), cursor)
			for _, item := range got.Items {
				if item.ID != "page:"+page {
					t.Errorf("%q gave %q", cursor, item.ID)
				}
			}
			if err != nil || got.Done {
				return
			}
			if got.Next == cursor || len(got.Next) > connectors.MaxCursorBytes {
				t.Errorf("%q leads to %q", cursor, got.Next)
			}
			cursor = got.Next
		}
		t.Errorf("the walk does not end: %q", cursor)
	})
}
