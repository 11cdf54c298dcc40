package graph_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/viewer"
)

// publicKey returns the viewer of the tenant's publishable key.
func (n *tenant) publicKey() viewer.Viewer {
	return viewer.Viewer{
		Workspace: n.viewer.Workspace, Subject: n.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic,
		Collections: []uuid.UUID{n.collection}, Secret: true,
	}
}

func (h *fixture) usage(t *testing.T, n *tenant) (queries float64, limit, remaining any) {
	t.Helper()
	got := h.ask(t, n.viewer, "{ usage { periodStart periodEnd queries limit remaining } }", nil)
	if got.code() != "" || got.at("usage.periodStart") == nil || got.at("usage.periodEnd") == nil {
		t.Fatalf("%s", got.body)
	}
	queries, _ = got.at("usage.queries").(float64)
	return queries, got.at("usage.limit"), got.at("usage.remaining")
}

func (h *fixture) limit(t *testing.T, n *tenant, queries int64) {
	t.Helper()
	s, err := n.viewer.Scope()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.resolver.Quota.SetLimit(t.Context(), s, &queries); err != nil {
		t.Fatal(err)
	}
}

const (
	aSearch = `{ search(input: {query: "xylophone", minScore: 0}) { total } }`
	aChat   = `subscription { chat(input: {message: "What is the secret word?"}) { __typename } }`
)

func TestSearchesAndMessagesAreCountedOnceEach(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	if queries, limit, remaining := h.usage(t, ada); queries != 0 || limit != nil || remaining != nil {
		t.Errorf("at first: %v %v %v", queries, limit, remaining)
	}
	for _, limit := range []int64{0, 100} {
		h.limit(t, ada, limit)
		before, _, _ := h.usage(t, ada)
		for _, v := range []viewer.Viewer{ada.viewer, ada.publicKey()} {
			for _, query := range []string{aSearch, aChat} {
				if got := h.ask(t, v, query, nil); got.code() != "" {
					t.Fatalf("%s", got.body)
				}
			}
		}
		if after, _, _ := h.usage(t, ada); after != before+4 {
			t.Errorf("limit %d: %v queries became %v", limit, before, after)
		}
		// Two searches in one operation are two queries.
		h.ask(t, ada.viewer, `{ a: search(input: {query: "x"}) { total } b: search(input: {query: "x"}) { total } }`, nil)
		if after, _, _ := h.usage(t, ada); after != before+6 {
			t.Errorf("limit %d: %v queries became %v", limit, before, after)
		}
		// Nothing else costs anything: refused requests, other fields, Magpie's own questions.
		foreign, stranger := map[string]any{"i": eve.collection}, map[string]any{"i": eve.talk}
		internal := viewer.System(ada.viewer.Workspace)
		for what, c := range map[string]struct {
			as        viewer.Viewer
			query     string
			variables map[string]any
			code      string
		}{
			"a blank query":             {ada.viewer, `{ search(input: {query: " "}) { total } }`, nil, "invalid_request"},
			"no date":                   {ada.viewer, `{ search(input: {query: "x", filters: {dateAfter: "x"}}) { total } }`, nil, "invalid_request"},
			"another's collection":      {ada.viewer, `query($i: ID!) { search(input: {query: "x", collection: $i}) { total } }`, foreign, "not_found"},
			"one outside a key's scope": {ada.publicKey(), `query($i: ID!) { search(input: {query: "x", collection: $i}) { total } }`, foreign, "forbidden"},
			"a blank message":           {ada.viewer, `subscription { chat(input: {message: " "}) { __typename } }`, nil, "invalid_request"},
			"a chat out of scope":       {ada.publicKey(), `subscription($i: ID!) { chat(input: {message: "x", collection: $i}) { __typename } }`, foreign, "forbidden"},
			"another's conversation":    {ada.viewer, `subscription($i: ID!) { chat(input: {message: "x", conversationId: $i}) { __typename } }`, stranger, "not_found"},
			"a list":                    {ada.viewer, `{ collections(first: 1) { totalCount } }`, nil, ""},
			"Magpie's own search":       {internal, aSearch, nil, ""},
			"Magpie's own message":      {internal, aChat, nil, ""},
		} {
			if got := h.ask(t, c.as, c.query, c.variables); got.code() != c.code {
				t.Errorf("%s: %s", what, got.body)
			}
			if after, _, _ := h.usage(t, ada); after != before+6 {
				t.Fatalf("%s, limit %d: it was counted", what, limit)
			}
		}
	}
	if queries, _, _ := h.usage(t, eve); queries != 0 {
		t.Errorf("eve has made %v queries", queries)
	}
}

func TestOverTheLimitNothingIsAskedOrStored(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.limit(t, ada, 3)
	for _, query := range []string{aSearch, aChat, aSearch} {
		if got := h.ask(t, ada.publicKey(), query, nil); got.code() != "" {
			t.Fatalf("%s", got.body)
		}
	}
	if queries, limit, remaining := h.usage(t, ada); queries != 3 || limit != 3.0 || remaining != 0.0 {
		t.Errorf("%v %v %v", queries, limit, remaining)
	}
	system := viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))
	messages := func() int {
		n, err := h.db.Ent.Message.Query().Where(message.RoleEQ(message.RoleUser)).Count(system)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := messages()
	for _, v := range []viewer.Viewer{ada.viewer, ada.publicKey()} {
		for _, query := range []string{aSearch, aChat} {
			if got := h.ask(t, v, query, nil); got.code() != "quota_exceeded" {
				t.Errorf("%s", got.body)
			}
		}
		// Scope and conversation are checked before.
		none := map[string]any{"i": uuid.New()}
		if got := h.ask(t, v, `subscription($i: ID!) { chat(input: {message: "x", conversationId: $i}) { __typename } }`, none); got.code() != "not_found" {
			t.Errorf("%s", got.body)
		}
		if got := h.ask(t, v, `query($i: ID!) { search(input: {query: "x", collection: $i}) { total } }`, none); got.code() == "quota_exceeded" {
			t.Errorf("%s", got.body)
		}
	}
	if after := messages(); after != before {
		t.Errorf("refused messages were stored: %d, then %d", before, after)
	}
	if queries, _, _ := h.usage(t, ada); queries != 3 {
		t.Errorf("refused queries count: %v", queries)
	}
	if got := h.ask(t, viewer.System(ada.viewer.Workspace), aSearch, nil); got.code() != "" {
		t.Errorf("Magpie itself is held to it: %s", got.body)
	}
}

func TestKeysAreReadChangedAndRotated(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	id := map[string]any{"i": ada.key}
	const fields = `id name status publishableHint secretHint allowAllCollections allowedCollections defaultCollection allowedHosts allowedReferers
		widgetModelId widgetContext requireSignature databaseTools rateLimitPerMinute createdAt expiresAt revokedAt lastUsedAt rotatedAt previousExpiresAt leakedAt leakedOrigin`
	got := h.ask(t, ada.viewer, `query($i: ID!) { apiKey(id: $i) { `+fields+` } }`, id)
	if got.at("apiKey.status") != "ACTIVE" || got.at("apiKey.name") != "Site" {
		t.Fatalf("%s", got.body)
	}
	change := func(input string) answer {
		t.Helper()
		return h.ask(t, ada.viewer, `mutation($i: ID!) { updateAPIKey(id: $i, input: `+input+`) { `+fields+` } }`, id)
	}
	got = change(`{rateLimitPerMinute: 9, widgetContext: "We sell boots.", expiresAt: "2099-01-01T00:00:00Z", defaultCollection: "` + ada.collection.String() + `", allowedReferers: ["https://example.com/a"]}`)
	if got.at("updateAPIKey.rateLimitPerMinute") != 9.0 || got.at("updateAPIKey.widgetContext") != "We sell boots." || got.at("updateAPIKey.defaultCollection") != ada.collection.String() {
		t.Errorf("%s", got.body)
	}
	if got = change(`{name: "Page"}`); got.at("updateAPIKey.name") != "Page" || got.at("updateAPIKey.rateLimitPerMinute") != 9.0 || got.at("updateAPIKey.expiresAt") != "2099-01-01T00:00:00Z" {
		t.Errorf("what was not given changed: %s", got.body)
	}
	got = change(`{rateLimitPerMinute: null, widgetContext: null, expiresAt: null, defaultCollection: null, allowedReferers: [], name: null}`)
	row, _ := got.at("updateAPIKey").(map[string]any)
	for _, field := range []string{"rateLimitPerMinute", "widgetContext", "expiresAt", "defaultCollection"} {
		if v, there := row[field]; !there || v != nil {
			t.Errorf("%s is %v: %s", field, v, got.body)
		}
	}
	if row["name"] != "Page" {
		t.Errorf("%s", got.body)
	}
	if got = change(`{allowedHosts: []}`); got.code() != "invalid_request" || got.Errors[0].Extensions["field"] != "allowedHosts" {
		t.Errorf("%s", got.body)
	}
	if got = change(`{allowedCollections: []}`); got.code() != "invalid_request" {
		t.Errorf("%s", got.body)
	}
	rotate := func(arguments string) answer {
		t.Helper()
		return h.ask(t, ada.viewer, `mutation($i: ID!) { rotateAPIKey(id: $i`+arguments+`) { publishableKey secretKey apiKey { `+fields+` } } }`, id)
	}
	first := rotate("")
	secret, _ := first.at("rotateAPIKey.secretKey").(string)
	if first.at("rotateAPIKey.apiKey.rotatedAt") == nil || first.at("rotateAPIKey.apiKey.previousExpiresAt") == nil || secret == "" || first.at("rotateAPIKey.apiKey.id") != ada.key.String() {
		t.Errorf("%s", first.body)
	}
	k, err := h.resolver.Keys.Authenticate(t.Context(), secret)
	if err != nil || k.ID != ada.key {
		t.Errorf("%v", err)
	}
	if got := rotate(", overlapMinutes: 0"); got.at("rotateAPIKey.apiKey.previousExpiresAt") != nil {
		t.Errorf("%s", got.body)
	}
	if _, err := h.resolver.Keys.Authenticate(t.Context(), secret); err == nil {
		t.Error("the pair of before works on")
	}
	for _, wrong := range []string{", overlapMinutes: -1", ", overlapMinutes: 43201", `, expiresAt: "2001-01-01T00:00:00Z"`} {
		if got := rotate(wrong); got.code() != "invalid_request" {
			t.Errorf("%s: %s", wrong, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, `mutation($i: ID!) { revokeAPIKey(id: $i) { status } }`, id); got.at("revokeAPIKey.status") != "REVOKED" {
		t.Errorf("%s", got.body)
	}
	if got := rotate(""); got.code() != "conflict" {
		t.Errorf("%s", got.body)
	}
}
