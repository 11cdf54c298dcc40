package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// withQueryLog calls do with a query log and waits until the records are stored.
func (h *fixture) withQueryLog(t *testing.T, do func()) {
	t.Helper()
	l := analytics.NewLog(t.Context(), h.db.Pool, analytics.LogOptions{})
	h.resolver.Queries = l
	do()
	h.resolver.Queries = nil
	l.Close()
}

// byKey returns the viewer of a tenant's secret key.
func (n *tenant) byKey() viewer.Viewer {
	return viewer.Viewer{
		Workspace: n.viewer.Workspace, Subject: n.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, Secret: true,
		Collections: append(n.viewer.Collections, n.collection),
	}
}

const report = `query($c: ID, $k: ID, $kind: QueryKind) { queryAnalytics(collectionId: $c, apiKeyId: $k, kind: $kind) {
	totals { searches chats zeroResults zeroResultRate clicks clickThroughRate meanReciprocalClickRank positiveFeedback negativeFeedback p50Ms p95Ms }
	daily { date searches chats zeroResults clicks positiveFeedback negativeFeedback }
	topQueries(first: 3) { query count zeroResults clicks averageScore lastAt } zeroResultQueries { query count }
	lowScoreQueries { query } unclickedQueries { query } } }`

func TestQuestionsAreLoggedAndReported(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	find := func(v viewer.Viewer, text, more string) {
		t.Helper()
		a := h.ask(t, v, "query($q: String!) { search(input: {query: $q, minScore: 0"+more+"}) { total } }", map[string]any{"q": text})
		if len(a.Errors) > 0 {
			t.Fatal(a.body)
		}
	}
	h.withQueryLog(t, func() {
		find(ada.byKey(), "xylophone for ada@example.com", "")
		find(ada.viewer, "Xylophone for bob@example.com", ", filters: {section: \"nowhere\", language: \"en\"}")
		find(ada.byKey(), "xylophone", ", offset: 10")
		find(viewer.System(ada.viewer.Workspace), "asked by Magpie itself", "")
		find(eve.viewer, "a secret of eve", "")
		a := h.ask(t, ada.byKey(), `subscription { chat(input: {message: "What is the secret word?"}) { __typename } }`, nil)
		if a.at("chat.__typename") != "ChatDone" {
			t.Fatal(a.body)
		}
		if a := h.ask(t, ada.viewer, `{ search(input: {query: "refused", limit: 0}) { total } }`, nil); a.code() != "invalid_request" {
			t.Fatal(a.body)
		}
	})
	got := h.ask(t, ada.viewer, report, nil)
	if got.at("queryAnalytics.totals.searches") != 2.0 || got.at("queryAnalytics.totals.chats") != 1.0 || got.at("queryAnalytics.totals.zeroResults") != 1.0 {
		t.Errorf("%s", got.body)
	}
	if days, ok := got.at("queryAnalytics.daily").([]any); !ok || len(days) != 30 {
		t.Errorf("%d days", len(days))
	}
	if !strings.Contains(strings.ToLower(got.body), `"xylophone for [email]","count":2,"zeroresults":1`) || strings.Contains(got.body, "eve") ||
		strings.Contains(got.body, "example.com") || strings.Contains(got.body, "itself") {
		t.Errorf("%s", got.body)
	}
	for name, c := range map[string]struct {
		variables       map[string]any
		searches, chats float64
	}{
		"its collection": {map[string]any{"c": ada.collection}, 1, 1}, // the person searched everything
		"its key":        {map[string]any{"k": ada.key}, 1, 1},
		"chat":           {map[string]any{"kind": "CHAT"}, 0, 1},
	} {
		got := h.ask(t, ada.viewer, report, c.variables)
		if got.at("queryAnalytics.totals.searches") != c.searches || got.at("queryAnalytics.totals.chats") != c.chats {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	var row struct{ Filters, Surface, Language string }
	var raw string
	err := h.db.Pool.QueryRow(t.Context(), `select jsonb_build_object('filters', array_to_string(filters, '+'), 'surface', surface, 'language', language)
		from query_log where api_key_id is null and workspace_id = $1`, ada.viewer.Workspace).Scan(&raw)
	if err == nil {
		err = json.Unmarshal([]byte(raw), &row)
	}
	if err != nil || row.Filters != "section+language" || row.Surface != "dashboard" || row.Language != "en" {
		t.Errorf("%+v %v", row, err)
	}

	if a := h.ask(t, eve.viewer, report, nil); a.at("queryAnalytics.totals.searches") != 1.0 || strings.Contains(a.body, "xylophone") {
		t.Errorf("eve: %s", a.body)
	}
	for _, variables := range []map[string]any{{"c": ada.collection}, {"k": ada.key}} {
		if a := h.ask(t, eve.viewer, report, variables); a.code() != "not_found" {
			t.Errorf("eve with %v: %s", variables, a.body)
		}
	}
	if a := h.ask(t, h.member(t, ada, "reader@example.com", membership.RoleViewer), report, nil); a.code() != "forbidden" {
		t.Errorf("a viewer: %s", a.body)
	}
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	for _, variables := range []map[string]any{nil, {"k": ada.key}} {
		if a := h.ask(t, editor, report, variables); a.code() != "" {
			t.Errorf("an editor: %s", a.body)
		}
	}
	if a := h.ask(t, ada.viewer, `{ queryAnalytics { topQueries(first: 101) { query } } }`, nil); a.code() != "invalid_request" {
		t.Errorf("%s", a.body)
	}
	if a := h.ask(t, ada.viewer, `{ queryAnalytics(from: "2020-01-01T00:00:00Z") { totals { clicks } } }`, nil); a.code() != "invalid_request" {
		t.Errorf("%s", a.body)
	}
}

func TestEventsComeBySecretKeyAndStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	h.withQueryLog(t, func() {
		ctx := requestid.With(viewer.With(t.Context(), ada.byKey()), "request-of-ada")
		if _, err := h.resolver.Query().Search(ctx, model.SearchInput{Query: "xylophone"}); err != nil {
			t.Fatal(err)
		}
	})
	send := func(v viewer.Viewer) answer {
		return h.ask(t, v, `mutation($d: ID!) { recordEvents(input: {events: [
			{type: CLICK, requestId: "request-of-ada", documentId: $d, position: 1, eventId: "1"},
			{type: FEEDBACK, requestId: "request-of-ada", rating: NEGATIVE, reason: OTHER, comment: "no"}]}) { accepted duplicates unknown } }`,
			map[string]any{"d": ada.document})
	}
	publishable := ada.byKey()
	publishable.Secret = false
	if a := send(publishable); a.code() != "forbidden" || a.Errors[0].Message != "Secret key required" {
		t.Errorf("a publishable key: %s", a.body)
	}
	if a := send(ada.viewer); a.code() != "forbidden" {
		t.Errorf("a person: %s", a.body)
	}
	for _, c := range []struct {
		v    viewer.Viewer
		want string
	}{{eve.byKey(), "map[accepted:2 duplicates:0 unknown:2]"}, {ada.byKey(), "map[accepted:2 duplicates:0 unknown:0]"}, {ada.byKey(), "map[accepted:1 duplicates:1 unknown:0]"}} {
		if a := send(c.v); fmt.Sprint(a.at("recordEvents")) != c.want {
			t.Errorf("%s, want %s", a.body, c.want)
		}
	}
	got := h.ask(t, ada.viewer, report, nil)
	if got.at("queryAnalytics.totals.clicks") != 1.0 || got.at("queryAnalytics.totals.negativeFeedback") != 2.0 || got.at("queryAnalytics.totals.meanReciprocalClickRank") != 0.5 {
		t.Errorf("%s", got.body)
	}
	if a := h.ask(t, eve.viewer, report, nil); a.at("queryAnalytics.totals.clicks") != 0.0 || a.at("queryAnalytics.totals.negativeFeedback") != 0.0 {
		t.Errorf("eve: %s", a.body)
	}
	a := h.ask(t, ada.byKey(), `mutation { recordEvents(input: {events: [{type: FEEDBACK, requestId: "r", rating: POSITIVE}, {type: FEEDBACK, requestId: "r"}]}) { accepted } }`, nil)
	if a.code() != "invalid_request" || !strings.HasPrefix(a.Errors[0].Message, "events[1].rating: is required") {
		t.Errorf("%s", a.body)
	}
	for _, input := range []string{"{}", "{events: []}", `{event: {type: FEEDBACK, requestId: "r", rating: POSITIVE}, events: [{type: FEEDBACK, requestId: "r", rating: POSITIVE}]}`} {
		if a := h.ask(t, ada.byKey(), `mutation { recordEvents(input: `+input+`) { accepted } }`, nil); a.code() != "invalid_request" {
			t.Errorf("%s: %s", input, a.body)
		}
	}
}
