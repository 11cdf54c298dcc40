package graph_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/viewer"
)

// unaudited returns the mutations that write no entry to the audit log, with the reason.
func unaudited() map[string]string {
	return map[string]string{
		"Mutation.answerLogin":              "nothing is kept but a code for a minute; the token is noted when the program takes it",
		"Mutation.refreshSession":           "the same sign-in goes on; the end of one is noted",
		"Mutation.refreshCollectionStats":   "it recounts and changes no setting",
		"Mutation.measureSearchQuality":     "it measures and changes no setting",
		"Mutation.judgeDocument":            "it is what measurements compare with, and changes no setting",
		"Mutation.removeGoldenQuestion":     "it is what measurements compare with, and changes no setting",
		"Mutation.setFeedback":              "what one thinks of an answer is one's own",
		"Mutation.removeFeedback":           "what one thinks of an answer is one's own",
		"Mutation.recordVisitorEvent":       "events of visitors, which query analytics keep",
		"Mutation.recordEvents":             "events of visitors, which query analytics keep",
		"Mutation.deleteWorkspace":          "the entries of a workspace end with it",
		"Mutation.startOAuth":               "nothing is kept of a connection but its beginning; the grant is noted when it is made",
		"Mutation.startOIDCSignIn":          "nobody is known yet; the session is noted when it is opened",
		"Mutation.answerOIDCSignIn":         "the session is noted when it is opened",
		"Mutation.startSAMLSignIn":          "nobody is known yet; the session is noted when it is opened",
		"Mutation.answerSAMLSignIn":         "the session is noted when it is opened",
		"Mutation.resendInboundEvent":       "it processes an event again, whose row says so, and changes no setting",
		"Mutation.runAutomation":            "the run is a row that says so, and changes no setting",
		"Mutation.replayAutomationRun":      "the run is a row that says so, and changes no setting",
		"Mutation.cancelAutomationRun":      "the run is a row that says so, and changes no setting",
		"Mutation.authorizeToolIntegration": "nothing is kept of a connection but its beginning; the grant is noted when it is made",
		"Mutation.stopChat":                 "an answer is one's own, and the conversation keeps what was said of it",
		"Mutation.cancelRun":                "a run is its person's own, and is kept with all its events",
	}
}

// withoutActor returns the mutations of callers without credentials. Their entries may
// name no actor, for the reason given.
func withoutActor() map[string]string {
	return map[string]string{
		"Mutation.signUp":           "the workspace is there before its first member; who signs up is the member.add that follows",
		"Mutation.resetPassword":    "the holder of the link sets the password; the target of the entry is the person",
		"Mutation.finishSAMLSignIn": "the provider vouches for the address before there is a session; the entry's target is the person",
		"Mutation.finishOIDCSignIn": "the provider vouches for the address before there is a session; the entry's target is the person",
	}
}

// entries returns the entries of a workspace, the newest last.
func (h *fixture) entries(t *testing.T, n *tenant) []*ent.AuditEntry {
	t.Helper()
	return h.entriesOf(t, n.viewer.Workspace)
}

// entriesOf returns the entries of a workspace, or of all workspaces for uuid.Nil.
func (h *fixture) entriesOf(t *testing.T, workspace uuid.UUID) []*ent.AuditEntry {
	t.Helper()
	return must[[]*ent.AuditEntry](t)(h.db.Ent.AuditEntry.Query().Order(auditentry.ByCreatedAt(), auditentry.ByID()).
		All(viewer.With(t.Context(), viewer.System(workspace))))
}

// auditor returns the caller of a field, without a role if none is needed.
func auditor(t *testing.T, n *tenant, field string, f *ast.FieldDefinition) viewer.Viewer {
	t.Helper()
	switch {
	case field == "Mutation.recordEvents", field == "Mutation.recordVisitorEvent":
		return viewer.Viewer{Workspace: n.viewer.Workspace, Subject: n.key, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, AllCollections: true, Secret: true}
	case f.Directives.ForName("surface").Arguments.ForName("anonymous") != nil:
		return anonymous()
	}
	return n.viewer
}

// signedIn returns the person of the session that an answer opens.
func (h *fixture) signedIn(t *testing.T, field string, a answer) (viewer.Viewer, bool) {
	t.Helper()
	token, ok := a.at(strings.TrimPrefix(field, "Mutation.") + ".accessToken").(string)
	if !ok {
		return viewer.Viewer{}, false
	}
	return must[viewer.Viewer](t)(h.resolver.Accounts.Authenticate(t.Context(), token)), true
}

func TestEveryMutationLeavesAnEntry(t *testing.T) {
	t.Parallel()
	h := newOpenFixture(t)
	ada := h.tenant(t, "ada")
	excused := unaudited()
	fields := guarded()
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(field, "Mutation.") {
			continue
		}
		who := auditor(t, ada, field, fields[field])
		c := h.call(t, field, ada, who)
		start := must[time.Time](t)(h.databaseTime(t))
		got := h.place(t, who, c)
		if got.code() != "" {
			t.Errorf("%s: %s", field, got.body)
			continue
		}
		actor := c.by(who)
		if opened, ok := h.signedIn(t, field, got); ok {
			actor = opened
		} else if actor.Kind != viewer.KindSession {
			actor = ada.viewer // who began what a stranger's browser ends
		}
		made := slices.DeleteFunc(h.entriesOf(t, uuid.Nil), func(e *ent.AuditEntry) bool { return e.CreatedAt.Before(start) })
		switch why, not := excused[field]; {
		case not && len(made) > 0:
			t.Errorf("%s leaves an entry, though %s: take it off the list", field, why)
		case !not && len(made) == 0:
			t.Errorf("%s leaves no entry in the audit log: is its entity in internal/audit/table.go? Else record an event, or add the reason to unaudited", field)
		}
		_, unnamed := withoutActor()[field]
		for _, e := range made {
			t.Logf("%s: %s of %q", field, e.Action, e.TargetName)
			if nobody := e.ActorKind == auditentry.ActorKindNobody && e.ActorID == nil && e.ActorName == ""; nobody && unnamed {
				continue
			}
			if e.ActorKind != auditentry.ActorKindPerson || e.ActorID == nil || *e.ActorID != actor.Subject || e.ActorName != actor.Email {
				t.Errorf("%s: the entry %s names %s %s %q", field, e.Action, e.ActorKind, e.ActorID, e.ActorName)
			}
			for _, secret := range []string{password, nextPassword, "svc_sk_", "mgp_"} {
				if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), secret) {
					t.Errorf("%s: the entry contains a secret: %s %v", field, text, err)
				}
			}
		}
	}
}

// databaseTime returns the time of the database, which entries have.
func (h *fixture) databaseTime(t *testing.T) (at time.Time, err error) {
	t.Helper()
	err = h.db.Pool.QueryRow(t.Context(), "select clock_timestamp()").Scan(&at)
	return at, err
}

func TestAnEntrySaysWhoWhatAndWhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	server := h.server
	h.server = withRequest(server, "192.0.2.7", "request-of-ada")
	long := strings.Repeat("a long text ", 100)
	got := h.ask(t, ada.viewer, `mutation($i: ID!, $l: String!) { updateConnector(id: $i, input: {name: "Renamed", config: {note: $l, token: "hush"}}) { id } }`,
		map[string]any{"i": ada.connector, "l": long})
	if got.code() != "" && !strings.Contains(got.body, "config") {
		t.Fatal(got.body)
	}
	got = h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {name: "Renamed"}) { id } }`, map[string]any{"i": ada.connector})
	if got.code() != "" {
		t.Fatal(got.body)
	}
	got = h.ask(t, ada.viewer, `query($i: ID!) { auditLog(filter: {targetId: $i, action: "connector.update"}, first: 1) {
		totalCount edges { node { createdAt actorKind actorId actorName sessionId ip requestId action targetKind targetId targetName changes { field old new hidden } } } } }`,
		map[string]any{"i": ada.connector})
	edges, _ := got.at("auditLog.edges").([]any)
	if len(edges) != 1 {
		t.Fatal(got.body)
	}
	entry := answer{Data: edges[0].(map[string]any)}
	for path, want := range map[string]any{
		"node.actorKind": "PERSON", "node.actorId": ada.viewer.Subject.String(), "node.actorName": ada.email, "node.sessionId": ada.viewer.Session.String(),
		"node.ip": "192.0.2.7", "node.requestId": "request-of-ada", "node.targetKind": "connector", "node.targetId": ada.connector.String(), "node.targetName": "Renamed",
	} {
		if entry.at(path) != want {
			t.Errorf("%s is %v, not %v", path, entry.at(path), want)
		}
	}
	changes, _ := json.Marshal(entry.at("node.changes"))
	if want := `[{"field":"name","hidden":false,"new":"Renamed","old":"Files"}]`; string(changes) != want {
		t.Errorf("the changes are %s", changes)
	}
}

func TestTheAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleEditor)
	for v, name := range map[*viewer.Viewer]string{&ada.viewer: "By ada", &bob: "By bob"} {
		if got := h.ask(t, *v, `mutation($n: String!) { createCollection(input: {name: $n}) { id } }`, map[string]any{"n": name}); got.code() != "" {
			t.Fatal(got.body)
		}
	}
	count := func(filter map[string]any) (total any, body string) {
		t.Helper()
		got := h.ask(t, ada.viewer, "query($f: AuditFilter) { auditLog(filter: $f) { totalCount edges { node { targetName actorName action } } } }", map[string]any{"f": filter})
		return got.at("auditLog.totalCount"), got.body
	}
	mine := func(more ...any) map[string]any {
		f := map[string]any{"action": "collection.create"}
		for i := 0; i < len(more); i += 2 {
			f[more[i].(string)] = more[i+1]
		}
		return f
	}
	for name, c := range map[string]struct {
		filter map[string]any
		want   float64
	}{
		"an email": {mine("actor", "BOB@example.com"), 1}, "an id": {mine("actor", bob.Subject.String()), 1}, "nobody": {mine("actor", "nobody"), 0},
		"a kind": {mine("action", "collection.*", "matching", "by BOB"), 1}, "a target": {mine("targetKind", "connector"), 0},
		"long ago": {mine("to", "2020-01-01T00:00:00Z"), 0}, "since": {mine("from", "2020-01-01T00:00:00Z", "matching", "by"), 2},
		"a wildcard is a character": {mine("matching", "B% ada"), 0},
	} {
		if total, body := count(c.filter); total != c.want {
			t.Errorf("%s: %s", name, body)
		}
	}
	if _, body := count(mine("matching", strings.Repeat("x", 401))); !strings.Contains(body, "invalid_request") {
		t.Errorf("a long filter: %s", body)
	}
}

// A failed sign-in is written to the audit log of the member's workspace. The answer is
// the same as for an unknown address.
func TestAFailedSignInIsAudited(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	failures := audit.NewSignIns(t.Context(), h.db.Ent, h.resolver.Log)
	defer failures.Close()
	h.resolver.People = people.New(h.db.Ent, h.resolver.Accounts, people.Options{Attempts: ratelimit.New(ratelimit.Options{}), SignIns: failures})
	const query = `mutation($e: String!) { signIn(input: {email: $e, password: "guess guess guess"}) { accessToken } }`
	known := h.ask(t, anonymous(), query, map[string]any{"e": strings.ToUpper(ada.email)})
	unknown := h.ask(t, anonymous(), query, map[string]any{"e": "nobody@example.com"})
	if known.code() != "invalid_credentials" || known.body != unknown.body {
		t.Errorf("%s\n%s", known.body, unknown.body)
	}
	failures.Close() // which waits
	found := slices.DeleteFunc(h.entries(t, ada), func(e *ent.AuditEntry) bool { return e.Action != "session.sign_in_failed" })
	if len(found) != 1 || found[0].ActorKind != auditentry.ActorKindNobody || *found[0].TargetID != ada.viewer.Subject || found[0].TargetName != ada.email {
		t.Errorf("%+v", found)
	}
	failures.Failed(t.Context(), ada.email, "late") // does nothing any more
}

// If the second field of an operation fails, the change of the first is rolled back, and
// so is its entry.
func TestARolledBackChangeLeavesNoEntry(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	before := len(h.entries(t, ada))
	got := h.ask(t, ada.viewer, `mutation { a: createCollection(input: {name: "Undone"}) { id } b: createCollection(input: {name: " "}) { id } }`, nil)
	if got.code() != "invalid_request" {
		t.Fatal(got.body)
	}
	if rows := h.entries(t, ada); len(rows) != before {
		t.Errorf("%d entries were left, the last %+v", len(rows)-before, rows[len(rows)-1])
	}
}

var _ people.SignInLog = (*audit.SignIns)(nil)

// withRequest adds the client address and the request id, as the HTTP server does.
func withRequest(next http.Handler, client, id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := ratelimit.WithClient(requestid.With(r.Context(), id), client)
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
