package dashboard_test

import (
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A parameter is one of a function: of those of this folder, or of any if the name is exported.
type parameter struct {
	folder, function string
	at               int
}

// values finds the texts that the service puts into its errors in the places of values: those that get there as arguments
// of functions, by variables, or from fields of structs.
type values struct {
	parameters map[parameter]bool
	fields     map[string]bool // folder and name
	found      map[string]bool // the texts, with {1}, {2} for values in them
}

// A function is one that the values of errors may go through.
type function struct {
	source
	reader     *reader
	name       string
	body       *ast.BlockStmt
	parameters map[string]int
	variables  map[string][]ast.Expr // what is assigned
}

// functionsOf returns the functions of a package.
func functionsOf(s source, r *reader) (all []function) {
	for name, file := range s.files {
		for _, declared := range file.Decls {
			declaration, ok := declared.(*ast.FuncDecl)
			if !ok || declaration.Body == nil || !isShown(s.folder+name) {
				continue
			}
			f := function{source: s, reader: r, name: declaration.Name.Name, body: declaration.Body, parameters: map[string]int{}, variables: map[string][]ast.Expr{}}
			for at, name := range namesOf(declaration.Type.Params) {
				f.parameters[name] = at
			}
			ast.Inspect(f.body, func(node ast.Node) bool {
				if assigned, ok := node.(*ast.AssignStmt); ok && len(assigned.Lhs) == len(assigned.Rhs) {
					for i, left := range assigned.Lhs {
						f.variables[nameOf(left)] = append(f.variables[nameOf(left)], assigned.Rhs[i])
					}
				}
				return true
			})
			all = append(all, f)
		}
	}
	return all
}

// follow finds where a value of a function comes from. Variables that consist of others are followed over a few steps.
func (v values) follow(f function, e ast.Expr, steps int) {
	n := 0
	text := f.reader.sentence(e, &n)
	if strings.ContainsFunc(strings.ReplaceAll(text, "{1}", ""), unicode.IsLower) && strings.Contains(text, " ") {
		v.found[text] = true
		return
	}
	switch e := e.(type) {
	case *ast.Ident:
		if at, ok := f.parameters[e.Name]; ok {
			v.parameters[parameter{f.folder, f.name, at}] = true
		}
		for _, assigned := range f.variables[e.Name] {
			if steps > 0 {
				v.follow(f, assigned, steps-1)
			}
		}
	case *ast.SelectorExpr:
		v.fields[f.folder+e.Sel.Name] = true
	}
}

// read follows what a function passes on, and the values of the errors that it makes.
func (v values) read(f function, told map[*ast.CallExpr]bool) {
	ast.Inspect(f.body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			name := nameOf(node.Fun)
			for at, argument := range node.Args {
				if told[node] && at > 0 || v.parameters[parameter{f.folder, name, at}] || v.parameters[parameter{"", name, at}] {
					v.follow(f, argument, 3)
				}
			}
		case *ast.KeyValueExpr:
			if v.fields[f.folder+nameOf(node.Key)] {
				v.follow(f, node.Value, 3)
			}
		}
		return true
	})
}

// valuesOfErrors returns the texts in errors that people get from a dashboard.
func valuesOfErrors(t *testing.T) []string {
	t.Helper()
	var functions []function
	told := map[*ast.CallExpr]bool{}
	readErrors(t, func(r errorReader, s source) {
		functions = append(functions, functionsOf(s, r.reader)...)
		maps.Copy(told, r.told)
	})
	v := values{map[parameter]bool{}, map[string]bool{}, map[string]bool{}}
	for known := -1; known < len(v.parameters)+len(v.fields); {
		known = len(v.parameters) + len(v.fields)
		for _, f := range functions {
			v.read(f, told)
		}
		for p := range v.parameters {
			if unicode.IsUpper(rune(p.function[0])) {
				v.parameters[parameter{"", p.function, p.at}] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(v.found))
}

// What the service puts into its errors is German in a German dashboard, too: names of what it was doing and of what is
// wrong. Other values are names of settings, numbers and texts of people.
func TestGermanValues(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for _, family := range []string{"forms", "reasons", "problems"} {
		maps.Copy(texts, wordsOf(t, family))
	}
	isWord := regexp.MustCompile(`(^| )[a-z]+( |$)`)
	compare(t, "values", slices.DeleteFunc(valuesOfErrors(t), func(value string) bool { return texts[value] != "" || !isWord.MatchString(value) }))
}
