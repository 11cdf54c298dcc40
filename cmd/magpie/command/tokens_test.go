package command_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

func TestServiceTokensAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var made struct {
		Secret string
		Token  struct{ ID, Kind, Status string }
	}
	s.read(&made, "tokens", "create", "--name", "CI", "--role", "editor", "--group", "connectors", "--group", "documents", "--expires", "24h")
	if !strings.HasPrefix(made.Secret, "mgp_svc_") || made.Token.Kind != "SERVICE" {
		t.Errorf("%+v", made)
	}
	if out := s.ok("tokens"); !strings.Contains(out, "editor: connectors documents") || !strings.Contains(out, "active") || strings.Contains(out, made.Secret) {
		t.Errorf("%s", out)
	}
	s.ok("tokens", "create", "--name", "Directory", "--role", "admin", "--group", "scim")
	s.fails("name", "tokens", "create", "--name", "ci", "--role", "viewer", "--group", "search")
	s.fails("EVERYTHING", "tokens", "create", "--name", "All", "--role", "viewer", "--group", "everything")
	s.fails("owner", "tokens", "create", "--name", "All", "--role", "owner", "--group", "search")
	s.ok("tokens", "revoke", made.Token.ID)
	if out := s.ok("tokens", "list"); !strings.Contains(out, "revoked") {
		t.Errorf("%s", out)
	}
	s.fails("not found", "tokens", "revoke", "00000000-0000-0000-0000-000000000000")
}

// serviceToken makes a service token of an editor for some groups of operations.
func serviceToken(m *stacktest.Magpie, groups ...string) string {
	var made struct{ CreateServiceToken struct{ Secret string } }
	m.GraphQL(&made, `mutation($g: [OperationGroup!]!) { createServiceToken(input: {name: "Pipeline", role: EDITOR, groups: $g}) { secret } }`, map[string]any{"g": groups})
	return made.CreateServiceToken.Secret
}

func TestTheStatusIsShownToATokenWithoutCollections(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s := as(t, m, serviceToken(m, "CONNECTORS"))
	var got struct {
		URL              string
		System, Changing any
	}
	if s.read(&got, "status"); got.URL != m.URL || got.System != nil || got.Changing != nil {
		t.Errorf("%+v", got)
	}
	if o := s.run("status"); o.code != 0 || !strings.Contains(o.out, m.URL) || !strings.Contains(o.err, "administrators") {
		t.Errorf("%+v", o)
	}
	s.fails("COLLECTIONS", "collections")
}

func TestATokenForConnectorsNamesThem(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	owner := as(t, m, personalToken(m))
	owner.ok("collections", "create", "Handbook")
	owner.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Handbook")
	s := as(t, m, serviceToken(m, "CONNECTORS"))
	var job struct{ Status string }
	if s.read(&job, "sync", "start", "Files"); job.Status != "COMPLETED" {
		t.Errorf("%+v", job)
	}
	for _, arguments := range [][]string{{"connectors"}, {"connectors", "show", "Files"}} {
		if out := s.ok(arguments...); !strings.Contains(out, "Handbook") || !strings.Contains(out, "Files") {
			t.Errorf("%q: %s", arguments, out)
		}
	}
	if out := (&shell{t: t}).ok(append(append([]string{"__complete", "bash"}, s.flags...), "sync", "start", "")...); !strings.Contains(out, "Files") {
		t.Errorf("completion: %s", out)
	}
}
