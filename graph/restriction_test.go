package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	restrict   = "mutation($i: ID!, $r: RestrictDocumentInput!) { restrictDocument(id: $i, input: $r) { mode everyone readerCount readers { kind id } restriction { documentId connectorId restrictedBy readers { kind id name members } } } }"
	unrestrict = "mutation($i: ID!) { unrestrictDocument(id: $i) { restriction { documentId } } }"
)

// newOpenDossier returns a dossier of a connector without permissions.
func newOpenDossier(t *testing.T) *dossier {
	t.Helper()
	d := newDossier(t)
	d.open()
	return d
}

// open stores the dossier for everybody.
func (d *dossier) open() {
	d.t.Helper()
	system := viewer.With(d.t.Context(), viewer.System(d.viewer.Workspace))
	d.must(d.h.db.Ent.Connector.UpdateOneID(d.connector).SetConfig(map[string]any{}).Exec(system))
	d.store("user:nobody@example.com")
	_, err := d.h.resolver.Index.SetReaders(d.t.Context(), d.scope, index.Fence{}, []index.DocumentReaders{{Document: d.document, Unsaid: true}})
	d.must(err)
}

// restrict restricts the dossier as the owner of the workspace.
func (d *dossier) restrict(to map[string]any) answer {
	d.t.Helper()
	got := d.h.ask(d.t, d.viewer, restrict, map[string]any{"i": d.document, "r": to})
	if got.code() != "" || strings.Contains(got.body, marker) {
		d.t.Fatalf("restrict to %v: %s", to, got.body)
	}
	return got
}

func TestARestrictedDocumentIsFoundByThoseWhoAreNamedOnly(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	d.check("anybody", d.stranger, true)
	d.restrict(map[string]any{"users": []string{" Reader@Example.com"}})
	unverified := d.reader
	unverified.Verified = false
	d.check("the person who is named", d.reader, true)
	d.check("the person who is named, with only a password", unverified, true)
	d.check("a stranger", d.stranger, false)
	d.check("the administrator", d.viewer, false)

	// A sync that stores the document again, its deletion and its restoration change nothing.
	d.open()
	d.check("the person, after a sync", d.reader, true)
	d.check("a stranger, after a sync", d.stranger, false)
	system := viewer.With(t.Context(), viewer.System(d.viewer.Workspace))
	_, err := d.h.resolver.Index.SoftDelete(system, d.scope, index.Fence{}, []uuid.UUID{d.document})
	d.must(err)
	_, err = d.h.resolver.Index.Restore(system, d.scope, index.Fence{}, []uuid.UUID{d.document})
	d.must(err)
	_, err = d.h.db.Pool.Exec(t.Context(), "update sync_items set hold = 'QUARANTINED' where id = $1", d.item)
	d.must(err)
	d.check("the person, after a restoration", d.reader, true)
	d.check("a stranger, after a restoration", d.stranger, false)

	// Nor does it matter that the document was purged before its source has it again.
	_, err = d.h.resolver.Index.SoftDelete(system, d.scope, index.Fence{}, []uuid.UUID{d.document})
	d.must(err)
	purged, err := d.h.resolver.Index.PurgeDeleted(t.Context(), time.Now().Add(time.Hour), 10)
	if err != nil || purged != 1 {
		t.Fatalf("%d documents purged: %v", purged, err)
	}
	before := d.document
	d.open()
	if d.document == before {
		t.Fatal("the document was not purged")
	}
	const search = `{ search(input: {query: "quokka", minScore: 0}) { results { title } } documents(first: 9) { edges { node { title } } } }`
	for who, want := range map[*viewer.Viewer]bool{&d.reader: true, &d.stranger: false, &d.viewer: false} {
		if got := d.h.ask(t, *who, search, nil); strings.Contains(got.body, marker) != want || got.code() != "" {
			t.Errorf("%s, after a purge: %s", who.Email, got.body)
		}
	}
	if got := d.h.ask(t, d.viewer, unrestrict, map[string]any{"i": d.document}); got.at("unrestrictDocument.restriction") != nil || got.code() != "" {
		t.Errorf("unrestrict: %s", got.body)
	}
	if got := d.h.ask(t, d.stranger, search, nil); !strings.Contains(got.body, marker) {
		t.Errorf("a stranger, without the restriction: %s", got.body)
	}
}

func TestARestrictionNarrowsWhatTheSourceShows(t *testing.T) {
	t.Parallel()
	d := newDossier(t) // for the group of the reader
	d.restrict(map[string]any{"users": []string{"stranger@example.com"}})
	d.check("a reader who is not named", d.reader, false)
	d.check("a person who is named and no reader", d.stranger, false)
	d.restrict(map[string]any{"users": []string{"reader@example.com", "stranger@example.com"}})
	d.check("a reader who is named", d.reader, true)
	d.check("a person who is named and no reader", d.stranger, false)
	unverified := d.reader
	unverified.Verified = false
	d.check("a reader who is named, with an address that nobody vouches for", unverified, false)
	d.restrict(map[string]any{"domains": []string{"@Other.com"}})
	d.check("a reader of another domain", d.reader, false)
	d.restrict(map[string]any{"domains": []string{"example.com"}})
	d.check("a reader of the domain", d.reader, true)

	got := d.restrict(map[string]any{"groups": []string{"team"}, "domains": []string{"other.com"}})
	if !strings.Contains(got.body, `"readers":[{"kind":"DOMAIN","id":"other.com","name":"other.com","members":null},{"kind":"GROUP","id":"team","name":"Team","members":2}]`) ||
		got.at("restrictDocument.restriction.restrictedBy") != d.viewer.Email || got.at("restrictDocument.mode") != "strict" || got.at("restrictDocument.everyone") != false ||
		!strings.Contains(got.body, `"readers":[{"kind":"GROUP","id":"readers"}]`) {
		t.Errorf("the restriction: %s", got.body)
	}
	d.check("a reader of the group", d.reader, true)
	d.groups()
	d.check("a reader whose groups are gone", d.reader, false)
}

// Groups of the directory are people of the workspace. They are known by their ids, so
// that no group of a source or of another workspace is taken for one.
func TestARestrictionNamesGroupsOfTheDirectory(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	team := d.h.aDirectoryGroup(t, d.tenant, "Team", d.reader)
	got := d.restrict(map[string]any{"directoryGroups": []uuid.UUID{team}})
	if !strings.Contains(got.body, `"readers":[{"kind":"DIRECTORY_GROUP","id":"`+team.String()+`","name":"Team","members":1}]`) {
		t.Errorf("the restriction: %s", got.body)
	}
	d.check("a member of the group", d.reader, true)
	d.check("a stranger", d.stranger, false)
	d.check("the administrator", d.viewer, false)
	unverified := d.reader
	unverified.Verified = false
	d.check("a member whom the directory manages, with an address that nobody vouches for", unverified, true)
	key := viewer.Viewer{
		Workspace: d.viewer.Workspace, Subject: d.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, Collections: []uuid.UUID{d.collection}, Secret: true, EndUser: "Reader@example.com",
	}
	const search = `{ search(input: {query: "quokka grass", minScore: 0}) { results { title snippet } } }`
	finds := func(what string, v viewer.Viewer, want bool) {
		t.Helper()
		if got := d.h.ask(t, v, search, nil); strings.Contains(got.body, marker) != want || got.code() != "" {
			t.Errorf("%s: %s", what, got.body)
		}
	}
	finds("a key for the member", key, true)

	// Groups with the same name at the source, or in another workspace with the same person, are others.
	d.groups(principal.Group{Principal: "group:" + team.String(), Name: "Team", Members: []string{"user:stranger@example.com"}},
		principal.Group{Principal: "group:Team", Name: "Team", Members: []string{"user:stranger@example.com"}})
	finds("a member of a group of the source with the name or the id", d.stranger, false)
	if got := d.h.ask(t, d.viewer, restrict, map[string]any{"i": d.document, "r": map[string]any{"directoryGroups": []string{d.connector.String()}}}); got.code() != "invalid_request" || !strings.Contains(got.body, "directoryGroups[0]") {
		t.Errorf("an id of no group: %s", got.body)
	}
	eve := d.h.tenant(t, "eve")
	must[*ent.Membership](t)(d.h.resolver.Accounts.Join(all, eve.viewer.Workspace, d.stranger.Subject, membership.RoleEditor))
	theirs := d.h.aDirectoryGroup(t, eve, "Team", d.stranger)
	if got := d.h.ask(t, d.viewer, restrict, map[string]any{"i": d.document, "r": map[string]any{"directoryGroups": []uuid.UUID{theirs}}}); got.code() != "invalid_request" || strings.Contains(got.body, "Team") {
		t.Errorf("another workspace's group: %s", got.body)
	}
	finds("a member of another workspace's group with the name", d.stranger, false)
	why := func(user, rule string) {
		t.Helper()
		got := d.h.ask(t, d.viewer, "query($i: ID!, $u: String!) { whyVisible(documentId: $i, user: $u) { rule } }", map[string]any{"i": d.document, "u": user})
		if got.at("whyVisible.rule") != rule {
			t.Errorf("%s: %s", user, got.body)
		}
	}
	why("reader@example.com", "NAMED")
	why("stranger@example.com", "RESTRICTED")
	members := func(want string) {
		t.Helper()
		const ask = "query($i: ID!) { documentReaders(documentId: $i) { restriction { readers { members } } } directoryGroups(matching: \"team\") { edges { node { memberCount } } } }"
		if got := d.h.ask(t, d.viewer, ask, map[string]any{"i": d.document}); !strings.Contains(got.body, `"members":`+want+`}`) || !strings.Contains(got.body, `"memberCount":`+want+`}`) {
			t.Errorf("members, want %s: %s", want, got.body)
		}
	}
	members("1")

	change := func(statement string, arguments ...any) {
		t.Helper()
		_, err := d.h.db.Pool.Exec(t.Context(), statement, arguments...)
		d.must(err)
	}
	// Of an account that nobody vouches for, neither a provider nor the directory, the owner is unknown.
	change("delete from directory_users where user_id = $1", d.reader.Subject)
	d.check("a member whom nobody vouches for", unverified, false)
	finds("a key for the member whom nobody vouches for", key, false)
	why("reader@example.com", "RESTRICTED")
	members("0")
	change("update users set email_verified = true where id = $1", d.reader.Subject)
	d.check("a member with a verified address", d.reader, true)
	why("reader@example.com", "NAMED")
	members("1")
	// The group counts as it is now.
	change("update users set email_verified = true where id = $1", d.stranger.Subject)
	change("update directory_group_members set user_id = $2 where group_id = $1", team, d.stranger.Subject)
	finds("a member who was removed from the group", d.reader, false)
	finds("a key for the member who was removed", key, false)
	finds("a new member", d.stranger, true)
	change("update memberships set suspended_at = now() where workspace_id = $1 and user_id = $2", d.viewer.Workspace, d.stranger.Subject)
	key.EndUser = d.stranger.Email
	finds("a key for a member who is suspended", key, false)
	change("update memberships set suspended_at = null where workspace_id = $1 and user_id = $2", d.viewer.Workspace, d.stranger.Subject)
	finds("a key for the member", key, true)
	change("delete from directory_groups where id = $1", team)
	finds("a member of a group that is gone", d.stranger, false)
	d.h.aDirectoryGroup(t, d.tenant, "Team", d.stranger)
	finds("a member of a new group with the name", d.stranger, false)
	gone := d.h.ask(t, d.viewer, "query($i: ID!) { documentReaders(documentId: $i) { restriction { readers { kind name members } } } }", map[string]any{"i": d.document})
	if !strings.Contains(gone.body, `[{"kind":"DIRECTORY_GROUP","name":"`+team.String()+`","members":0}]`) {
		t.Errorf("the readers: %s", gone.body)
	}
}

func TestRestrictionsAreChecked(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	for name, input := range map[string]map[string]any{
		"nobody": {}, "no address": {"users": []string{"ada"}}, "no domain": {"domains": []string{"*.example.com"}}, "a name": {"domains": []string{"localhost"}},
		"an unknown group": {"groups": []string{"nobody"}}, "too many": {"users": make([]string, 201)},
	} {
		if got := d.h.ask(t, d.viewer, restrict, map[string]any{"i": d.document, "r": input}); got.code() != "invalid_request" {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	// An administrator restricts and frees documents that they may not read, and finds them.
	d.restrict(map[string]any{"users": []string{"reader@example.com"}})
	const listed = "query($c: ID, $a: Cursor) { documentRestrictions(connectorId: $c, first: 1, after: $a) { totalCount edges { node { documentId readers { id } } } pageInfo { hasNextPage endCursor } } }"
	all := d.h.ask(t, d.viewer, listed, nil)
	if all.at("documentRestrictions.totalCount") != 1.0 || !strings.Contains(all.body, d.document.String()) || strings.Contains(all.body, marker) {
		t.Errorf("the restrictions: %s", all.body)
	}
	if rest := d.h.ask(t, d.viewer, listed, map[string]any{"a": all.at("documentRestrictions.pageInfo.endCursor")}); rest.code() != "" || strings.Contains(rest.body, d.document.String()) {
		t.Errorf("the page after: %s", rest.body)
	}
	if none := d.h.ask(t, d.viewer, listed, map[string]any{"c": aConnector(t, d.h, d.tenant)}); none.at("documentRestrictions.totalCount") != 0.0 {
		t.Errorf("of another connector: %s", none.body)
	}
	// Its own filter lists it to those who may read it.
	const filtered = "query($r: Boolean) { documents(restricted: $r, first: 9) { edges { node { id restricted } } } }"
	for restricted, want := range map[bool]bool{true: true, false: false} {
		if got := d.h.ask(t, d.reader, filtered, map[string]any{"r": restricted}); strings.Contains(got.body, d.document.String()) != want {
			t.Errorf("restricted: %v: %s", restricted, got.body)
		}
	}
	if got := d.h.ask(t, d.reader, restrict, map[string]any{"i": d.document, "r": map[string]any{"users": []string{"reader@example.com"}}}); got.code() != "forbidden" {
		t.Errorf("an editor restricts: %s", got.body)
	}
}

func TestKeysFindRestrictedDocumentsForNamedPeopleOnly(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	d.restrict(map[string]any{"users": []string{"reader@example.com"}})
	key := viewer.Viewer{
		Workspace: d.viewer.Workspace, Subject: d.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, Collections: []uuid.UUID{d.collection}, Secret: true,
	}
	named, other, publishable := key, key, key
	named.EndUser, other.EndUser = "Reader@example.com", "stranger@example.com"
	publishable.Secret, publishable.EndUser = false, "reader@example.com"
	for who, try := range map[string]struct {
		v     viewer.Viewer
		finds bool
	}{"the reader": {named, true}, "a stranger": {other, false}, "nobody": {key, false}, "the reader by a publishable key": {publishable, false}} {
		found := d.h.ask(t, try.v, `{ search(input: {query: "quokka grass", minScore: 0}) { results { title snippet } } }`, nil)
		said := d.h.ask(t, try.v, `subscription { chat(input: {message: "Where does the quokka live?"}) { ... on ChatContent { delta } ... on ChatSources { sources { title } } } }`, nil)
		if strings.Contains(found.body, marker) != try.finds || strings.Contains(said.body, marker) != try.finds || found.code()+said.code() != "" {
			t.Errorf("%s: %s\n%s", who, found.body, said.body)
		}
	}
}

func TestWhyNamesTheRestriction(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	why := func(user, rule string, visible bool) {
		t.Helper()
		got := d.h.ask(t, d.viewer, "query($i: ID!, $u: String!) { whyVisible(documentId: $i, user: $u) { visible rule explanation } }", map[string]any{"i": d.document, "u": user})
		if got.at("whyVisible.rule") != rule || got.at("whyVisible.visible") != visible {
			t.Errorf("%s: %s", user, got.body)
		}
	}
	why("stranger@example.com", "OPEN", true)
	d.restrict(map[string]any{"users": []string{"reader@example.com"}, "domains": []string{"friends.org"}})
	why("reader@example.com", "NAMED", true)
	why("somebody@friends.org", "NAMED", true)
	why("stranger@example.com", "RESTRICTED", false)
	d.restrict(map[string]any{"groups": []string{"readers"}})
	why("reader@example.com", "NAMED", true)
	d.store("user:stranger@example.com")
	why("reader@example.com", "NOT_LISTED", false)
	got := d.h.ask(t, d.viewer, `query($d: String!) { searchWhyNot(input: {query: "quokka", document: $d, minScore: 0, asUser: "stranger@example.com"}) { reason explanation change } }`, map[string]any{"d": d.document})
	if got.at("searchWhyNot.reason") != "NOT_READABLE" || !strings.Contains(got.body, "administrator restricted") || !strings.Contains(got.body, "restriction of the document") {
		t.Errorf("why not: %s", got.body)
	}
}

func TestUploadsOfRestrictedDocumentsAreHidden(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	system := d.system(t)
	must[*ent.SourceFile](t)(d.h.files.Upload(system, d.connector, sourcefile.Upload{Path: "vermilion.md", MediaType: "text/markdown", Content: strings.NewReader("x"), Size: 1}))
	d.restrict(map[string]any{"users": []string{"reader@example.com"}})
	for who, want := range map[*viewer.Viewer]bool{&d.reader: true, &d.stranger: false} {
		for _, query := range []string{"query($i: ID!) { sourceFiles(connectorId: $i) { edges { node { path } } } }", "query($i: ID!) { connector(id: $i) { files(first: 5) { edges { node { path } } } } }"} {
			if got := d.h.ask(t, *who, query, map[string]any{"i": d.connector}); strings.Contains(got.body, marker) != want || got.code() != "" {
				t.Errorf("%s: %s", who.Email, got.body)
			}
		}
	}
	stranger := viewer.WithPrincipals(viewer.With(t.Context(), d.stranger), d.h.resolver.Principals)
	_, err := d.h.files.Upload(stranger, d.connector, sourcefile.Upload{Path: "vermilion.md", MediaType: "text/markdown", Content: strings.NewReader("y"), Size: 1})
	if err == nil || !strings.Contains(err.Error(), "may not see") {
		t.Errorf("a stranger replaces the upload: %v", err)
	}
}

func TestPassagesComeInOrderAndByPages(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	const page = "query($i: ID!, $a: Cursor) { document(id: $i) { passages(first: 1, after: $a) { totalCount edges { cursor node { id documentId position headingPath text anchor page } } pageInfo { hasNextPage endCursor } } } }"
	got := d.h.ask(t, d.reader, page, map[string]any{"i": d.document})
	if got.at("document.passages.totalCount") != 1.0 || got.at("document.passages.pageInfo.hasNextPage") != false || !strings.Contains(got.body, `"position":0`) || !strings.Contains(got.body, d.passage.String()) {
		t.Errorf("the first page: %s", got.body)
	}
	next := d.h.ask(t, d.reader, page, map[string]any{"i": d.document, "a": got.at("document.passages.pageInfo.endCursor")})
	if next.code() != "" || strings.Contains(next.body, marker) {
		t.Errorf("the next page: %s", next.body)
	}
	one := d.h.ask(t, d.reader, "query($i: ID!) { passage(id: $i, around: 0) { passage { id text } before { id } after { id } document { title } } }", map[string]any{"i": d.passage})
	if one.at("passage.passage.id") != d.passage.String() || one.at("passage.document.title") != "Vermilion dossier" {
		t.Errorf("the passage: %s", one.body)
	}
	if far := d.h.ask(t, d.reader, "query($i: ID!) { passage(id: $i, around: 11) { passage { id } } }", map[string]any{"i": d.passage}); far.code() != "invalid_request" {
		t.Errorf("too many neighbours: %s", far.body)
	}
	said := d.h.ask(t, d.reader, `subscription { chat(input: {message: "Where does the quokka live?"}) { ... on ChatSources { sources { id passages { id headingPath excerpt } } } } }`, nil)
	if !strings.Contains(said.body, `"passages":[{"id":"`+d.passage.String()+`"`) || !strings.Contains(said.body, `"excerpt":"The quokka lives`) {
		t.Errorf("the citation: %s", said.body)
	}
}

func TestTheHistoryOfADocumentHasItsSyncsAndForAdministratorsItsPeople(t *testing.T) {
	t.Parallel()
	d := newOpenDossier(t)
	admin := d.h.member(t, d.tenant, "admin@example.com", membership.RoleAdmin)
	history := func(v viewer.Viewer, wanted ...string) {
		t.Helper()
		got := d.h.ask(t, v, "query($i: ID!) { document(id: $i) { history(first: 20) { at kind jobId actor reason } } }", map[string]any{"i": d.document})
		for _, part := range wanted {
			if !strings.Contains(got.body, part) {
				t.Errorf("%s: %s lacks %s", v.Email, got.body, part)
			}
		}
	}
	history(admin, `"kind":"ADDED"`, `"kind":"INDEXED","jobId":"`+d.job.String()+`"`, `"kind":"QUARANTINED"`)
	d.restrict(map[string]any{"users": []string{"admin@example.com", "reader@example.com"}})
	history(admin, `"kind":"RESTRICTED","jobId":null,"actor":"`+d.viewer.Email+`"`)
	history(d.reader, `"kind":"ADDED"`, `"kind":"INDEXED"`)
	if got := d.h.ask(t, d.reader, "query($i: ID!) { document(id: $i) { history(first: 20) { kind } } }", map[string]any{"i": d.document}); strings.Contains(got.body, "RESTRICTED") {
		t.Errorf("an editor reads the log: %s", got.body)
	}
	if got := d.h.ask(t, d.viewer, unrestrict, map[string]any{"i": d.document}); got.code() != "" {
		t.Errorf("unrestrict: %s", got.body)
	}
	history(admin, `"kind":"UNRESTRICTED"`, `"kind":"RESTRICTED"`)
	first := d.h.ask(t, admin, "query($i: ID!) { document(id: $i) { history(first: 1) { kind } } }", map[string]any{"i": d.document})
	if strings.Count(first.body, `"kind"`) != 1 || !strings.Contains(first.body, "UNRESTRICTED") {
		t.Errorf("the newest: %s", first.body)
	}
}
