package conformance_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// served writes the OpenAPI document of a running Magpie to a new folder and returns the
// folder.
func served(t *testing.T) string {
	t.Helper()
	s := start(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/openapi.json", nil)
	must(t, err)
	answer, err := s.client.Do(request)
	must(t, err)
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(answer.Body)
	must(t, err)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "openapi.json"), raw, 0o600))
	return folder
}

// npmTool returns a command of a package of the folder node, which works in another
// folder.
func npmTool(t *testing.T, folder, name string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs(filepath.Join("node", "node_modules", ".bin", name))
	must(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%s is not installed; run scripts/setup.sh --tests", name)
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = folder
	command.Env = append(command.Environ(), "CI=1", "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	return command
}

// The interface has paths of agents that match the same URLs: an id may stand where
// another path has from-template. The server prefers literal segments, which the rule
// cannot be told.
func TestRedoclyFindsNothingButThePathsOfTheInterface(t *testing.T) {
	t.Parallel()
	folder := served(t)
	excepted, err := os.ReadFile(filepath.Join("..", "..", "..", "rest", "testdata", ".redocly.lint-ignore.yaml"))
	must(t, err)
	for _, c := range []struct {
		name           string
		reported, kept int
	}{{"without the exceptions", 3, 0}, {"with them", 0, 3}} {
		if c.kept > 0 {
			must(t, os.WriteFile(filepath.Join(folder, ".redocly.lint-ignore.yaml"), excepted, 0o600))
		}
		command := npmTool(t, folder, "redocly", "lint", "openapi.json", "--format=json")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, out, stderrOf(err))
		}
		var report struct {
			Totals   struct{ Errors, Warnings, Ignored int }
			Problems []struct {
				RuleID, Message string
				Ignored         bool
			}
		}
		must(t, json.Unmarshal(out, &report))
		if got := report.Totals; got.Errors != 0 || got.Warnings != c.reported || got.Ignored != c.kept {
			t.Errorf("%s: %+v", c.name, got)
		}
		for _, problem := range report.Problems {
			if problem.RuleID != "no-ambiguous-paths" || !strings.Contains(problem.Message, "/api/v1/agents/from-template/{templateId}") {
				t.Errorf("%s: %s: %s", c.name, problem.RuleID, problem.Message)
			}
		}
	}
}

func TestOpenapiTypescriptGeneratesTypes(t *testing.T) {
	t.Parallel()
	folder := served(t)
	if out, err := npmTool(t, folder, "openapi-typescript", "openapi.json", "--output", "api.d.ts").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := `import type { components, operations, paths } from "./api";
type Found = components["schemas"]["SearchDocsResponseBody"];
export const asked: components["schemas"]["SearchDocsRequest"] = { query: "a", filters: { doc_types: ["guide"] } };
export const first = (found: Found): string | null => found.data.results[0]?.title ?? null;
export const wrong: components["schemas"]["Error"] = { error: { code: "forbidden", message: "Host not allowed" } };
export const event: components["schemas"]["ChatEvent"] = { event: "content", data: { delta: "a" } };
export type Made = operations["createConnector"]["responses"]["201"]["content"]["application/json"];
export type Path = paths["/v1/docs/search"]["post"];
`
	must(t, os.WriteFile(filepath.Join(folder, "use.ts"), []byte(program), 0o600))
	check := func() (string, error) {
		out, err := npmTool(t, folder, "tsc", "--noEmit", "--strict", "--target", "es2022", "--moduleResolution", "bundler", "--module", "esnext", "use.ts", "api.d.ts").CombinedOutput()
		return string(out), err
	}
	if out, err := check(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	must(t, os.WriteFile(filepath.Join(folder, "use.ts"), []byte(strings.Replace(program, `{ query: "a"`, `{ query: 1`, 1)), 0o600))
	if out, err := check(); err == nil || !strings.Contains(out, "TS2322") {
		t.Errorf("a query that is a number is accepted: %v\n%s", err, out)
	}
}

// clashes returns what the compiler would refuse in generated code apart from its use of
// other packages: names that are declared twice, above all. It reads no other package.
func clashes(t *testing.T, code string) (problems []string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "openapi.go", code, parser.SkipObjectResolution)
	must(t, err)
	check := types.Config{Importer: unread{}, Error: func(err error) {
		if !strings.Contains(err.Error(), errUnread.Error()) {
			problems = append(problems, err.Error())
		}
	}}
	_, _ = check.Check("openapi", files, []*ast.File{file}, nil) // Error gets the errors
	return problems
}

// unread imports packages about which nothing is known but their names.
type unread struct{}

var errUnread = errors.New("the package is not read")

// Import implements types.Importer.
func (unread) Import(file string) (*types.Package, error) {
	return types.NewPackage(file, path.Base(strings.TrimSuffix(file, "/v4"))), errUnread
}

func TestNamesThatClashAreNoticed(t *testing.T) {
	t.Parallel()
	const code = "package openapi\nimport (\n\"net/http\"\n\"github.com/labstack/echo/v4\"\n)\ntype Agent struct{ C *http.Client; E echo.Context }\nfunc (a Agent) Name() Tool { return a.C.Name }\ntype Tool string\n"
	for more, want := range map[string]string{
		"": "", "type Agent string": "Agent redeclared", "func (a Agent) Name() {}": "Agent.Name", "type Found struct{ A int; A string }": "A redeclared", "var found Missing": "undefined: Missing",
	} {
		problems := clashes(t, code+more)
		if (len(problems) > 0) != (want != "") || !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("%q: %q", more, problems)
		}
	}
}

// The module of the generator also has what its code imports by default.
func TestOapiCodegenGeneratesCodeThatCompiles(t *testing.T) {
	t.Parallel()
	folder := served(t)
	source := filepath.Join("..", "..", "..", "internal", "tools", "oapicodegen")
	for _, name := range []string{"go.mod", "go.sum", "generated.go"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	run := func(arguments ...string) (string, string, error) {
		command := exec.CommandContext(t.Context(), "go", arguments...)
		command.Dir = folder
		command.Env = append(command.Environ(), "GOWORK=off", "GOFLAGS=-trimpath")
		out, err := command.Output()
		return string(out), stderrOf(err), err
	}
	if _, problem, err := run("mod", "download"); err != nil {
		t.Fatalf("the modules of the generator are not here, and cannot be downloaded: %s", problem)
	}
	code, problem, err := run("tool", "oapi-codegen", "openapi.json")
	if err != nil {
		t.Fatalf("%v\n%s", err, problem)
	}
	for _, want := range []string{"func (c *Client) SearchDocs(", "func (c *Client) CreateConnector(", "type ServerInterface interface"} {
		if !strings.Contains(code, want) {
			t.Errorf("the code has no %s", want)
		}
	}
	if problems := clashes(t, code); len(problems) > 0 {
		t.Fatalf("the code has %d mistakes: %.2000s", len(problems), strings.Join(problems, "\n"))
	}
	if testing.Short() {
		return // compiling what the code imports takes a minute
	}
	must(t, os.Mkdir(filepath.Join(folder, "openapi"), 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "openapi", "openapi.go"), []byte(code), 0o600))
	if _, problem, err := run("build", "./openapi"); err != nil {
		t.Fatalf("%v\n%s", err, problem)
	}
}
