package graph_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A dossier is a document that one person may read. Each of its texts contains the word
// vermilion, which no question contains.
type dossier struct {
	*tenant
	h                *fixture
	t                *testing.T
	scope            viewer.Scope
	document, item   uuid.UUID
	reader, stranger viewer.Viewer
}

const marker = "ermilion"

func newDossier(t *testing.T) *dossier {
	t.Helper()
	h := newFixture(t)
	d := &dossier{h: h, t: t, tenant: h.tenant(t, "ada")}
	system := viewer.With(t.Context(), viewer.System(d.viewer.Workspace))
	var err error
	d.scope, err = viewer.System(d.viewer.Workspace).Scope()
	d.must(err)
	d.must(h.db.Ent.Connector.UpdateOneID(d.connector).SetConfig(map[string]any{"include_permissions": true}).Exec(system))
	d.store("group:readers")
	d.groups(principal.Group{Principal: "group:readers", Name: "Readers", Members: []string{"group:team"}},
		principal.Group{Principal: "group:team", Name: "Team", Members: []string{"user:Reader@example.com", "group:readers"}})
	item, err := h.db.Ent.SyncItem.Create().SetConnectorID(d.connector).SetJobID(d.job).SetSourceID("vermilion.md").SetPath("vermilion.md").
		SetDocumentID(d.document).SetStatus(syncitem.StatusIndexed).SetHold(syncitem.HoldQuarantined).Save(system)
	d.must(err)
	d.must(h.db.Ent.PlanItem.Create().SetConnectorID(d.connector).SetJobID(d.plan).SetSourceID("vermilion.md").SetPath("vermilion.md").
		SetDocumentID(d.document).SetAction("MODIFY").Exec(system))
	d.item = item.ID
	d.reader, d.stranger = d.person("reader@example.com", true), d.person("stranger@example.com", true)
	return d
}

func (d *dossier) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// person adds an editor, whose address is verified or not.
func (d *dossier) person(mail string, verified bool) viewer.Viewer {
	d.t.Helper()
	v := d.h.member(d.t, d.tenant, mail, membership.RoleEditor)
	v.Verified = verified
	return v
}

// store stores the document with these readers.
func (d *dossier) store(readers ...string) {
	d.t.Helper()
	const title, text = "Vermilion dossier", "The quokka lives on the island of vermilion, where it eats grass."
	models := d.h.models.Default()
	vectors, err := models.Embed(d.t.Context(), []string{title + "\n" + text}, embed.Passage)
	d.must(err)
	made, err := d.h.resolver.Index.Put(d.t.Context(), d.scope, index.Fence{}, &index.Record{
		Connector: d.connector, Collection: d.collection, SourceID: "vermilion.md", Path: "vermilion.md", Title: title, Text: text, Section: "vermilion",
		Tags: []string{"vermilion"}, Summary: "All of vermilion.", Language: "en", Hash: []byte("v"), Passages: []passage.Passage{{Text: text, End: len(text)}},
		Vectors: vectors, Model: models.Model(), Readers: principal.Qualify(d.connector, readers), ReadersAt: time.Now(),
	})
	d.must(err)
	d.document = made.Document
	d.passage = d.h.passageOf(d.t, d.tenant, d.document)
}

// groups sets the groups of the source.
func (d *dossier) groups(groups ...principal.Group) {
	d.t.Helper()
	r, err := d.h.resolver.Principals.Begin(d.t.Context(), d.scope, d.connector)
	d.must(err)
	d.must(r.Add(d.t.Context(), groups))
	d.must(r.Commit(d.t.Context()))
}

// A sight is a way to see documents. The reader sees the dossier in it. Other people see
// no trace of it.
type sight struct {
	query     string
	variables map[string]any
	// code is the error of other people; empty if they get an answer without the dossier.
	code string
}

// sights returns an entry for each root field that may show a document.
func (d *dossier) sights() map[string]sight {
	id := func(v uuid.UUID) map[string]any { return map[string]any{"i": v} }
	const shown = "{ id title path section url content summary metadata: allMetadata restricted passages(first: 5) { edges { node { text } } } history(first: 5) { kind } }"
	const listed = "{ edges { node " + shown + " } totalCount }"
	const inside = "{ edges { node { id title path section tags metadata: allMetadata } } totalCount }"
	const items = "{ edges { node { path sourceId documentId } } totalCount }"
	return map[string]sight{
		"Query.node":                 {query: "query($i: ID!) { node(id: $i) { id ... on Document " + shown + " } }", variables: id(d.document), code: "not_found"},
		"Query.nodes":                {query: "query($i: [ID!]!) { nodes(ids: $i) { id ... on Document " + shown + " } }", variables: map[string]any{"i": []any{d.document, d.collection}}, code: "not_found"},
		"Query.document":             {query: "query($i: ID!) { document(id: $i) " + shown + " }", variables: id(d.document), code: "not_found"},
		"Query.passage":              {query: "query($i: ID!) { passage(id: $i, around: 2) { passage { text } before { text } document " + shown + " } }", variables: id(d.passage), code: "not_found"},
		"Query.documents":            {query: "query($i: ID!) { documents(connectorId: $i, first: 20) " + listed + " }", variables: id(d.connector)},
		"Query.collection":           {query: "query($i: ID!) { collection(id: $i) { documents(first: 20) " + inside + " } }", variables: id(d.collection)},
		"Query.collections":          {query: "{ collections(first: 5) { edges { node { documents(first: 20) " + inside + " } } } }"},
		"Query.connector":            {query: "query($i: ID!) { connector(id: $i) { documents(first: 20) " + inside + " items(first: 20) " + items + " } }", variables: id(d.connector)},
		"Query.connectors":           {query: "{ connectors(first: 5) { edges { node { documents(first: 20) " + inside + " items(first: 20) " + items + " } } } }"},
		"Query.syncItems":            {query: "query($i: ID!) { syncItems(connectorId: $i, first: 20) " + items + " }", variables: id(d.connector)},
		"Query.syncPlan":             {query: "query($i: ID!) { syncPlan(jobId: $i) { items(first: 20) { edges { node { path sourceId documentId } } totalCount } } }", variables: id(d.plan)},
		"Query.quarantinedDocuments": {query: "query($i: ID!) { quarantinedDocuments(connectorId: $i, first: 20) " + listed + " }", variables: id(d.connector)},
		"Query.search": {query: `query($i: ID!) { search(input: {query: "quokka grass", collection: $i, minScore: 0, facets: {fields: [SECTION, TAGS]}}) {
			results { title snippet url section tags metadata } total facets { values { value } } } }`, variables: id(d.collection)},
		"Query.searchWhyNot": {query: `query($i: String!) { searchWhyNot(input: {query: "quokka grass", document: $i, minScore: 0}) { title reason explanation itemReason
			bestPassage { words { text } secondPass { terms { term } } } } }`, variables: id(d.document)},
		"Query.searchFacets":      {query: `{ searchFacets(input: {}) { documents values { value label } } }`},
		"Query.completions":       {query: `{ completions(q: "dos") { completions titles { title url } } }`},
		"Query.searchSuggestions": {query: `{ searchSuggestions(prefix: "dos") { text } }`},
		"Subscription.chat":       {query: `subscription { chat(input: {message: "Where does the quokka live?"}) { __typename ... on ChatContent { delta } ... on ChatSources { sources { title url } } } }`},
		"Subscription.runAgent": {query: `subscription($i: ID!) { runAgent(input: {agentId: $i, message: "Where does the quokka live?"}) { __typename ... on AgentContent { content } } }`,
			variables: id(d.agent)},
		"Mutation.allowItem": {query: "mutation($i: ID!, $c: ID!) { allowItem(id: $i, connectorId: $c) { path } }", variables: map[string]any{"i": d.item, "c": d.connector}, code: "not_found"},
	}
}

// withoutDocuments returns the root fields that show no document that the caller may not
// read, with the reason.
func withoutDocuments() map[string]string {
	const own, no, admin, job = "shows the caller's own conversations", "has no documents", "is for administrators, and holds no text", "shows counts"
	out := map[string]string{
		"Query.conversation": own, "Query.conversations": own, "Query.exportConversation": own, "Query.run": own, "Query.runs": own,
		"Subscription.chatResume": own, "Subscription.agentRun": own, "Query.auditLog": admin, "Query.whyVisible": admin, "Query.documentReaders": admin, "Query.documentRestrictions": admin, "Query.queryAnalytics": "shows what was asked",
		"Query.searchQuality": "shows what was asked", "Query.searchQualityDocuments": "has a test of its own, since it needs traffic",
		"Query.goldenQuestions": "has a test of its own, since somebody must have named documents",
		"Query.syncJob":         job, "Query.syncJobs": job, "Subscription.syncProgress": job, "Subscription.connectorSync": job, "Query.sourceFiles": "has a test of its own, since the dossier is no upload",
		"Query.approval": own, "Query.approvals": own, "Subscription.approvalChanged": own,
		"Query.agentMemory": own, "Query.agentMemories": own, "Query.searchAgentMemories": own,
		"Subscription.documentStatus": "has a test of its own, since it does not end",
		"Mutation.deleteDocument":     "has a test of its own, since it ends what there is to see",
		"Mutation.retryItems":         "has a test of its own, since it can be done once",
	}
	for _, name := range strings.Fields(`myTokens tokens agent agentTemplate agentTemplates agentTools agents apiKey apiKeys approvalSettings automation automationRun automationRuns automationTemplates automations chatModels embeddingModels limits connectorKinds databaseSchema databaseTable databaseTables databases inboundEvents inboundIntegration inboundIntegrations inboundProviders invitation invitationOfToken
		invitations me member members mySessions myWorkspaces oauthGrants oauthProviders queryDatabase signInMethods signUpAllowed directoryGroups sourceGroup sourceGroups system toolGrants toolIntegration toolIntegrations toolProviders usage`) {
		out["Query."+name] = no
	}
	return out
}

// fieldsOf lists the fields of the schema's roots by name.
func fieldsOf(roots ...*ast.Definition) []string {
	var out []string
	for _, root := range roots {
		for _, f := range root.Fields {
			if !strings.HasPrefix(f.Name, "__") {
				out = append(out, root.Name+"."+f.Name)
			}
		}
	}
	return out
}

// documentTypes returns the types that may contain a document.
func documentTypes(schema *ast.Schema) map[string]bool {
	types := map[string]bool{"Document": true, "SyncItem": true, "SearchResult": true, "Passage": true, "Node": true}
	for grown := true; grown; {
		grown = false
		for name, def := range schema.Types {
			if types[name] || def.Kind != ast.Object || name == "Query" || name == "Mutation" || name == "Subscription" {
				continue
			}
			if slices.ContainsFunc(def.Fields, func(f *ast.FieldDefinition) bool { return types[f.Type.Name()] }) {
				types[name], grown = true, true
			}
		}
	}
	return types
}

func TestEveryWayToADocumentIsTried(t *testing.T) {
	t.Parallel()
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	d := &dossier{tenant: &tenant{}}
	sights, unseeing := d.sights(), withoutDocuments()
	fields := fieldsOf(schema.Query, schema.Subscription)
	for _, f := range schema.Mutation.Fields {
		if documentTypes(schema)[f.Type.Name()] || sights["Mutation."+f.Name].query != "" || unseeing["Mutation."+f.Name] != "" {
			fields = append(fields, "Mutation."+f.Name)
		}
	}
	for _, name := range fields {
		_, seen := sights[name]
		_, not := unseeing[name]
		// Mutations of a connector or collection return the rows that their queries return.
		if !seen && !not && !strings.HasPrefix(name, "Mutation.") {
			t.Errorf("%s: may it show documents? Give it an entry in sights or withoutDocuments (graph/reader_test.go)", name)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(sights)), slices.Collect(maps.Keys(unseeing))...) {
		if !slices.Contains(fields, name) {
			t.Errorf("%s is no root field any more (graph/reader_test.go)", name)
		}
	}
	// Nested rows come from these edges only.
	for name, def := range schema.Types {
		if def.Kind != ast.Object || name == "Query" || name == "Mutation" || name == "Subscription" {
			continue
		}
		for _, f := range def.Fields {
			edge := name + "." + f.Name
			if to := f.Type.Name(); (to == "Document" || to == "DocumentConnection" || to == "SyncItem" || to == "SyncItemConnection") &&
				!slices.Contains([]string{"Collection.documents", "Connector.documents", "Connector.items", "DocumentEdge.node", "SyncItemEdge.node", "PassageInContext.document"}, edge) {
				t.Errorf("%s leads to documents; is it tried (graph/reader_test.go)?", edge)
			}
		}
	}
}

// check checks that every sight shows v the dossier if finds is true, and hides it if not.
func (d *dossier) check(who string, v viewer.Viewer, finds bool) {
	d.t.Helper()
	for name, s := range d.sights() {
		got := d.h.ask(d.t, v, s.query, s.variables)
		switch seen := strings.Contains(got.body, marker); {
		case seen != finds:
			d.t.Errorf("%s finds the dossier by %s: %v\n%s", who, name, seen, got.body)
		case finds && got.code() != "":
			d.t.Errorf("%s is refused by %s: %s", who, name, got.body)
		case !finds && got.code() != s.code:
			d.t.Errorf("%s gets %q from %s, want %q: %s", who, got.code(), name, s.code, got.body)
		}
	}
}

func TestADocumentIsFoundByItsReadersOnly(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	d.check("the reader", d.reader, true)
	d.check("a stranger", d.stranger, false)
	d.check("the owner of the workspace, whose address nobody vouches for", d.viewer, false)
	unverified := d.reader
	unverified.Verified = false
	d.check("a person with an unverified address", unverified, false)

	// A missing document and a hidden one have the same answer.
	missing := d.h.ask(t, d.stranger, "query($i: ID!) { document(id: $i) { title } }", map[string]any{"i": strings.Replace(d.document.String(), d.document.String()[:6], "0192a4", 1)})
	hidden := d.h.ask(t, d.stranger, "query($i: ID!) { document(id: $i) { title } }", map[string]any{"i": d.document})
	if missing.body != hidden.body {
		t.Errorf("a missing document: %s\none that may not be read: %s", missing.body, hidden.body)
	}
	// Editors of the connector see the counts.
	counts := d.h.ask(t, d.stranger, "query($i: ID!) { connector(id: $i) { documentCounts { indexed } documents(first: 5) { totalCount } } }", map[string]any{"i": d.connector})
	if counts.at("connector.documentCounts.indexed") != 2.0 || counts.at("connector.documents.totalCount") != 1.0 {
		t.Errorf("counts: %s", counts.body)
	}
	for _, mutation := range []string{"mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }", "mutation($j: ID!, $c: ID!) { retryItems(connectorId: $c, ids: [$j]) { fileFilter } }"} {
		if got := d.h.ask(t, d.stranger, mutation, map[string]any{"i": d.document, "j": d.item, "c": d.connector}); got.code() != "not_found" {
			t.Errorf("%s: %s", mutation, got.body)
		}
	}
}

func TestHiddenDocumentsAreCounted(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	count := func(v viewer.Viewer, want float64) {
		t.Helper()
		got := d.h.ask(t, v, "query($i: ID!) { connector(id: $i) { hiddenDocuments } }", map[string]any{"i": d.connector})
		if got.at("connector.hiddenDocuments") != want {
			t.Errorf("want %v hidden documents: %s", want, got.body)
		}
	}
	count(d.stranger, 0)
	changes := []index.DocumentReaders{{Document: d.document, Readers: []string{}, Unsaid: true}}
	if _, err := d.h.resolver.Index.SetReaders(t.Context(), d.scope, index.Fence{}, changes); err != nil {
		t.Fatal(err)
	}
	count(d.stranger, 1)
	system := viewer.With(t.Context(), viewer.System(d.viewer.Workspace))
	d.must(d.h.db.Ent.Connector.UpdateOneID(d.connector).SetClosed(true).Exec(system))
	count(d.viewer, 2)
}

func TestADomainFindsItsDocuments(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	d.store("domain:Example.com")
	d.check("a person with an address there", d.reader, true)
	upper := d.reader
	upper.Email = "READER@EXAMPLE.COM"
	d.check("a person with an address in upper case", upper, true)
	unverified := d.reader
	unverified.Verified = false
	d.check("a person with an unverified address", unverified, false)
	for _, mail := range []string{"reader@sub.example.com", "reader@notexample.com", "reader@example.com.evil.org", "example.com@evil.org"} {
		d.check(mail, d.person(mail, true), false)
	}
	other := d.h.tenant(t, "bob")
	stranger := d.h.member(t, other, "reader2@example.com", membership.RoleEditor)
	stranger.Verified = true
	if got := d.h.ask(t, stranger, `{ search(input: {query: "quokka grass", minScore: 0}) { results { title snippet } } }`, nil); strings.Contains(got.body, marker) || got.code() != "" {
		t.Errorf("another workspace with the same domain: %s", got.body)
	}
	d.store("group:readers")
	d.groups(principal.Group{Principal: "group:readers", Name: "Readers", Members: []string{"domain:example.com"}})
	d.check("a member of a group of a domain", d.reader, true)
	d.check("a person of another domain", d.person("reader@other.com", true), false)
}

func TestPermissionsFollowTheSource(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	const search = `{ search(input: {query: "quokka", minScore: 0}) { results { title } } searchFacets(input: {}) { values { value } } documents(first: 9) { edges { node { title } } } }`
	finds := func(what string, v viewer.Viewer, want bool) {
		t.Helper()
		if got := d.h.ask(t, v, search, nil); strings.Contains(got.body, marker) != want || got.code() != "" {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	team := func(members ...string) principal.Group {
		return principal.Group{Principal: "group:team", Name: "Team", Members: members}
	}
	readers := principal.Group{Principal: "group:readers", Name: "Readers", Members: []string{"group:team"}}
	finds("a member of a nested group", d.reader, true)
	d.groups(readers, team("user:stranger@example.com"))
	finds("whose membership was revoked", d.reader, false)
	finds("a new member", d.stranger, true)
	d.groups(readers)
	finds("a member of a group that is gone", d.stranger, false)
	d.groups(readers, team("user:reader@example.com"))
	finds("a member again", d.reader, true)
	// If the directory fails, the groups stay valid for a day.
	failing, err := d.h.resolver.Principals.Begin(t.Context(), d.scope, d.connector)
	d.must(err)
	d.must(failing.Fail(t.Context(), "the directory is away", 0))
	finds("while the directory is away", d.reader, true)
	warned := d.h.ask(t, d.viewer, "query($i: ID!) { connector(id: $i) { permissions { mode warning } } }", map[string]any{"i": d.connector})
	if strings.Contains(warned.body, "away") { // uploads have no permissions
		t.Errorf("a kind without permissions: %s", warned.body)
	}
	_, err = d.h.db.Pool.Exec(t.Context(), "update connectors set groups_at = now() - interval '25 hours' where id = $1", d.connector)
	d.must(err)
	finds("after a day without the directory", d.reader, false)
	d.groups(readers, team("user:reader@example.com"))
	finds("with it again", d.reader, true)
	set := func(list []string) {
		t.Helper()
		_, err := d.h.resolver.Index.SetReaders(t.Context(), d.scope, index.Fence{}, []index.DocumentReaders{{Document: d.document, Readers: list}})
		d.must(err)
	}
	set([]string{"user:stranger@example.com"})
	finds("who is no reader any more", d.reader, false)
	finds("who is one now", d.stranger, true)
	set([]string{})
	finds("of nobody's document", d.stranger, false)
	set(nil)
	finds("of everybody's document", d.stranger, true)
	finds("of everybody's document, unverified", d.viewer, true)
	// A strict connector shows nothing until the readers are known.
	_, err = d.h.db.Pool.Exec(t.Context(), "update connectors set closed = true where id = $1", d.connector)
	d.must(err)
	finds("of a closed connector", d.stranger, false)
	for _, s := range []string{"Query.search", "Query.document", "Query.node", "Query.searchFacets", "Query.syncItems"} {
		if got := d.h.ask(t, d.reader, d.sights()[s].query, d.sights()[s].variables); strings.Contains(got.body, marker) {
			t.Errorf("%s of a closed connector: %s", s, got.body)
		}
	}
}

func TestKeysFindTheDocumentsOfTheirEndUser(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	key := viewer.Viewer{
		Workspace: d.viewer.Workspace, Subject: d.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, Collections: []uuid.UUID{d.collection}, Secret: true,
	}
	chat := func(v viewer.Viewer, conversation any) answer {
		t.Helper()
		return d.h.ask(t, v, `subscription($c: ID) { chat(input: {message: "Where does the quokka live?", conversationId: $c}) {
			__typename ... on ChatStart { conversationId } ... on ChatContent { delta } } }`, map[string]any{"c": conversation})
	}
	named, other, publishable := key, key, key
	named.EndUser, other.EndUser = "reader@example.com", "stranger@example.com"
	publishable.Secret, publishable.EndUser = false, "reader@example.com"
	for who, try := range map[string]struct {
		v     viewer.Viewer
		finds bool
	}{"the reader": {named, true}, "a stranger": {other, false}, "nobody": {key, false}, "the reader by a publishable key": {publishable, false}} {
		found := d.h.ask(t, try.v, `{ search(input: {query: "quokka grass", minScore: 0}) { results { title snippet } } }`, nil)
		if strings.Contains(found.body, marker) != try.finds || found.code() != "" {
			t.Errorf("%s searches: %s", who, found.body)
		}
		if said := chat(try.v, nil); strings.Contains(said.body, marker) != try.finds {
			t.Errorf("%s chats: %s", who, said.body)
		}
	}
	// Only the end user of a conversation can continue it.
	first := chat(named, nil)
	_, rest, _ := strings.Cut(first.body, `"conversationId":"`)
	talk, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("no conversation: %s", first.body)
	}
	for who, v := range map[string]viewer.Viewer{"a stranger": other, "nobody": key} {
		if got := chat(v, talk); got.code() != "not_found" {
			t.Errorf("%s continues the reader's conversation: %s", who, got.body)
		}
	}
	if got := chat(named, talk); got.code() != "" {
		t.Errorf("the reader continues: %s", got.body)
	}
}

func TestNewsOfADocumentReachItsReadersOnly(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	last := d.h.put(t, d.tenant, "last.md", "The last one", "Nothing.")
	for who, try := range map[string]struct {
		v     viewer.Viewer
		finds bool
	}{"the reader": {d.reader, true}, "a stranger": {d.stranger, false}} {
		ctx, cancel := context.WithTimeout(viewer.WithPrincipals(viewer.With(t.Context(), try.v), d.h.resolver.Principals), time.Minute)
		scope, err := viewer.ScopeOf(ctx)
		d.must(err)
		events, err := docwatch.Watch(ctx, d.h.resolver.News, scope, docwatch.Filter{Collection: d.collection}, &docwatch.Cursor{Collection: d.collection},
			func(e docwatch.Event) docwatch.Event { return e })
		d.must(err)
		found, counted, ended := false, int64(0), false
		for e := range events {
			if e.Counts != nil {
				counted = e.Counts.Indexed
			}
			for _, c := range e.Documents {
				found = found || strings.Contains(c.Title+c.Path, marker) || c.Document == d.document
				ended = ended || c.Document == last
			}
			if ended {
				break
			}
		}
		cancel()
		if !ended || found != try.finds || counted != 3 {
			t.Errorf("%s receives the dossier: %v; of %d documents; of the last: %v", who, found, counted, ended)
		}
	}
}

func TestPathsOfAJobAreForAdministratorsAndOpenConnectors(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	system := viewer.With(t.Context(), viewer.System(d.viewer.Workspace))
	d.must(d.h.db.Ent.SyncJob.Update().SetStatus("COMPLETED").Exec(system))
	job, err := d.h.db.Ent.SyncJob.Create().SetConnectorID(d.connector).SetFileFilter([]string{"vermilion.md"}).SetStatus("COMPLETED").Save(system)
	d.must(err)
	const query = "query($i: ID!) { syncJob(id: $i) { id fileFilter } }"
	ask := func(v viewer.Viewer) bool {
		t.Helper()
		return strings.Contains(d.h.ask(t, v, query, map[string]any{"i": job.ID}).body, marker)
	}
	if ask(d.stranger) || !ask(d.viewer) {
		t.Errorf("an editor sees the path: %v; an owner: %v", ask(d.stranger), ask(d.viewer))
	}
	d.must(d.h.db.Ent.Connector.UpdateOneID(d.connector).SetConfig(map[string]any{}).Exec(system))
	if !ask(d.stranger) {
		t.Error("the path of an open connector is hidden")
	}
	d.restrict(map[string]any{"users": []string{"reader@example.com"}})
	if ask(d.stranger) || !ask(d.viewer) {
		t.Errorf("with a restricted document, an editor sees the path: %v; an owner: %v", ask(d.stranger), ask(d.viewer))
	}
}

func TestWhyIsForAdministrators(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	const query = "query($i: ID!, $u: String!) { whyVisible(documentId: $i, user: $u) { visible rule user explanation groups { id name } readersReadAt groupsReadAt } }"
	why := func(v viewer.Viewer, user string) answer {
		t.Helper()
		got := d.h.ask(t, v, query, map[string]any{"i": d.document, "u": user})
		if strings.Contains(got.body, marker) {
			t.Errorf("it shows the text: %s", got.body)
		}
		return got
	}
	if got := why(d.viewer, " Reader@Example.com"); got.at("whyVisible.rule") != "MEMBER" || got.at("whyVisible.visible") != true || got.at("whyVisible.user") != "reader@example.com" ||
		!strings.Contains(got.body, `"groups":[{"id":"team","name":"Team"},{"id":"readers","name":"Readers"}]`) || got.at("whyVisible.readersReadAt") == nil || got.at("whyVisible.groupsReadAt") == nil {
		t.Errorf("why: %s", got.body)
	}
	if got := why(d.viewer, "stranger@example.com"); got.at("whyVisible.rule") != "NOT_LISTED" || got.at("whyVisible.visible") != false {
		t.Errorf("why not: %s", got.body)
	}
	if got := why(d.viewer, "nobody"); got.code() != "invalid_request" {
		t.Errorf("no address: %s", got.body)
	}
	if got := why(d.reader, "reader@example.com"); got.code() != "forbidden" {
		t.Errorf("an editor asks: %s", got.body)
	}
}
