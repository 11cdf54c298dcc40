package graph_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/viewer"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A caller is a viewer with its name in the table.
type caller struct {
	name string
	viewer.Viewer
}

// callers returns all kinds of callers of a workspace.
func (h *fixture) callers(t *testing.T, n *tenant) []caller {
	t.Helper()
	all := []caller{{"anonymous", anonymous()}}
	for _, role := range []membership.Role{membership.RoleViewer, membership.RoleEditor, membership.RoleAdmin, membership.RoleOwner} {
		name := strings.ToLower(string(role))
		all = append(all, caller{name, h.member(t, n, name+"@roles.example", role)})
	}
	personal := caller{"admin's token", h.member(t, n, "token@roles.example", membership.RoleAdmin)}
	service := viewer.Viewer{Workspace: n.viewer.Workspace, Subject: gid.New(gid.Token), Kind: viewer.KindService, Surface: viewer.SurfaceDashboard,
		Role: viewer.RoleAdmin, AllCollections: true, AllGroups: true}
	personal.Token, personal.AllGroups = gid.New(gid.Token), true
	service.Token = service.Subject
	all = append(all, personal, caller{"service token", service})
	key := viewer.Viewer{Workspace: n.viewer.Workspace, Subject: n.key, Kind: viewer.KindKey, Surface: viewer.SurfaceDashboard, AllCollections: true, Secret: true}
	public := key
	public.Surface = viewer.SurfacePublic
	return append(all, caller{"key", key}, caller{"key on /v1", public})
}

// guarded returns the mutations and the queries that need a role.
func guarded() map[string]*ast.FieldDefinition {
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	out := map[string]*ast.FieldDefinition{}
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation} {
		for _, f := range root.Fields {
			if root == schema.Mutation || f.Directives.ForName("role") != nil {
				out[root.Name+"."+f.Name] = f
			}
		}
	}
	return out
}

func TestEveryGuardedFieldHasAValidCall(t *testing.T) {
	t.Parallel()
	fields := guarded()
	for field := range fields {
		if calls()[field] == nil {
			t.Errorf("%s has no valid call: give it a line in calls (graph/calls_test.go)", field)
		}
	}
	for field := range calls() {
		if fields[field] == nil {
			t.Errorf("calls (graph/calls_test.go) has %s, which is neither a mutation nor asks for a role", field)
		}
	}
}

// verdict returns the entry of the table for an answer.
func verdict(a answer) string {
	switch a.code() {
	case "unauthorized":
		return "401"
	case "forbidden":
		return "403"
	default:
		return "yes"
	}
}

// promised returns the verdict of the schema's directives for a caller; empty if the field
// decides.
func promised(f *ast.FieldDefinition, c caller) string {
	surface, role := f.Directives.ForName("surface"), f.Directives.ForName("role")
	if c.Kind == viewer.KindAnonymous {
		if surface.Arguments.ForName("anonymous") != nil {
			return "yes"
		}
		return "401"
	}
	if !slices.ContainsFunc(surface.Arguments.ForName("on").Value.Children, func(v *ast.ChildValue) bool { return v.Value.Raw == string(c.Surface) }) {
		return "403"
	}
	if c.Token != uuid.Nil {
		tokens := f.Directives.ForName("group").Arguments.ForName("tokens")
		if tokens != nil && (tokens.Value.Raw == "NONE" || c.Kind == viewer.KindService) {
			return "403"
		}
	}
	if role == nil {
		return ""
	}
	if c.Role.AtLeast(viewer.Role(strings.ToLower(role.Arguments.ForName("atLeast").Value.Raw))) {
		return "yes"
	}
	return "403"
}

// The table testdata/roles.txt documents which caller may do what. The test makes a valid
// call for each of its cells.
func TestTheTableOfRolesHolds(t *testing.T) {
	t.Parallel()
	h := newOpenFixture(t)
	ada := h.tenant(t, "ada")
	who := h.callers(t, ada)
	fields := guarded()
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	head := []string{"field"}
	for _, c := range who {
		head = append(head, c.name)
	}
	_, _ = fmt.Fprintln(table, strings.Join(head, "\t"))
	tried := 0
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		line := []string{field}
		for _, c := range who {
			got := h.place(t, c.Viewer, h.call(t, field, ada, c.Viewer))
			tried++
			said := verdict(got)
			line = append(line, said)
			if want := promised(fields[field], c); want != "" && said != want {
				t.Errorf("%s as %s: the schema promises %s: %s", field, c.name, want, got.body)
			}
			// The conversations of the calls are those of people.
			another := c.Kind == viewer.KindService && got.code() == "not_found"
			if said == "yes" && got.code() != "" && !another {
				t.Errorf("%s as %s: the call in calls (graph/calls_test.go) is not right: %s", field, c.name, got.body)
			}
		}
		_, _ = fmt.Fprintln(table, strings.Join(line, "\t"))
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls: %d fields as %d callers", tried, len(fields), len(who))
	if tried != len(fields)*len(who) {
		t.Errorf("%d calls were made of %d fields as %d callers", tried, len(fields), len(who))
	}
	golden(t, "roles.txt", text.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is no longer so (go test ./graph -run Roles -update rewrites it; review the difference):\n%s", path, got)
	}
}

// roleOnly returns the mutations that only @role guards, with the reason.
func roleOnly() map[string]string {
	return map[string]string{
		"Mutation.testConnection":         "it reads and writes nothing of the workspace",
		"Mutation.testConnector":          "it writes nothing but the audit log",
		"Mutation.refreshCollectionStats": "it recounts numbers that everybody may see",
		"Mutation.startOAuth":             "it stores only the begun flow; finishOAuth checks the role again",
	}
}

// Without @role, the policies of the entities refuse.
func TestThePoliciesRefuseLowRoles(t *testing.T) {
	t.Parallel()
	h := newOpenFixture(t)
	ada := h.tenant(t, "ada")
	who := h.callers(t, ada)
	server := graph.NewServer(h.resolver, graph.NewUnguardedSchema(h.resolver), graph.Options{})
	addTransports(server)
	h.server = server
	excused, tried := roleOnly(), 0
	for field, f := range guarded() {
		if !strings.HasPrefix(field, "Mutation.") || f.Directives.ForName("role") == nil {
			continue
		}
		for _, c := range who {
			if c.Kind != viewer.KindSession || c.Token != uuid.Nil || promised(f, c) != "403" {
				continue
			}
			got := h.place(t, c.Viewer, h.call(t, field, ada, c.Viewer))
			tried++
			if _, not := excused[field]; not {
				if got.code() != "" {
					t.Errorf("%s as %s is refused; take it off the list: %s", field, c.name, got.body)
				}
				continue
			}
			if got.code() != "forbidden" {
				t.Errorf("%s as %s, without @role: %s", field, c.name, got.body)
			}
		}
	}
	t.Logf("%d calls", tried)
	if tried < 20 {
		t.Errorf("only %d calls were made", tried)
	}
}
