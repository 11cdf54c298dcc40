package widget_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest/widget"
)

func TestTheNpmPackageIsInstalledAndSearches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Fatal("npm is missing, which packs and installs the package; install Node.js with npm: scripts/setup.sh --tests")
	}
	m := start(t, map[string]string{"restore.md": "# Restore a backup\n\nTo restore a backup, stop the server first."})
	_, secret := m.key("search.example.com", nil)
	files, err := widget.Package("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	source, project := t.TempDir(), t.TempDir()
	write := func(folder, name, content string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		write(source, name, string(content))
	}
	run := func(program string, arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Dir = project
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	write(project, "package.json", `{"name": "site", "private": true, "type": "module"}`)
	run("npm", "pack", "--loglevel=error", "--pack-destination", project, source)
	run("npm", "install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", "./magpie-search-1.2.3.tgz")
	write(project, "use.mjs", fmt.Sprintf(`import { Magpie } from "magpie-search";
import { mount } from "magpie-search/widget";
const magpie = new Magpie({ baseUrl: %q, key: %q });
const { results, requestId } = await magpie.search({ query: "restore a backup", min_score: 0 });
const { titles } = await magpie.suggest("resto");
await magpie.record({ type: "click", request_id: requestId, result_id: results[0].id });
let answer = "";
for await (const event of magpie.chat("How do I restore a backup?")) if (event.type === "content") answer += event.delta;
console.log(results[0].title, "|", titles[0]?.title, "|", answer.includes("stop the server"), "|", typeof mount);
`, m.URL, secret))
	if got := strings.TrimSpace(run("node", "use.mjs")); got != "Restore a backup | Restore a backup | true | function" {
		t.Errorf("the script prints %s", got)
	}

	compiler, err := filepath.Abs(filepath.Join("..", "..", "cmd", "magpie", "conformance", "node", "node_modules", ".bin", "tsc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(compiler); err != nil {
		t.Fatal("TypeScript is not installed; run scripts/setup.sh --tests")
	}
	program := `import { Magpie, type SearchResults } from "magpie-search";
import { mount, type Widget } from "magpie-search/widget";
const magpie = new Magpie({ baseUrl: "https://search.example.com", key: "svc_pk_a" });
export const found: Promise<SearchResults> = magpie.search({ query: "a", limit: 3 });
export const widget: Promise<Widget> = mount(document.body, { baseUrl: "https://search.example.com", key: "svc_pk_a", theme: "dark" });
`
	write(project, "use.ts", program)
	arguments := []string{"--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.asynciterable", "--module", "nodenext", "use.ts"}
	run(compiler, arguments...)
	write(project, "use.ts", strings.Replace(program, `"dark"`, `"blue"`, 1))
	command := exec.CommandContext(t.Context(), compiler, arguments...)
	command.Dir = project
	if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "TS2322") {
		t.Errorf("a theme that does not exist is accepted: %v\n%s", err, out)
	}
}

func TestAMountedWidgetSearchesAndIsRemoved(t *testing.T) {
	t.Parallel()
	files, err := widget.Package("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	d := newDouble(t)
	d.answers(echo(nil), nil)
	// One module instead of two: nothing of a package is served under its name.
	module := regexp.MustCompile(`(?m)^(import|export) .*$`).ReplaceAllString(string(files["index.js"])+string(files["widget.js"]), "")
	body := `<main><div id="place"></div></main><script type="module">` + module +
		fmt.Sprintf("window.mount = mount; window.mounted = await mount(document.getElementById(\"place\"), {baseUrl: %q, key: \"svc_pk_x\", minScore: 0.2, filters: {section: \"guides\"}});</script>", d.url)
	b := visit(t, newSite(t).put(home, "/", page{bare: true, body: body}))
	b.Until("window.mounted")
	b.Is(`document.querySelector("#place > magpie-widget") !== null && window.MagpieWidget === undefined ? "placed" : ""`, "placed")
	b.Eval(`mounted.open({mode: "search", query: "backup"})`, nil)
	b.Until(`mounted.element.shadowRoot.querySelector("a.row .title")?.textContent === "About backup"`)
	if got := d.requests()[0]; !strings.Contains(got, `"min_score":0.2`) || !strings.Contains(got, `"section":"guides"`) {
		t.Errorf("the request is %s", got)
	}
	// A second one has no button and no keys, as of two script elements.
	b.Eval(`(async () => { window.other = await mount(document.querySelector("main"), {baseUrl: "`+d.url+`", key: "svc_pk_x", name: "other"}); })()`, nil)
	b.Until("window.other")
	b.Eval(`mounted.close()`, nil)
	b.Eval(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`, nil)
	b.Is(`[mounted, other].map((one) => one.element.shadowRoot.querySelector("dialog").open).join()`, "true,false")
	b.Is(`[mounted, other].map((one) => one.element.shadowRoot.querySelector(".launch") !== null).join()`, "true,false")
	b.Eval(`mounted.close()`, nil)
	b.Eval(`other.unmount()`, nil)
	b.Eval(`mounted.unmount()`, nil)
	b.Eval(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`, nil)
	b.Is(`document.querySelector("magpie-widget") === null ? "gone" : ""`, "gone")
}

func TestTheTypesHaveTheFieldsOfASearch(t *testing.T) {
	t.Parallel()
	types, err := os.ReadFile(filepath.Join("asset", "magpie.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(types), "export interface SearchResults {")
	declared, _, end := strings.Cut(after, "\n}")
	if !found || !end {
		t.Fatal("SearchResults is not declared")
	}
	var got []string
	for _, field := range regexp.MustCompile(`(?m)^  (\w+)\??:`).FindAllStringSubmatch(declared, -1) {
		got = append(got, field[1])
	}
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	at := func(node any, keys ...string) map[string]any {
		for _, key := range keys {
			object, _ := node.(map[string]any)
			if node = object[key]; node == nil {
				t.Fatalf("the document has no %s of %v", key, keys)
			}
			if target, ok := node.(map[string]any)["$ref"].(string); ok {
				node = document
				for part := range strings.SplitSeq(strings.TrimPrefix(target, "#/"), "/") {
					node = node.(map[string]any)[part]
				}
			}
		}
		return node.(map[string]any)
	}
	fields := at(document, "paths", "/v1/docs/search", "post", "responses", "200", "content", "application/json", "schema", "properties", "data", "properties")
	if want := slices.Sorted(maps.Keys(fields)); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("SearchResults has %v, the document %v", got, want)
	}
}
