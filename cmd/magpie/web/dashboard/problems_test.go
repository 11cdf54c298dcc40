package dashboard_test

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// unshown are the folders and files whose errors no dashboard gets, with who gets them.
var unshown = map[string]string{
	"agents/approval/slack/":             "Slack",
	"agents/integration/registry.go":     "programmers of integrations",
	"agents/tools/":                      "chat models",
	"connectors/gitwire/":                "operators: the connectors of repositories say what failed",
	"connectors/registry.go":             "programmers of connectors",
	"internal/devstack/":                 "developers",
	"internal/identity/application/":     "people who let a program in, on a page of its own",
	"internal/identity/people/directory": "directories, which send it to their operators",
	"internal/testkit/":                  "developers",
	"rest/authorize/":                    "people who let a program in",
	"rest/inbound.go":                    "platforms",
	"rest/mcp/":                          "MCP clients",
	"rest/querystring.go":                "programs: the dashboard reads by GraphQL",
	"rest/scim/":                         "directories",
	"rest/saml/":                         "browsers that a provider lets post",
	"rest/webhook.go":                    "platforms",
}

// isShown reports whether people get errors of a file from a dashboard.
func isShown(path string) bool {
	for part := range unshown {
		if strings.HasPrefix(path, part) {
			return false
		}
	}
	return true
}

// Errors with these codes are for programs: a dashboard has no API key and signs nothing, and its requests are well formed.
var codesForPrograms = []string{"InvalidKey", "KeyExpired", "InvalidSignature", "MethodNotAllowed", "UnsupportedMediaType"}

// Errors of connectors around these say that an item is gone, or that a delivery or an answer of git is refused; nobody is
// shown them.
var unshownCauses = []string{"ErrNotFound", "ErrDelivery", "ErrMalformed"}

// Errors of connectors around what they keep in the database: they fail with the service.
var keeping = regexp.MustCompile(`^(begin|delete|encode|forget|keep|remember|save|store|write|(read|look up) (what is known|the (connector's state|crawl|folders|saved|uploaded|list of|names of|objects|position|records)|changes( of pages)?:)|look up uploaded).*: \{\d\}$`)

// explainers are the functions that get the words of an error, with the places of these words, by folder.
var explainers = map[string]map[string][]int{
	"agents/integration/platform/":   {"words": {0}},
	"agents/integration/store/":      {"LostMessage": {0, 1}},
	"agents/run/":                    {"tooManyRuns": {0}},
	"connectors/":                    {"wrong": {0}},
	"connectors/restapi/":            {"describe": {0}},
	"internal/connector/credential/": {"LostMessage": {0, 1}},
	"internal/connector/oauth/":      {"LostMessage": {0, 1}},
	"internal/event/inbox/":          {"LostMessage": {0, 1}},
	"internal/identity/authn/":       {"refuse": {0}},
	"internal/identity/signon/":      {"errBadResponse": {0}},
	"internal/live/connection/":      {"full": {0}, "enter": {1}},
}

// explaining are the functions that return the words of an error, by folder. Others have a result with the name problem.
var explaining = map[string][]string{
	"agents/integration/platform/": {"advice", "inTime", "words"},
	"agents/integration/store/":    {"missing"},
	"agents/run/":                  {"modelFailureMessage"},
	"connectors/":                  {"checkText", "exampleHint", "parseDuration", "set", "toStrings"},
	"internal/identity/signon/":    {"reasonOf"},
	"internal/secret/":             {"LostMessage"},
}

// around has the texts before and after the words of an error that a function makes, by folder and name of the function.
var around = map[string][2]string{
	"agents/integration/platform/words": {"{} ", " ({}){}"},
	"connectors/restapi/describe":       {"{} ", " ({}){}"},
}

// An errorReader reads what the errors of a package say.
type errorReader struct {
	*reader
	folder    string
	constants map[string]string      // of the package
	told      map[*ast.CallExpr]bool // the calls that make what errors say
}

// tell adds what an error says, if that is more than names and values. Each {} around it is a value.
func (r errorReader) tell(e ast.Expr, before, after string) {
	ast.Inspect(e, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok && (nameOf(call.Fun) == "Errorf" || nameOf(call.Fun) == "Sprintf") {
			r.told[call] = true
		}
		return true
	})
	n := 0
	value := func(string) string { n++; return fmt.Sprintf("{%d}", n) }
	values := regexp.MustCompile(`\{\}`)
	before = values.ReplaceAllStringFunc(before, value)
	text := before + r.sentence(e, &n)
	if text = withoutSubject(text + values.ReplaceAllStringFunc(after, value)); keeping.MatchString(text) {
		return
	}
	if strings.ContainsFunc(regexp.MustCompile(`\{\d\}|config\.|credentials\.|arguments\.`).ReplaceAllString(text, ""), unicode.IsLetter) {
		r.said = append(r.said, text)
	}
}

// withoutSubject removes a value before a colon, which has words of its own, if any.
func withoutSubject(text string) string {
	text, ok := strings.CutPrefix(text, "{1}: ")
	for at := 2; ok && strings.Contains(text, fmt.Sprintf("{%d}", at)); at++ {
		text = strings.ReplaceAll(text, fmt.Sprintf("{%d}", at), fmt.Sprintf("{%d}", at-1))
	}
	return text
}

// source reports whether people get errors without a code from the package, as they do from connectors and integrations.
func (r errorReader) source() bool {
	return strings.HasPrefix(r.folder, "connectors/") || strings.HasPrefix(r.folder, "agents/integration/") || r.folder == "internal/httpx/"
}

// call reads a call that makes an error.
func (r errorReader) call(call *ast.CallExpr) {
	name, of := nameOf(call.Fun), ""
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		of = nameOf(selector.X)
	}
	hides := func(cause ast.Expr) bool { return slices.Contains(unshownCauses, nameOf(cause)) }
	switch {
	case of == "apierr" && name == "New" && !slices.Contains(codesForPrograms, nameOf(call.Args[0])), of == "apierr" && name == "Invalid":
		r.tell(call.Args[1], "", "")
	case of == "apierr" && name == "NotFound":
		r.tell(call.Args[0], "", " not found")
	case r.source() && (of == "errors" && name == "New" || of == "fmt" && name == "Errorf") && !slices.ContainsFunc(call.Args, hides):
		r.tell(call, "", "")
	}
	for _, at := range explainers[r.folder][name] {
		if at < len(call.Args) {
			format := &ast.CallExpr{Fun: ast.NewIdent("Sprintf"), Args: call.Args[at:]}
			r.tell(format, around[r.folder+name][0], around[r.folder+name][1])
		}
	}
}

// literal reads an error, and a table of problems.
func (r errorReader) literal(literal *ast.CompositeLit) {
	if name := nameOf(literal.Type); slices.Contains([]string{"Error", "OptionError", "Failure"}, name) {
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Message" {
				r.tell(pair.Value, "", "")
			}
		}
	} else if name == "mismatch" && len(literal.Elts) == 2 {
		r.tell(literal.Elts[1], "", "")
	} else if name == "closing" && len(literal.Elts) == 3 && nameOf(literal.Elts[2]) != "InvalidRequest" {
		r.tell(literal.Elts[1], "", "")
	}
	array, ok := literal.Type.(*ast.ArrayType)
	if !ok {
		return
	}
	if row, ok := array.Elt.(*ast.StructType); ok {
		at := slices.Index(namesOf(row.Fields), "problem")
		for _, element := range literal.Elts {
			if values, ok := element.(*ast.CompositeLit); ok && at >= 0 {
				r.tell(values.Elts[at], "", "")
			}
		}
	}
}

// function reads what a function returns as the words of an error.
func (r errorReader) function(function *ast.FuncDecl) {
	r.texts = maps.Clone(r.constants)
	ast.Inspect(function, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			r.constant(spec)
		}
		return true
	})
	if function.Body == nil || function.Type.Results == nil {
		return
	}
	at := slices.Index(namesOf(function.Type.Results), "problem") // -1: it returns none
	if slices.Contains(explaining[r.folder], function.Name.Name) {
		at = function.Type.Results.NumFields() - 1
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if at >= 0 && at < len(node.Results) {
				r.tell(node.Results[at], around[r.folder+function.Name.Name][0], "")
			}
		case *ast.AssignStmt:
			name := nameOf(node.Lhs[0])
			if len(node.Lhs) == len(node.Rhs) && (at >= 0 && name == "problem" || name == "Message" || name == "text" && r.folder == "internal/httpx/") {
				r.tell(node.Rhs[0], "", "")
			}
		}
		return true
	})
}

// namesOf returns the names of fields, and "" for those without one.
func namesOf(fields *ast.FieldList) (names []string) {
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			names = append(names, "")
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// readErrors reads the errors of each package that people get from a dashboard.
func readErrors(t *testing.T, done func(errorReader, source)) {
	t.Helper()
	readSources(t, func(s source, sentences *reader) {
		r := errorReader{sentences, s.folder, sentences.texts, map[*ast.CallExpr]bool{}}
		for name, file := range s.files {
			if isShown(s.folder + name) {
				ast.Inspect(file, func(node ast.Node) bool {
					switch node := node.(type) {
					case *ast.CallExpr:
						r.call(node)
					case *ast.CompositeLit:
						r.literal(node)
					case *ast.FuncDecl:
						r.function(node)
					}
					return true
				})
			}
		}
		r.texts = r.constants
		done(r, s)
	})
}

// problems returns what errors of the service say that people get from a dashboard.
func problems(t *testing.T) (said []string) {
	t.Helper()
	readErrors(t, func(r errorReader, _ source) { said = append(said, r.said...) })
	said = append(said, "viewer", "editor", "admin", "owner") // values that have words
	slices.Sort(said)
	return slices.Compact(said)
}

// What the service says when something fails is German in a German dashboard.
func TestGermanProblems(t *testing.T) {
	t.Parallel()
	other := map[string]string{}
	for _, family := range []string{"forms", "reasons"} {
		maps.Copy(other, wordsOf(t, family))
	}
	compare(t, "problems", slices.DeleteFunc(problems(t), func(text string) bool { return other[text] != "" }))
}
