package command_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

func TestATokenMayDoWhatItsPersonMay(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	owner := as(t, m, personalToken(m))
	owner.ok("collections", "create", "Docs")
	email, password := m.Member("VIEWER")
	viewer := as(t, m, tokenOf(t, m, email, password))
	viewer.ok("collections")
	for _, arguments := range [][]string{
		{"collections", "create", "Mine"}, {"collections", "delete", "Docs", "--yes"}, {"connectors", "create", "--name", "F", "--type", "file_upload", "--collection", "Docs"},
		{"keys"}, {"tokens"}, {"audit"}, {"users", "role", email, "owner"}, {"agents", "create", "A", "--prompt", "x"}, {"workspaces", "rename", "Mine"},
	} {
		o := viewer.run(arguments...)
		if o.code != 1 || o.out != "" || strings.Count(o.err, "\n") != 1 || !strings.Contains(o.err, "role") && !strings.Contains(o.err, "sign in") {
			t.Errorf("%q: %+v", arguments, o)
		}
	}
	if out := viewer.ok("status"); !strings.Contains(out, email+", viewer") || strings.Contains(out, "PostgreSQL") {
		t.Errorf("%s", out)
	}
	// No token may do these, whoever's it is.
	for _, arguments := range [][]string{
		{"keys", "create", "--name", "K", "--host", "*", "--all-collections"}, {"users", "invite", "eve@example.com"}, {"tokens", "create", "--name", "T", "--role", "viewer", "--group", "search"},
	} {
		if o := owner.run(arguments...); o.code != 1 || !strings.Contains(o.err, "sign in") {
			t.Errorf("%q: %+v", arguments, o)
		}
	}
	for _, arguments := range [][]string{{"users", "create", "eve@example.com"}, {"users", "sign-out", email}, {"quota", "set", "--limit", "5"}} {
		if o := owner.run(arguments...); o.code != 1 || !strings.Contains(o.err, "DATABASE_URL") || !strings.Contains(o.err, m.URL) {
			t.Errorf("%q: %+v", arguments, o)
		}
	}

	var made struct{ CreateServiceToken struct{ Secret string } }
	m.GraphQL(&made, `mutation { createServiceToken(input: {name: "CI", role: VIEWER, groups: [COLLECTIONS]}) { secret } }`, nil)
	service := as(t, m, made.CreateServiceToken.Secret)
	service.ok("collections")
	service.fails("needs the group CONNECTORS", "connectors")
	s := remoteShell(t)
	if o := s.runWith(made.CreateServiceToken.Secret, "login", m.URL, "--with-token"); o.code != 0 || !strings.Contains(o.err, "a service token") {
		t.Errorf("%+v", o)
	}
	service.fails("leave out --workspace", "collections", "--workspace", "Test")
}

func TestOtherWorkspacesAreNotFound(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	owner := as(t, m, personalToken(m))
	collection := strings.TrimSpace(owner.ok("collections", "create", "Docs"))
	connector := strings.TrimSpace(owner.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Docs"))
	agent := strings.TrimSpace(owner.ok("agents", "create", "Helper", "--prompt", "You help."))
	var job struct{ ID string }
	owner.read(&job, "sync", "start", "Files", "--detach")

	const email, password = "eve@example.com", "the password of eve"
	on := &shell{t: t, flags: []string{"--config", settingsFile(t, m.Settings()...)}}
	if o := on.runWith(password+"\n", "users", "create", email, "--new-workspace", "Other", "--password-stdin"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	eve := as(t, m, tokenOf(t, m, email, password))
	eve.fails("not for \"Test\"", "--workspace", "Test", "collections")
	eve.ok("--workspace", "Other", "collections")
	for _, arguments := range [][]string{
		{"collections", "show", collection}, {"collections", "update", collection, "--name", "Mine"}, {"collections", "delete", collection, "--yes"},
		{"connectors", "show", connector}, {"connectors", "pause", connector}, {"connectors", "delete", connector, "--yes"},
		{"files", "list", connector}, {"sync", "start", connector}, {"sync", "status", job.ID}, {"sync", "watch", job.ID}, {"sync", "cancel", job.ID}, {"sync", "items", connector},
		{"agents", "show", agent}, {"agents", "delete", agent, "--yes"}, {"agents", "run", agent, "Hello"}, {"documents", "show", job.ID},
		{"search", "holidays", "--collection", collection}, {"chat", "holidays?", "--collection", collection},
	} {
		if o := eve.run(arguments...); o.code != 1 || !strings.Contains(o.err, "not found") {
			t.Errorf("%q: %+v", arguments, o)
		}
	}
	for _, arguments := range [][]string{{"collections", "show", "Docs"}, {"connectors", "show", "Files"}, {"agents", "show", "Helper"}} {
		if o := eve.run(arguments...); o.code != 1 || !strings.Contains(o.err, "there is no") {
			t.Errorf("%q: %+v", arguments, o)
		}
	}
	for _, arguments := range [][]string{{"connectors", "list", "--collection", collection}, {"documents", "list", "--connector", connector}} {
		if out := eve.ok(arguments...); out != "" {
			t.Errorf("%q: %s", arguments, out)
		}
	}
	eve.ok("collections", "create", "Docs")
	if out := owner.ok("collections"); strings.Count(out, "Docs") != 1 {
		t.Errorf("%s", out)
	}
}

func TestAmbiguousNamesListTheIDs(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, collection := range []string{"A", "B"} {
		s.ok("collections", "create", collection)
	}
	one := strings.TrimSpace(s.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "A"))
	two := strings.TrimSpace(s.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "B"))
	o := s.run("connectors", "show", "Files")
	if o.code != 1 || !strings.Contains(o.err, one) || !strings.Contains(o.err, two) {
		t.Errorf("%+v", o)
	}
	s.ok("connectors", "show", two)

	var made struct{ APIKey struct{ ID string } }
	s.read(&made, "keys", "create", "--name", "Site", "--host", "*", "--all-collections")
	s.ok("keys", "revoke", "Site")
	s.ok("keys", "create", "--name", "Site", "--host", "*", "--all-collections")
	if out := s.ok("keys", "show", "Site"); strings.Contains(out, made.APIKey.ID) {
		t.Errorf("the name of a revoked pair stands for it: %s", out)
	}
	s.fails("`magpie keys list`", "keys", "show", "Nothing")
	s.ok("analytics", "--key", "Site")
	s.ok("users", "invite", "grace@example.com")
	s.ok("users", "uninvite", "Grace@example.com")
	s.fails("there is no invitation", "users", "uninvite", "grace@example.com")
}
