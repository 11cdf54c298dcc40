package graph_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/purge"
)

const canary = "canary-7f3a9c51-do-not-tell"

// tattler is a source whose errors contain its secret.
type tattler struct{ token string }

func (s tattler) tell() error {
	return connectors.NeedsAuth(fmt.Errorf("401 for Authorization: Bearer %s", s.token))
}
func (s tattler) Walk(context.Context, string) (connectors.Page, error) {
	return connectors.Page{}, s.tell()
}
func (s tattler) Open(context.Context, connectors.Item) (io.ReadCloser, error) { return nil, s.tell() }
func (s tattler) Check(context.Context) error                                  { return s.tell() }
func (tattler) Close() error                                                   { return nil }

// CheckTiers implements [connectors.TierChecker].
func (s tattler) CheckTiers(context.Context) ([]connectors.Tier, error) {
	return []connectors.Tier{{Name: connectors.TierRead}, {Name: connectors.TierWebhooks, Err: s.tell()}}, nil
}

// wiki returns a kind with every feature.
func wiki() connectors.Kind {
	return connectors.Kind{
		Name: "wiki", Title: "Wiki", Description: "Pages.", Aliases: []string{"pages"}, Category: connectors.CategoryCollaboration,
		Permissions: true, Webhook: &connectors.Webhook{Secret: "token"}, OAuth: "wiki", Enumerates: true, Documentation: "https://example.com/wiki", APIVersion: "v7",
		Options: []connectors.Option{
			{Name: "address", Title: "Address", Help: "Of the wiki.", Type: connectors.TypeString, Format: connectors.FormatURL, Required: true, Example: "https://wiki.example.com"},
			{Name: "depth", Title: "Depth", Help: "Levels.", Type: connectors.TypeInteger, Min: 1, Max: 5, Default: 3, Group: "Range", Advanced: true},
			{Name: "spaces", Title: "Spaces", Help: "Only these.", Type: connectors.TypeStringList,
				DependsOn: []connectors.Dependency{{Option: "depth", Values: []any{1, 2}}}},
		},
		Credentials: []connectors.Option{
			{Name: "token", Title: "Token", Help: "Of a reader.", Type: connectors.TypeString, Required: true, Sensitive: true, Multiline: true, Example: "x"},
			{Name: "account", Title: "Account", Help: "Of a reader.", Type: connectors.TypeString},
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return tattler{s.Credentials["token"]}, nil
		},
	}
}

func (h *fixture) withWiki(t *testing.T) {
	t.Helper()
	kinds, err := connectors.NewRegistry(append(h.resolver.Kinds.Kinds(), wiki())...)
	if err != nil {
		t.Fatal(err)
	}
	h.resolver.Kinds = kinds
	h.changeConnectors(func(o *connector.Options) { o.Kinds = kinds })
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func TestASecretIsShownNowhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.withWiki(t)
	log := &lockedBuffer{}
	h.resolver.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h.changeConnectors(func(o *connector.Options) { o.Log = h.resolver.Log })
	ada := h.tenant(t, "ada")
	ran := 0
	ask := func(query string, variables map[string]any) answer {
		t.Helper()
		got := h.ask(t, ada.viewer, query, variables)
		ran++
		if strings.Contains(got.body, canary) || strings.Contains(log.String(), canary) {
			t.Errorf("%s shows the secret: %s\n%s", query, got.body, log.String())
		}
		return got
	}
	input := map[string]any{"name": "Wiki", "type": "pages", "collection": ada.collection, "config": map[string]any{"address": "a"},
		"credentials": map[string]any{"token": canary, "account": "reader"}}
	made := ask("mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id status config } }", map[string]any{"i": input})
	id, _ := made.at("createConnector.id").(string)
	if id == "" {
		t.Fatal(made.body)
	}
	var sealed []byte
	if err := h.db.Pool.QueryRow(t.Context(), "select credentials from connectors where id = $1", id).Scan(&sealed); err != nil || len(sealed) == 0 || bytes.Contains(sealed, []byte(canary)) {
		t.Errorf("the credentials are kept as %q, %v", sealed, err)
	}
	one := map[string]any{"i": id}
	tested := ask("mutation($i: ID!) { testConnector(id: $i) { ok message details } }", one)
	if tested.at("testConnector.ok") != false || !strings.Contains(tested.body, "[hidden]") || !strings.Contains(tested.body, `"needsAuth":true`) {
		t.Errorf("the test of the connection: %s", tested.body)
	}
	ask("mutation($c: Map) { testConnection(input: {type: \"wiki\", config: {address: \"a\"}, credentials: $c}) { ok message details } }",
		map[string]any{"c": map[string]any{"token": canary}})
	for _, credentials := range []any{
		map[string]any{"token": []any{canary}}, map[string]any{"token": map[string]any{"x": canary}}, map[string]any{"tokens": canary},
		map[string]any{"token": canary + "\x00"}, canary, []any{canary},
	} {
		for _, query := range []string{
			"mutation($i: ID!, $c: Map) { updateConnector(id: $i, input: {credentials: $c}) { id } }",
			"mutation($c: Map) { testConnection(input: {type: \"wiki\", config: {address: \"a\"}, credentials: $c}) { ok message } }",
		} {
			if got := ask(query, map[string]any{"i": id, "c": credentials}); got.code() != "invalid_request" {
				t.Errorf("credentials %v: %s", credentials, got.body)
			}
		}
	}
	// The other field keeps its value, and the secret is not lost.
	ask("mutation($i: ID!) { updateConnector(id: $i, input: {credentials: {account: \"other\"}, config: {depth: 2}}) { config } }", one)
	if got := ask("mutation($i: ID!) { testConnector(id: $i) { message } }", one); !strings.Contains(got.body, "[hidden]") {
		t.Errorf("the token was lost: %s", got.body)
	}
	removed := ask("mutation($i: ID!) { updateConnector(id: $i, input: {credentials: {token: null}}) { id } }", one)
	if removed.code() != "invalid_request" || !strings.Contains(removed.body, "credentials.token: required") {
		t.Errorf("without its token: %s", removed.body)
	}
	merged := ask("mutation($i: ID!) { updateConnector(id: $i, input: {config: {depth: null, spaces: [\"a\"]}}) { config } }", one)
	if !strings.Contains(merged.body, `"config":{"address":"a","spaces":["a"]}`) {
		t.Errorf("the config is %s", merged.body)
	}
	ask("query($i: ID!) { connector(id: $i) { id name type status config lastError docSync { syncStrategy } lastJob { id error } documentCounts { failed } } }", one)
	ask("query($i: ID!) { node(id: $i) { id ... on Connector { config lastError } } }", one)
	ask("{ connectors { edges { node { id config lastError } } } }", nil)
	for name, try := range trials(ada) {
		if name != "Mutation.signOut" && !strings.HasPrefix(name, "Mutation.delete") && !strings.HasPrefix(name, "Subscription.") {
			ask(try.query, try.variables)
		}
	}
	if ran < 60 {
		t.Errorf("only %d operations were tried", ran)
	}
}

func TestKindsDescribeForms(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.withWiki(t)
	ada := h.tenant(t, "ada")
	const option = "name title help type format required sensitive multiline default example choices min max group advanced dependsOn { option values }"
	got := h.ask(t, ada.viewer, `{ connectorKinds { name category aliases acceptsFiles enumerates permissions webhooks oauthProvider database documentation apiVersion feeds
		options { `+option+` fields { `+option+` } } credentials { `+option+` } } }`, nil)
	byName := map[string]map[string]any{}
	kinds, _ := got.at("connectorKinds").([]any)
	for _, k := range kinds {
		kind, _ := k.(map[string]any)
		name, _ := kind["name"].(string)
		byName[name] = kind
	}
	names := func(kind, list string) (names []string) {
		options, _ := byName[kind][list].([]any)
		for _, o := range options {
			names = append(names, fmt.Sprint(o.(map[string]any)["name"]))
		}
		return names
	}
	if got, want := fmt.Sprint(names("wiki", "options")), "[address depth spaces filters include_permissions permission_mode deletion_threshold]"; got != want {
		t.Errorf("the wiki has the options %s, not %s", got, want)
	}
	// A kind without permissions has no options for them.
	if got, want := fmt.Sprint(names("s3", "options")), "[bucket region prefix endpoint filters deletion_threshold]"; got != want {
		t.Errorf("s3 has the options %s, not %s", got, want)
	}
	if got, want := fmt.Sprint(names("s3", "credentials")), "[accessKeyId secretAccessKey]"; got != want {
		t.Errorf("s3 has the credentials %s, not %s", got, want)
	}
	for _, part := range []string{
		`"name":"wiki","category":"collaboration","aliases":["pages"],"acceptsFiles":false,"enumerates":true,"permissions":true,"webhooks":true,"oauthProvider":"wiki","database":false,"documentation":"https://example.com/wiki","apiVersion":"v7","feeds":false`,
		`"name":"depth","title":"Depth","help":"Levels.","type":"integer","format":null,"required":false,"sensitive":false,"multiline":false,"default":3,"example":null,"choices":[],"min":1,"max":5,"group":"Range","advanced":true`,
		`"dependsOn":[{"option":"depth","values":[1,2]}]`, `"choices":["strict","permissive"]`, `"name":"createdWithin"`, `"format":"duration"`,
	} {
		if !strings.Contains(got.body, part) {
			t.Errorf("the kinds lack %s", part)
		}
	}
	refused := h.ask(t, ada.viewer, `mutation($c: ID!) { createConnector(input: {name: "x", type: "s3", collection: $c, config: {bucket: "docs", include_permissions: true}}) { id } }`,
		map[string]any{"c": ada.collection})
	if refused.code() != "invalid_request" || !strings.Contains(refused.body, "config.include_permissions") {
		t.Errorf("permissions of a kind that has none: %s", refused.body)
	}
}

func TestAConnectionIsTriedWithinBounds(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	try := func(input string) answer {
		return h.ask(t, ada.viewer, "mutation { testConnection(input: "+input+") { ok message details } }", nil)
	}
	for _, address := range []string{"http://127.0.0.1:9", "http://[::1]:9", "http://169.254.169.254", "http://10.0.0.1"} {
		got := try(`{type: "s3", config: {bucket: "docs", endpoint: "` + address + `"}}`)
		if got.at("testConnection.ok") != false || !strings.Contains(got.body, "ALLOWED_PRIVATE_NETWORKS") {
			t.Errorf("%s: %s", address, got.body)
		}
	}
	for input, field := range map[string]string{
		`{type: "nothing"}`: "type: must be one of",
		`{type: "s3"}`:      "config.bucket: required",
		`{type: "s3", config: {bucket: "docs", buckets: []}}`:                     "config.buckets: unknown field",
		`{type: "s3", config: {bucket: "docs"}, credentials: {accessKeyId: "a"}}`: "credentials.secretAccessKey: required",
	} {
		if got := try(input); got.code() != "invalid_request" || !strings.Contains(got.body, field) {
			t.Errorf("%s: %s", input, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, "mutation { testConnection(input: {}) { ok } }", nil); got.code() != "invalid_request" || !strings.Contains(got.body, "type") {
		t.Errorf("without a type: %s", got.body)
	}
}

func TestDeletedRowsAreHiddenAtOnceAndPurgedLater(t *testing.T) {
	t.Parallel()
	for name, mutation := range map[string]string{"connector": "deleteConnector", "collection": "deleteCollection"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t)
			ada, bob := h.tenant(t, "ada"), h.tenant(t, "bob")
			find := func() answer {
				return h.ask(t, ada.viewer, `{ search(input: {query: "xylophone", minScore: 0}) { total results { title } } }`, nil)
			}
			if got := find(); !strings.Contains(got.body, "Guide of ada") {
				t.Fatal(got.body)
			}
			id := ada.connector
			if name == "collection" {
				id = ada.collection
			}
			if got := h.ask(t, ada.viewer, "mutation($i: ID!) { "+mutation+"(id: $i) }", map[string]any{"i": id}); got.code() != "" {
				t.Fatal(got.body)
			}
			for query, i := range map[string]uuid.UUID{
				"connector(id: $i) { id }": ada.connector, "document(id: $i) { id }": ada.document, "syncJob(id: $i) { id }": ada.job,
				"node(id: $i) { id }": ada.document, "syncItems(connectorId: $i) { totalCount }": ada.connector, "sourceFiles(connectorId: $i) { totalCount }": ada.connector,
			} {
				if got := h.ask(t, ada.viewer, "query($i: ID!) { "+query+" }", map[string]any{"i": i}); got.code() != "not_found" {
					t.Errorf("%s: %s", query, got.body)
				}
			}
			got := h.ask(t, ada.viewer, "{ documents { totalCount } connectors { totalCount } collections { totalCount edges { node { connectorIds stats { documentCount embeddingCount storageBytes lastSync } } } } }", nil)
			want := `"documents":{"totalCount":0},"connectors":{"totalCount":0},"collections":{"totalCount":1,"edges":[{"node":{"connectorIds":[],"stats":{"documentCount":0,"embeddingCount":0,"storageBytes":0,"lastSync":null}}}]}`
			if name == "collection" {
				want = `"documents":{"totalCount":0},"connectors":{"totalCount":0},"collections":{"totalCount":0,"edges":[]}`
			}
			if !strings.Contains(got.body, want) {
				t.Errorf("what is left is %s", got.body)
			}
			if got := find(); got.code() != "" || strings.Contains(got.body, "Guide of ada") {
				t.Errorf("it is still found: %s", got.body)
			}
			again := h.ask(t, ada.viewer, "mutation($i: ID!) { "+mutation+"(id: $i) }", map[string]any{"i": id})
			if again.code() != "not_found" {
				t.Errorf("deleted again: %s", again.body)
			}

			engine := purge.New(h.resolver.Index, h.files, purge.Options{Slice: 1})
			pending, err := engine.Pending(t.Context())
			if err != nil || len(pending) != 1 || pending[0] != (queue.Purge{Workspace: ada.viewer.Workspace, Connector: ada.connector}) {
				t.Fatalf("to delete are %v, %v", pending, err)
			}
			// The task of another connector deletes nothing of it.
			if err := engine.Purge(t.Context(), queue.Purge{Workspace: bob.viewer.Workspace, Connector: bob.connector}); err != nil {
				t.Fatal(err)
			}
			if err := engine.Purge(t.Context(), pending[0]); err != nil {
				t.Fatal(err)
			}
			left := map[string]int{}
			for _, table := range []string{"connectors", "documents", "sync_jobs", "sync_items", "source_files"} {
				var n int
				if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from "+table).Scan(&n); err != nil {
					t.Fatal(err)
				}
				bobs := map[string]int{"sync_jobs": 2}[table] // a sync and a plan
				if left[table] = n; n != max(bobs, 1) {
					t.Errorf("%d rows are left in %s", n, table)
				}
			}
			var collections int
			if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from collections").Scan(&collections); err != nil || name == "collection" && collections != 1 {
				t.Errorf("%d collections are left, %v", collections, err)
			}
			if pending, err := engine.Pending(t.Context()); err != nil || len(pending) != 0 {
				t.Errorf("to delete are still %v, %v", pending, err)
			}
		})
	}
}

func TestOnlyOneJobOfAConnectorRuns(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada") // with an open sync
	ask := func(query string, i uuid.UUID) answer {
		return h.ask(t, ada.viewer, "mutation($i: ID!) { "+query+" }", map[string]any{"i": i})
	}
	const refresh, retry, start = "refreshPermissions(connectorId: $i) { id mode status }", "retryItems(connectorId: $i) { id mode cause fileFilter }", "startSync(connectorId: $i) { id mode }"
	if got := ask(refresh, ada.connector); got.code() != "conflict" {
		t.Errorf("a refresh during a sync: %s", got.body)
	}
	if got := ask("cancelSync(jobId: $i, connectorId: \""+ada.collection.String()+"\") { status }", ada.job); got.code() != "not_found" {
		t.Errorf("canceled by another's address: %s", got.body)
	}
	if got := ask("cancelSync(jobId: $i, connectorId: \""+ada.connector.String()+"\") { status }", ada.job); got.at("cancelSync.status") != "CANCELED" {
		t.Fatal(got.body)
	}
	if got := ask(retry, ada.connector); got.code() != "conflict" || !strings.Contains(got.body, "nothing to retry") {
		t.Errorf("a retry of nothing: %s", got.body)
	}
	first := ask(refresh, ada.connector)
	if first.at("refreshPermissions.mode") != "PERMISSIONS" || ask(refresh, ada.connector).at("refreshPermissions.id") != first.at("refreshPermissions.id") {
		t.Errorf("the refresh is %s", first.body)
	}
	if got := ask(start, ada.connector); got.code() != "conflict" {
		t.Errorf("a sync during a refresh: %s", got.body)
	}
	id, _ := first.at("refreshPermissions.id").(string)
	ask("cancelSync(jobId: $i) { status }", uuid.MustParse(id))

	ctx := viewer.With(t.Context(), ada.viewer)
	if err := h.db.Ent.SyncItem.UpdateOneID(ada.item).SetStatus("FAILED").Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if got := h.ask(t, ada.viewer, "mutation($c: ID!, $i: [ID!]) { retryItems(connectorId: $c, ids: $i) { id } }",
		map[string]any{"c": ada.connector, "i": []any{ada.item, uuid.New()}}); got.code() != "not_found" {
		t.Errorf("a retry of what does not exist: %s", got.body)
	}
	got := ask(retry, ada.connector)
	if got.at("retryItems.mode") != "INCREMENTAL" || got.at("retryItems.cause") != "RETRY" || !strings.Contains(got.body, `"fileFilter":["guide.md of ada"]`) {
		t.Errorf("the retry is %s", got.body)
	}
	if again := ask(retry, ada.connector); again.code() != "conflict" {
		t.Errorf("a second retry: %s", again.body)
	}
	if got := h.ask(t, ada.viewer, "query($i: ID!) { connector(id: $i) { lastJob { cause status } documentCounts { indexed failed } } }", map[string]any{"i": ada.connector}); !strings.Contains(got.body, `"lastJob":{"cause":"RETRY","status":"QUEUED"},"documentCounts":{"indexed":1,"failed":0}`) {
		t.Errorf("the connector is %s", got.body)
	}
}

func TestAFailedDocumentSaysWhy(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	scope, err := viewer.System(ada.viewer.Workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.resolver.Index.Fail(t.Context(), scope, index.Fence{}, &index.Record{Connector: ada.connector, Collection: ada.collection, SourceID: "b.json", Path: "b.json"}, "invalid JSON")
	if err != nil {
		t.Fatal(err)
	}
	got := h.ask(t, ada.viewer, "query($i: ID!) { document(id: $i) { title status failure content summary passageCount indexedAt } }", map[string]any{"i": id})
	if want := `{"title":"b.json","status":"FAILED","failure":"invalid JSON","content":"","summary":"","passageCount":0,"indexedAt":null}`; !strings.Contains(got.body, want) {
		t.Errorf("the document is %s", got.body)
	}
	list := func(arguments string) string {
		return h.ask(t, ada.viewer, "{ documents("+arguments+") { edges { node { title } } } }", nil).body
	}
	if body := list("status: [FAILED]"); !strings.Contains(body, `[{"node":{"title":"b.json"}}]`) {
		t.Errorf("the failed ones are %s", body)
	}
	if body := list("orderBy: [{field: TITLE, direction: DESC}]"); strings.Index(body, "b.json") > strings.Index(body, "Guide of ada") {
		t.Errorf("by title, descending: %s", body)
	}
	if body := list("matching: \" GUIDE.\""); !strings.Contains(body, "Guide of ada") || strings.Contains(body, "b.json") {
		t.Errorf("matching guide.: %s", body)
	}
	if body := list("matching: \"%\""); strings.Contains(body, "title") {
		t.Errorf("a percent sign stands for itself: %s", body)
	}
	stats := h.ask(t, ada.viewer, "query($i: ID!) { collection(id: $i) { stats { documentCount } } }", map[string]any{"i": ada.collection})
	if stats.at("collection.stats.documentCount") != 1.0 {
		t.Errorf("a failed document is counted: %s", stats.body)
	}
	if n, err := h.resolver.Index.Forget(t.Context(), scope, []uuid.UUID{id, ada.document}); n != 1 || err != nil {
		t.Errorf("%d were forgotten, %v", n, err)
	}
	if got := h.ask(t, ada.viewer, "query($i: ID!) { document(id: $i) { id } }", map[string]any{"i": id}); got.code() != "not_found" {
		t.Errorf("it is still there: %s", got.body)
	}
}

func TestAConnectorDescribesItsWebhook(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, other := h.tenant(t, "ada"), h.tenant(t, "other")
	h.withWiki(t)
	const query = "query($i: ID!) { connector(id: $i) { webhook { url ready lastDelivery waiting subscription { active error } } } }"
	if got := h.ask(t, ada.viewer, query, map[string]any{"i": ada.connector}); !strings.Contains(got.body, `"webhook":null`) {
		t.Errorf("uploads: %s", got.body)
	}
	made := h.ask(t, ada.viewer, `mutation($c: ID!) { createConnector(input: {name: "w", type: "wiki", collection: $c, config: {address: "a"}, credentials: {token: "t"}}) { id } }`, map[string]any{"c": ada.collection})
	id, _ := made.at("createConnector.id").(string)
	want := `"webhook":{"url":"https://magpie.example.com/webhooks/connectors/wiki/` + id + `","ready":true,"lastDelivery":null,"waiting":0,"subscription":null}`
	if got := h.ask(t, ada.viewer, query, map[string]any{"i": id}); !strings.Contains(got.body, want) {
		t.Errorf("a wiki: %s", got.body)
	}
	if got := h.ask(t, other.viewer, query, map[string]any{"i": id}); got.code() != "not_found" {
		t.Errorf("a stranger: %s", got.body)
	}
}

func TestAConnectionTestShowsTiers(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.withWiki(t)
	ada := h.tenant(t, "ada")
	got := h.ask(t, ada.viewer, `mutation { testConnection(input: {type: "wiki", config: {address: "https://wiki.example.com"}, credentials: {token: "t0ken-of-ada"}}) {
		ok tiers { name ok message } } }`, nil)
	const want = `"tiers":[{"name":"read","ok":true,"message":null},{"name":"webhooks","ok":false,"message":"401 for Authorization: Bearer [hidden]"}]`
	if !strings.Contains(got.body, want) || strings.Contains(got.body, "t0ken") {
		t.Errorf("the test shows %s, want %s", got.body, want)
	}
}
