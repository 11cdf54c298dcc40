package notion_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/notion"
)

const (
	probePage     = "b55c9c91-384d-452b-81db-d1ef79372b75"
	probeDatabase = "248104cd-477e-80fd-b757-e945d38000bd"
	probeRow      = "59833787-2cf9-4fdf-8782-e53db20768a5"
)

// A server with the answers of the published examples and nothing else is read: it
// has no account, no Markdown and no data sources, and tells little of rows in lists.
func TestAServerWithoutPartsOfTheAPIIsRead(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	row := fmt.Sprintf(`{"object":"page","id":%q,"created_time":"2022-03-01T19:05:00.000Z","last_edited_time":"2022-07-06T20:25:00.000Z","archived":false,
		"parent":{"type":"database_id","database_id":%q},"url":"https://www.notion.so/Kale","properties":{"Price":{"id":"%%7C","type":"number","number":2},
		"Name":{"id":"title","title":[{"type":"text","text":{"content":"Kale","link":null},"plain_text":"Kale"}]}}}`, probeRow, probeDatabase)
	page := fmt.Sprintf(`{"object":"page","id":%q,"created_time":"2022-03-01T19:05:00.000Z","last_edited_time":"2022-07-06T19:30:00.000Z","in_trash":false,
		"parent":{"type":"workspace","workspace":true},"url":"https://www.notion.so/Plain","properties":{}}`, probePage)
	database := fmt.Sprintf(`{"object":"database","id":%q,"created_time":"2022-03-01T19:05:00.000Z","last_edited_time":"2022-07-06T19:30:00.000Z",
		"title":[{"type":"text","text":{"content":"Groceries"},"plain_text":"Groceries"}],"parent":{"type":"page_id","page_id":%q},"properties":{"Name":{"id":"title","name":"Name","type":"title","title":{}}}}`, probeDatabase, probePage)
	list := func(entries ...string) string {
		return `{"object":"list","next_cursor":null,"has_more":false,"results":[` + strings.Join(entries, ",") + `]}`
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		body, _ := io.ReadAll(r.Body)
		answer, status := `{"object":"error","status":404,"code":"object_not_found","message":"not found"}`, http.StatusNotFound
		ok := func(text string) { answer, status = text, http.StatusOK }
		switch r.URL.Path {
		case "/v1/search":
			switch text := string(body); {
			case strings.Contains(text, `"data_source"`):
				answer, status = `{"object":"error","status":400,"code":"validation_error","message":"body.filter.value should be page or database"}`, http.StatusBadRequest
			case strings.Contains(text, `"database"`):
				ok(list(database))
			default:
				ok(list(page))
			}
		case "/v1/databases/" + probeDatabase + "/query":
			if ok(list(`{"object":"page","id":"` + probeRow + `"}`)); gone.Load() {
				ok(list())
			}
		case "/v1/databases/" + probeDatabase:
			ok(database)
		case "/v1/pages/" + probePage:
			ok(page)
		case "/v1/pages/" + probeRow:
			if !gone.Load() {
				ok(row)
			}
		case "/v1/blocks/" + probePage + "/children":
			ok(list(`{"object":"block","id":"c02fc1d3-db8b-45c5-a222-27595b15aea7"}`,
				`{"object":"block","id":"acc7eb06-05cd-4603-a384-5e1e4f1f4e72","type":"paragraph","has_children":false,"paragraph":{"rich_text":[{"type":"text","text":{"content":"Lacinato"},"plain_text":"Lacinato"}]}}`,
				`{"object":"block","id":"bcc7eb06-05cd-4603-a384-5e1e4f1f4e72","type":"unsupported","has_children":false,"unsupported":{}}`))
		case "/v1/blocks/" + probeRow + "/children":
			ok(list())
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	source, err := notion.Kind(new(net.Dialer).DialContext).New(t.Context(), connectors.Settings{
		Config: map[string]any{"apiUrl": server.URL, "includeFiles": true}, Credentials: map[string]string{"integrationToken": "secret"}, State: &connectors.MemoryState{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	if err := source.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	feeder, _ := source.(connectors.Feeder)
	start, err := feeder.Changes(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for cursor := ""; ; {
		found, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range found.Items {
			content, err := source.Open(t.Context(), item)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(content)
			texts[item.Path] = string(text)
			_ = content.Close()
		}
		if cursor = found.Next; found.Done {
			break
		}
	}
	plain := texts["Untitled-"+strings.ReplaceAll(probePage, "-", "")]
	kale := texts["Untitled/Groceries/Kale-"+strings.ReplaceAll(probeRow, "-", "")]
	if len(texts) != 2 || !strings.Contains(plain, "Lacinato") || !strings.Contains(kale, "# Kale") || !strings.Contains(kale, "- Price: 2") {
		t.Errorf("the documents are %q", texts)
	}
	unchanged, err := feeder.Changes(t.Context(), start.Next)
	if err != nil || len(unchanged.Gone) > 0 {
		t.Fatalf("without changes, Changes is %+v, %v", unchanged, err)
	}
	gone.Store(true)
	changed, err := feeder.Changes(t.Context(), unchanged.Next)
	if err != nil || len(changed.Gone) != 1 || changed.Gone[0] != "page:"+probeRow {
		t.Errorf("after a deletion, Changes is %+v, %v", changed, err)
	}
}
