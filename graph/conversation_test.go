package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// converse adds a conversation of v with a question and an answer.
func (h *fixture) converse(t *testing.T, v viewer.Viewer, title, question, said string, at time.Time) (talk, answer uuid.UUID) {
	t.Helper()
	ctx := viewer.With(t.Context(), v)
	row, err := h.db.Ent.Conversation.Create().SetTitle(title).SetCreatedAt(at).SetUpdatedAt(at).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range []struct {
		role message.Role
		text string
	}{{message.RoleUser, question}, {message.RoleAssistant, said}} {
		made, err := h.db.Ent.Message.Create().SetConversationID(row.ID).SetRole(m.role).SetContent(m.text).
			SetSources([]map[string]any{{"id": uuid.NewString(), "title": "A [b]", "url": "https://x/<y>"}}).
			SetCreatedAt(at.Add(time.Duration(i) * time.Second)).Save(ctx)
		if err != nil {
			t.Fatal(err)
		}
		answer = made.ID
	}
	return row.ID, answer
}

const listed = `query($m: String, $k: ConversationKind, $n: Int, $a: Cursor) { conversations(matching: $m, kind: $k, first: $n, after: $a) {
	totalCount pageInfo { hasNextPage endCursor } edges { node { id title kind messageCount agentId } } } }`

func titles(a answer) string {
	edges, _ := a.at("conversations.edges").([]any)
	var out []string
	for _, e := range edges {
		node := e.(map[string]any)["node"].(map[string]any)
		out = append(out, fmt.Sprintf("%s:%v", node["title"], node["messageCount"]))
	}
	return strings.Join(out, " ")
}

func TestConversationsAreListedSearchedRenamedAndDeleted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	bob := h.member(t, ada, "bob@example.com", membership.RoleViewer)
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var talks []uuid.UUID
	for i, title := range []string{"first", "second", "third"} {
		id, _ := h.converse(t, bob, title, "What of 100% otters?", "Otters_swim "+title, start.Add(time.Duration(i)*time.Hour))
		talks = append(talks, id)
	}
	h.converse(t, ada.viewer, "adas", "otters", "otters", start)
	for _, c := range []struct {
		variables map[string]any
		want      string
	}{
		{nil, "third:2 second:2 first:2"},
		{map[string]any{"m": "SECOND"}, "second:2"},
		{map[string]any{"m": "otters_swim THI"}, "third:2"},
		{map[string]any{"m": "100% otters"}, "third:2 second:2 first:2"},
		{map[string]any{"m": "100_ otters"}, ""}, // no pattern
		{map[string]any{"m": "adas"}, ""},
		{map[string]any{"m": "  "}, "third:2 second:2 first:2"},
		{map[string]any{"k": "CHAT", "n": 2}, "third:2 second:2"},
		{map[string]any{"k": "AGENT"}, ""},
	} {
		if a := h.ask(t, bob, listed, c.variables); titles(a) != c.want || a.code() != "" {
			t.Errorf("%v: %q, want %q: %s", c.variables, titles(a), c.want, a.body)
		}
	}
	page := h.ask(t, bob, listed, map[string]any{"n": 2})
	if a := h.ask(t, bob, listed, map[string]any{"n": 2, "a": page.at("conversations.pageInfo.endCursor")}); titles(a) != "first:2" {
		t.Errorf("the next page is %s", a.body)
	}

	rename := `mutation($i: ID!, $t: String!) { renameConversation(id: $i, title: $t) { title updatedAt } }`
	if a := h.ask(t, bob, rename, map[string]any{"i": talks[0], "t": "  About\n otters "}); a.at("renameConversation.title") != "About otters" ||
		!strings.HasPrefix(fmt.Sprint(a.at("renameConversation.updatedAt")), "2026-03-01T12:00:00") {
		t.Errorf("%s", a.body)
	}
	for _, title := range []string{"", " \n", strings.Repeat("ä", 301)} {
		if a := h.ask(t, bob, rename, map[string]any{"i": talks[0], "t": title}); a.code() != "invalid_request" {
			t.Errorf("the title %.9q: %s", title, a.body)
		}
	}
	remove := `mutation($i: ID!) { deleteConversation(id: $i) }`
	for name, v := range map[string]viewer.Viewer{"the owner of the workspace": ada.viewer, "a stranger": eve.viewer} {
		if a := h.ask(t, v, remove, map[string]any{"i": talks[0]}); a.code() != "not_found" {
			t.Errorf("%s: %s", name, a.body)
		}
		if a := h.ask(t, v, rename, map[string]any{"i": talks[0], "t": "x"}); a.code() != "not_found" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a := h.ask(t, bob, remove, map[string]any{"i": talks[1]}); a.at("deleteConversation") != talks[1].String() {
		t.Errorf("%s", a.body)
	}
	if a := h.ask(t, bob, remove, map[string]any{"i": talks[1]}); a.code() != "not_found" {
		t.Errorf("again: %s", a.body)
	}
	if a := h.ask(t, bob, `mutation { deleteConversations(kind: AGENT) }`, nil); a.at("deleteConversations") != 0.0 {
		t.Errorf("%s", a.body)
	}
	if a := h.ask(t, bob, `mutation { deleteConversations }`, nil); a.at("deleteConversations") != 2.0 {
		t.Errorf("%s", a.body)
	}
	if a := h.ask(t, ada.viewer, listed, map[string]any{"m": "adas"}); titles(a) != "adas:2" {
		t.Errorf("ada's own were deleted, too: %s", a.body)
	}
}

func TestAConversationIsExported(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	id, _ := h.converse(t, ada.viewer, "Otters & *stars*", "Do they # swim?", "Yes [1].", time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	export := `query($i: ID!, $f: ExportFormat!) { exportConversation(id: $i, format: $f) { fileName mediaType content } }`
	got := h.ask(t, ada.viewer, export, map[string]any{"i": id, "f": "MARKDOWN"})
	want := "# Otters & \\*stars\\*\n\n## Question, 2026-03-01T12:00:00Z\n\nDo they # swim?\n\n1. [A \\[b\\]](<https://x/%3Cy%3E>)\n\n" +
		"## Answer, 2026-03-01T12:00:01Z\n\nYes [1].\n\n1. [A \\[b\\]](<https://x/%3Cy%3E>)\n"
	if got.at("exportConversation.content") != want || got.at("exportConversation.fileName") != "conversation-20260301-120000.md" {
		t.Errorf("%s", got.body)
	}
	var file struct {
		Title    string
		Messages []struct{ Role, Content string }
	}
	text, _ := h.ask(t, ada.viewer, export, map[string]any{"i": id, "f": "JSON"}).at("exportConversation.content").(string)
	if err := json.Unmarshal([]byte(text), &file); err != nil || len(file.Messages) != 2 || file.Messages[1].Role != "assistant" || file.Title != "Otters & *stars*" {
		t.Errorf("%v: %s", err, text)
	}
}

func TestFeedbackIsOneAPersonAndAnswer(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleViewer)
	talk, said := h.converse(t, bob, "x", "q", "a", time.Now())
	other, _ := h.converse(t, bob, "y", "q", "a", time.Now())
	set := `mutation($m: ID!, $c: ID, $i: FeedbackInput!) { setFeedback(messageId: $m, conversationId: $c, input: $i) { rating reason comment } }`
	read := `query($i: ID!) { conversation(id: $i) { messages(first: 9, orderBy: [{field: CREATED_AT, direction: ASC}]) { edges { node { id feedback { rating reason comment } } } } } }`
	opinions := func() string {
		a := h.ask(t, bob, read, map[string]any{"i": talk})
		edges, _ := a.at("conversation.messages.edges").([]any)
		var out []string
		for _, e := range edges {
			out = append(out, fmt.Sprint(e.(map[string]any)["node"].(map[string]any)["feedback"]))
		}
		return strings.Join(out, " ")
	}
	if got := opinions(); got != "<nil> <nil>" {
		t.Errorf("at first: %s", got)
	}
	for _, c := range []struct {
		input map[string]any
		want  string
	}{
		{map[string]any{"rating": "NEGATIVE", "reason": "OUTDATED", "comment": " Old. "}, "map[comment:Old. rating:NEGATIVE reason:OUTDATED]"},
		{map[string]any{"rating": "POSITIVE"}, "map[comment:<nil> rating:POSITIVE reason:<nil>]"},
		{map[string]any{"rating": "POSITIVE", "comment": strings.Repeat("ä", 500)}, "map[comment:" + strings.Repeat("ä", 500) + " rating:POSITIVE reason:<nil>]"},
	} {
		if a := h.ask(t, bob, set, map[string]any{"m": said, "c": talk, "i": c.input}); fmt.Sprint(a.at("setFeedback")) != c.want || opinions() != "<nil> "+c.want {
			t.Errorf("%s, and then %s", a.body, opinions())
		}
	}
	for name, c := range map[string]struct {
		variables map[string]any
		v         viewer.Viewer
		code      string
	}{
		"another conversation": {map[string]any{"m": said, "c": other, "i": map[string]any{"rating": "POSITIVE"}}, bob, "not_found"},
		"another person":       {map[string]any{"m": said, "i": map[string]any{"rating": "POSITIVE"}}, ada.viewer, "not_found"},
		"a long comment":       {map[string]any{"m": said, "i": map[string]any{"rating": "POSITIVE", "comment": strings.Repeat("ä", 501)}}, bob, "invalid_request"},
		"no rating":            {map[string]any{"m": said, "i": map[string]any{"comment": "x"}}, bob, "invalid_request"},
		"no message":           {map[string]any{"m": uuid.New(), "i": map[string]any{"rating": "POSITIVE"}}, bob, "not_found"},
	} {
		if a := h.ask(t, c.v, set, c.variables); a.code() != c.code {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	question, err := h.db.Ent.Message.Query().Where(message.ConversationID(talk), message.RoleEQ(message.RoleUser)).Only(viewer.With(t.Context(), bob))
	if err != nil {
		t.Fatal(err)
	}
	if a := h.ask(t, bob, set, map[string]any{"m": question.ID, "i": map[string]any{"rating": "POSITIVE"}}); a.code() != "invalid_request" {
		t.Errorf("of a question: %s", a.body)
	}
	for range 2 { // the second finds nothing to remove
		if a := h.ask(t, bob, `mutation($m: ID!) { removeFeedback(messageId: $m) }`, map[string]any{"m": said}); a.at("removeFeedback") != said.String() || opinions() != "<nil> <nil>" {
			t.Errorf("%s, and then %s", a.body, opinions())
		}
	}
}

func TestFeedbackIsPartOfTheQueryAnalytics(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	ctx := requestid.With(viewer.With(t.Context(), ada.viewer), "a-chat-of-ada")
	h.withQueryLog(t, func() {
		events, err := h.resolver.Subscription().Chat(ctx, model.ChatInput{Message: "What is the secret word?"})
		if err != nil {
			t.Fatal(err)
		}
		for range events {
		}
	})
	said, err := h.db.Ent.Message.Query().Where(message.RoleEQ(message.RoleAssistant), message.RequestID("a-chat-of-ada")).Only(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, rating := range []string{"POSITIVE", "POSITIVE", "NEGATIVE"} {
		a := h.ask(t, ada.viewer, `mutation($m: ID!, $r: Rating!) { setFeedback(messageId: $m, input: {rating: $r}) { rating } }`, map[string]any{"m": said.ID, "r": rating})
		if a.at("setFeedback.rating") != rating {
			t.Fatal(a.body)
		}
	}
	got := h.ask(t, ada.viewer, report, nil)
	if got.at("queryAnalytics.totals.positiveFeedback") != 1.0 || got.at("queryAnalytics.totals.negativeFeedback") != 0.0 {
		t.Errorf("want the first rating, once: %s", got.body)
	}
}

func TestFacetsAreOfTheDashboard(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.put(t, ada, "other.md", "Another page", "The xylophone again.")
	counts := `searchFacets(input: $i) { name documents missing distinct otherCount values { value label count selected from until } }`
	a := h.ask(t, ada.viewer, "query($i: SearchFacetsInput!) { "+counts+" }", map[string]any{"i": map[string]any{}})
	facets, _ := a.at("searchFacets").([]any)
	if len(facets) != 9 {
		t.Fatal(a.body)
	}
	for _, want := range []string{
		`{"name":"COLLECTION","documents":2,"missing":0,"distinct":1,"otherCount":0,"values":[{"value":"` + ada.collection.String() + `","label":"Docs of ada","count":2,"selected":false,"from":null,"until":null}]}`,
		`{"name":"CONNECTOR","documents":2,"missing":0,"distinct":1,"otherCount":0,"values":[{"value":"` + ada.connector.String() + `","label":"Files","count":2,"selected":false,"from":null,"until":null}]}`,
		`{"name":"SOURCE","documents":2,"missing":0,"distinct":1,"otherCount":0,"values":[{"value":"file_upload","label":"file_upload","count":2`,
		`{"name":"SECTION","documents":2,"missing":2,"distinct":0,"otherCount":0,"values":[]}`,
	} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s has no %s", a.body, want)
		}
	}
	search := `query($i: SearchInput!) { search(input: $i) { total facets { name documents values { value count selected } } } }`
	with := map[string]any{"query": "xylo", "prefix": true, "minScore": 0, "filters": map[string]any{"sources": []string{"s3"}, "collections": []any{ada.collection}},
		"facets": map[string]any{"fields": []string{"SOURCE", "LANGUAGE", "DATE"}, "ranges": []string{"2026-01-01/..", "../2026-01-01T00:00:00Z"}}}
	a = h.ask(t, ada.viewer, search, map[string]any{"i": with})
	if a.at("search.total") != 0.0 || !strings.Contains(a.body, `{"name":"SOURCE","documents":2,"values":[{"value":"file_upload","count":2,"selected":false}]},{"name":"LANGUAGE","documents":0,"values":[]},`) ||
		!strings.Contains(a.body, `{"value":"../2026-01-01T00:00:00Z","count":0`) {
		t.Errorf("the selection of a field hides no other value of it: %s", a.body)
	}
	if a := h.ask(t, ada.viewer, search, map[string]any{"i": map[string]any{"query": "xylophone"}}); a.at("search.facets") != nil || a.code() != "" {
		t.Errorf("not asked for: %s", a.body)
	}
	for _, more := range []map[string]any{{"facets": map[string]any{}}, {"facets": map[string]any{"fields": []string{"SECTION", "CONNECTOR"}}}, {"explain": true}, {"filters": map[string]any{"sources": []string{"s3"}}}} {
		more["query"] = "xylophone"
		if a := h.ask(t, ada.byKey(), search, map[string]any{"i": more}); a.code() != "forbidden" {
			t.Errorf("a key with %v: %s", more, a.body)
		}
	}
	typed := map[string]any{"query": "xylopho", "prefix": true, "distinct": "document", "facets": map[string]any{"fields": []string{"SOURCE"}}}
	if a := h.ask(t, ada.byKey(), search, map[string]any{"i": typed}); a.at("search.total") != 2.0 || !strings.Contains(a.body, `"values":[{"value":"file_upload","count":2,"selected":false}]`) {
		t.Errorf("a key that types: %s", a.body)
	}
	if a := h.ask(t, ada.byKey(), search, map[string]any{"i": map[string]any{"query": "x", "distinct": "path"}}); a.code() != "invalid_request" {
		t.Errorf("distinct by something unknown: %s", a.body)
	}
	if a := h.ask(t, ada.byKey(), `{ completions(q: "the xylo", limit: 2) { completions titles { title } } }`, nil); !strings.Contains(a.body, `"completions":["the xylophone`) {
		t.Errorf("completions for a key: %s", a.body)
	}
	if a := h.ask(t, ada.byKey(), `{ completions(q: " ") { completions } }`, nil); a.code() != "invalid_request" {
		t.Errorf("completions of nothing: %s", a.body)
	}
	for _, wrong := range []map[string]any{
		{"facets": map[string]any{"first": 0}}, {"facets": map[string]any{"ranges": []string{"2026"}}}, {"facets": map[string]any{"ranges": []string{"../.."}}},
		{"facets": map[string]any{"ranges": []string{"2026-02-01/2026-01-01"}}}, {"facets": map[string]any{"fields": []string{"AUTHOR"}}}, {"query": " "}, {"query": "x", "minScore": 2},
	} {
		if a := h.ask(t, ada.viewer, "query($i: SearchFacetsInput!) { "+counts+" }", map[string]any{"i": wrong}); a.code() != "invalid_request" {
			t.Errorf("%v: %s", wrong, a.body)
		}
	}
	a = h.ask(t, ada.viewer, `{ searchSuggestions(prefix: "anoth") { text documentId collectionId } }`, nil)
	if !strings.Contains(a.body, `[{"text":"Another page",`) {
		t.Errorf("%s", a.body)
	}
	for _, wrong := range []string{`prefix: " "`, `prefix: "x", limit: 21`} {
		if a := h.ask(t, ada.viewer, `{ searchSuggestions(`+wrong+`) { text } }`, nil); a.code() != "invalid_request" {
			t.Errorf("%s: %s", wrong, a.body)
		}
	}
}
