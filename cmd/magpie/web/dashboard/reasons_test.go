package dashboard_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tellers are the functions that get sentences for people, with the places of these
// arguments, and the fields that do, by folder.
func tellers() map[string]map[string][]int {
	return map[string]map[string][]int{
		"agents/automation":           {"SetReason": {0}, "SetDisabledReason": {0}, "Reason": nil},
		"connectors":                  {"Skip": {0}, "warn": {0}, "Notice": {1}, "Warnings": nil},
		"internal/collection":         {"fail": {0}, "Reason": nil},
		"internal/collection/whynot":  {"conclude": {1, 2}},
		"internal/connector":          {"Message": nil},
		"internal/event/inbox":        {"Message": nil},
		"internal/identity/principal": {"set": {2}},
		"internal/ingest":             {"Reason": nil, "LimitError.Detail": nil},
		"internal/model":              {"Brief": nil, "Advice": nil},
		"internal/model/bedrock":      {"refusal": {2}},
		"internal/syncjob":            {"SetReason": {0}},
		"internal/system":             {"warn": {1, 2}},
		"worker/syncer":               {"Warn": {0}, "recordOutcome": {3}, "message": nil, "Reason": nil},
	}
}

// A reader reads sentences in Go, with {1}, {2} for the values in them.
type reader struct {
	texts map[string]string // the constants of the package
	said  []string
	all   *strings.Builder // all strings
}

// sentence returns the sentence that an expression makes, whose values follow after n
// others. It is "" for what only runs tell.
func (r *reader) sentence(e ast.Expr, n *int) string {
	value := func() string { *n++; return fmt.Sprintf("{%d}", *n) }
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return r.sentence(e.X, n) + r.sentence(e.Y, n)
	case *ast.Ident:
		if text := r.texts[e.Name]; text != "" {
			return text
		}
	case *ast.ParenExpr:
		return r.sentence(e.X, n)
	case *ast.CompositeLit:
		if len(e.Elts) == 1 {
			return r.sentence(e.Elts[0], n)
		}
	case *ast.CallExpr:
		switch name := nameOf(e.Fun); {
		case name == "append" && len(e.Args) == 2:
			return r.sentence(e.Args[1], n)
		case name == "redact" || name == "New" || name == "truncated":
			return r.sentence(e.Args[0], n)
		case name == "Sprintf" || name == "Errorf":
			return regexp.MustCompile(`%(%|[.0-9]*[a-z])`).ReplaceAllStringFunc(r.sentence(e.Args[0], n), func(verb string) string {
				switch verb {
				case "%%":
					return "%"
				case "%q":
					return `"` + value() + `"`
				}
				return value()
			})
		}
	}
	return value()
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// read reads what a file tells.
func (r *reader) read(file *ast.File, told map[string][]int) {
	tell := func(e ast.Expr) {
		n := 0
		if text := r.sentence(e, &n); strings.Trim(regexp.MustCompile(`\{\d\}`).ReplaceAllString(text, ""), " :.;") != "" {
			r.said = append(r.said, text)
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(node.Value); err == nil && node.Kind == token.STRING {
				r.all.WriteString(text + "\n")
			}
		case *ast.BinaryExpr:
			n := 0
			r.all.WriteString(r.sentence(node, &n) + "\n")
		case *ast.CallExpr:
			for _, at := range told[nameOf(node.Fun)] {
				if at < len(node.Args) {
					tell(node.Args[at])
				}
			}
		case *ast.KeyValueExpr:
			if places, ok := told[nameOf(node.Key)]; ok && places == nil {
				tell(node.Value)
			}
		case *ast.CompositeLit:
			for _, element := range node.Elts {
				if pair, ok := element.(*ast.KeyValueExpr); ok {
					if _, ok := told[nameOf(node.Type)+"."+nameOf(pair.Key)]; ok {
						tell(pair.Value)
					}
				}
			}
		case *ast.AssignStmt:
			for i, left := range node.Lhs {
				if field, ok := left.(*ast.SelectorExpr); ok && i < len(node.Rhs) {
					if places, ok := told[field.Sel.Name]; ok && places == nil {
						tell(node.Rhs[i])
					}
				}
			}
		}
		return true
	})
}

// A source is a package of the service.
type source struct {
	folder string // from the root of the repository
	files  map[string]*ast.File
}

// packages returns the packages of the service that say something.
var packages = sync.OnceValues(func() ([]source, error) {
	const root = "../../../.."
	found := map[string]map[string]*ast.File{}
	for _, folder := range []string{"agents", "connectors", "graph", "internal", "rest", "worker"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "generated" || strings.HasSuffix(d.Name(), "test")) {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			within, name := filepath.Split(strings.TrimPrefix(path, root+"/"))
			if found[within] == nil {
				found[within] = map[string]*ast.File{}
			}
			found[within][name] = file
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var out []source
	for _, folder := range slices.Sorted(maps.Keys(found)) {
		out = append(out, source{folder, found[folder]})
	}
	return out, nil
})

// readSources calls read with each package and a reader of its sentences.
func readSources(t *testing.T, read func(source, *reader)) {
	t.Helper()
	all, err := packages()
	if err != nil || len(all) < 100 {
		t.Fatalf("%d packages, %v", len(all), err)
	}
	for _, s := range all {
		read(s, &reader{texts: constants(slices.Collect(maps.Values(s.files))), all: &strings.Builder{}})
	}
}

// sentences returns the sentences that the service makes, and all its strings.
func sentences(t *testing.T) (said []string, all string) {
	t.Helper()
	var strs strings.Builder
	readSources(t, func(s source, r *reader) {
		if strings.HasPrefix(s.folder, "rest/") {
			return
		}
		told := map[string][]int{}
		for within, names := range tellers() {
			if strings.HasPrefix(s.folder, within+"/") {
				maps.Copy(told, names)
			}
		}
		for _, file := range s.files {
			r.read(file, told)
		}
		said = append(said, r.said...)
		strs.WriteString(r.all.String())
	})
	return said, strs.String()
}

// constants returns the strings among the constants of a package.
func constants(files []*ast.File) map[string]string {
	r := reader{texts: map[string]string{}}
	for range 2 { // some consist of others
		for _, file := range files {
			for _, declared := range file.Decls {
				if declaration, ok := declared.(*ast.GenDecl); ok && declaration.Tok != token.IMPORT && declaration.Tok != token.TYPE {
					for _, spec := range declaration.Specs {
						r.constant(spec.(*ast.ValueSpec))
					}
				}
			}
		}
	}
	return r.texts
}

func (r *reader) constant(spec *ast.ValueSpec) {
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			continue
		}
		switch spec.Values[i].(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			n := 0
			if text := r.sentence(spec.Values[i], &n); n == 0 {
				r.texts[name.Name] = text
			}
		}
	}
}

// What the service explains is German in a German dashboard: what it skips, why a
// document is not found, what to do.
func TestGermanReasons(t *testing.T) {
	t.Parallel()
	said, all := sentences(t)
	words := wordsOf(t, "reasons")
	slices.Sort(said)
	for _, text := range slices.Compact(said) {
		if words[text] == "" {
			t.Errorf("src/words/reasons.de.json lacks %q", text)
		}
	}
	values := regexp.MustCompile(`\{\d\}|"`)
	all = strings.ToLower(all)
	for text := range words {
		for _, part := range values.Split(text, -1) {
			if !strings.Contains(all, strings.ToLower(part)) {
				t.Errorf("src/words/reasons.de.json has %q, and nothing says %q", text, part)
			}
		}
	}
}
