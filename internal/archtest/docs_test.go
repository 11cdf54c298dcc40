package archtest_test

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// maxWords is the maximum length of a page, as counted by wc -w.
const maxWords = 1500

// maxCalls is the maximum number of calls from the route of a search to its snippets.
const maxCalls = 8

// pages returns the text of README.md, CONTRIBUTING.md and every page below docs, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	top, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	read := func(name string) error {
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		out[name] = string(text)
		return err
	}
	err = fs.WalkDir(os.DirFS(top), "docs", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		return read(name)
	})
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		if err == nil {
			err = read(name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("found %d pages, want all of docs", len(out))
	}
	return out
}

func TestNoPageIsTooLong(t *testing.T) {
	t.Parallel()
	for name, text := range pages(t) {
		if n := len(strings.Fields(text)); n > maxWords {
			t.Errorf("%s has %d words, want at most %d", name, n, maxWords)
		}
	}
}

var (
	fence   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)|(?:src|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	named   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// linksOf returns the targets of the links in a page.
func linksOf(text string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
		out = append(out, m[1]+m[2])
	}
	return out
}

// anchors returns the anchors that forges give the headings of a page.
func anchors(text string) map[string]bool {
	out := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		out[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, named.ReplaceAllString(m[1], "$1"))] = true
	}
	return out
}

func TestLinksBetweenPagesResolve(t *testing.T) {
	t.Parallel()
	top, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	all, links := pages(t), 0
	for name, text := range all {
		for _, target := range linksOf(text) {
			if strings.Contains(target, ":") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(target, "#")
			file = path.Join(path.Dir(name), file)
			if target[0] == '#' {
				file = name
			}
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: the link %s leads to no file", name, target)
			} else if anchor != "" && !anchors(all[file])[anchor] {
				t.Errorf("%s: the link %s leads to no heading", name, target)
			}
		}
	}
	if links < 100 {
		t.Errorf("found %d links, want all of docs", links)
	}
}

var sourcePath = regexp.MustCompile("`((?:agents|cmd|connectors|ent|graph|internal|rest|testdata|worker)(?:/[A-Za-z0-9_.-]+)+)`")

func TestPathsInPagesExist(t *testing.T) {
	t.Parallel()
	top, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	paths := 0
	for name, text := range pages(t) {
		for _, m := range sourcePath.FindAllStringSubmatch(text, -1) {
			paths++
			if _, err := os.Stat(filepath.Join(top, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}
	if paths < 50 {
		t.Errorf("found %d paths, want all of docs", paths)
	}
}

// TestEveryPageIsInAnIndex requires a link to each page from the index of docs or that
// of its folder.
func TestEveryPageIsInAnIndex(t *testing.T) {
	t.Parallel()
	all, listed := pages(t), map[string]bool{"docs/README.md": true}
	for _, index := range []string{"docs/README.md", "docs/connectors/index.md"} {
		for _, target := range linksOf(all[index]) {
			file, _, _ := strings.Cut(target, "#")
			listed[path.Join(path.Dir(index), file)] = true
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !listed[name] {
			t.Errorf("%s is in no index", name)
		}
	}
}

var roomLine = regexp.MustCompile("(?m)^\\| `([a-z]+)` \\| ")

func TestArchitecturePageListsEveryRoom(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(pages(t)["docs/architecture.md"], "| room | content |")
	if !found {
		t.Fatal("docs/architecture.md has no table of rooms")
	}
	listed := make(map[string]bool)
	for _, m := range roomLine.FindAllStringSubmatch(text, -1) {
		listed[m[1]] = true
	}
	rooms := make(map[string]bool)
	for _, f := range files(t) {
		if rest, ok := strings.CutPrefix(f.pkg, "internal/"); ok {
			room, _, _ := strings.Cut(rest, "/")
			rooms[room] = true
		}
	}
	for room := range rooms {
		if !listed[room] {
			t.Errorf("docs/architecture.md does not list internal/%s", room)
		}
	}
	for room := range listed {
		if !rooms[room] {
			t.Errorf("docs/architecture.md lists internal/%s, which does not exist", room)
		}
	}
}

var callLine = regexp.MustCompile("(?m)^[0-9]+\\. `([a-z]+)\\.([A-Za-z]+)\\.([A-Za-z]+)`")

// TestPathOfASearchIsShort checks that the calls that docs/architecture.md lists exist,
// and that they are few.
func TestPathOfASearchIsShort(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(pages(t)["docs/architecture.md"], "## The path of a search")
	text, _, _ = strings.Cut(text, "\n## ")
	calls := callLine.FindAllStringSubmatch(text, -1)
	if len(calls) == 0 || len(calls) > maxCalls {
		t.Errorf("docs/architecture.md lists %d calls, want 1 to %d", len(calls), maxCalls)
	}
	methods := make(map[string]bool)
	for _, f := range files(t) {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && !f.test() {
				receiver := fn.Recv.List[0].Type
				if pointer, ok := receiver.(*ast.StarExpr); ok {
					receiver = pointer.X
				}
				if name, ok := receiver.(*ast.Ident); ok {
					methods[f.syntax.Name.Name+"."+name.Name+"."+fn.Name.Name] = true
				}
			}
		}
	}
	for _, call := range calls {
		if name := strings.Join(call[1:], "."); !methods[name] {
			t.Errorf("docs/architecture.md names the call %s, which does not exist", name)
		}
	}
}

// TestReadmeHasTheFiguresOfTheDocs requires each row with figures of quality in README.md
// to be one of docs/search.md.
func TestReadmeHasTheFiguresOfTheDocs(t *testing.T) {
	t.Parallel()
	all, rows := pages(t), 0
	for line := range strings.Lines(all["README.md"]) {
		if !figures.MatchString(line) {
			continue
		}
		rows++
		if !strings.Contains(all["docs/search.md"], line) {
			t.Errorf("README.md has figures that docs/search.md does not have: %s", line)
		}
	}
	if rows == 0 {
		t.Error("README.md has no figures of quality")
	}
}

// figures matches a row of three pairs of measures.
var figures = regexp.MustCompile(`^\|.*( [01]\.\d{3} / [01]\.\d{3} \|){3}`)
