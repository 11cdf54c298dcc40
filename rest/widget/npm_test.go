package widget_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		fmt.Sprintf("window.mounted = await mount(document.getElementById(\"place\"), {baseUrl: %q, key: \"svc_pk_x\", minScore: 0.2, filters: {section: \"guides\"}});</script>", d.url)
	b := visit(t, newSite(t).put(home, "/", page{bare: true, body: body}))
	b.Until("window.mounted")
	b.Is(`document.querySelector("#place > magpie-widget") !== null && window.MagpieWidget === undefined ? "placed" : ""`, "placed")
	b.Eval(`mounted.open({mode: "search", query: "backup"})`, nil)
	b.Until(`mounted.element.shadowRoot.querySelector("a.row .title")?.textContent === "About backup"`)
	if got := d.requests()[0]; !strings.Contains(got, `"min_score":0.2`) || !strings.Contains(got, `"section":"guides"`) {
		t.Errorf("the request is %s", got)
	}
	b.Eval(`mounted.unmount()`, nil)
	b.Eval(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "k", ctrlKey: true, bubbles: true}))`, nil)
	b.Is(`document.querySelector("magpie-widget") === null ? "gone" : ""`, "gone")
}
