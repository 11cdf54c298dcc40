package stack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// hostileCPU bounds what one hostile document costs the process, the test's own
// client included. The aim for strangers is a tenth of it; the rest is for busy machines.
const hostileCPU = 500 * time.Millisecond

// filled repeats part, numbered, until a document has about n bytes.
func filled(n int, before, part, after string) string {
	var b strings.Builder
	b.WriteString(before)
	for i := 0; b.Len()+len(part)+len(after)+8 < n; i++ {
		b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
	}
	return b.String() + after
}

func nested(n int, before, open, inside, shut, after string) string {
	levels := max(1, (n-len(before)-len(inside)-len(after))/(len(open)+len(shut)))
	return before + strings.Repeat(open, levels) + inside + strings.Repeat(shut, levels) + after
}

// bomb is fragments of which each takes the next one twice.
func bomb(levels int, spread string) string {
	var b strings.Builder
	b.WriteString("{ me { ...F0 } }")
	for i := range levels {
		fmt.Fprintf(&b, " fragment F%d on Me { "+spread+" }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Me { role }", levels)
	return b.String()
}

// hostile are documents of about n bytes that were made to cost much.
func hostile() map[string]func(n int) string {
	return map[string]func(n int) string{
		"nested lists, never closed":  func(n int) string { return "{ me(a: " + strings.Repeat("[", n-8) },
		"nested lists":                func(n int) string { return nested(n, "{ nodes(ids: ", "[", "", "]", ") { id } }") },
		"nested objects":              func(n int) string { return nested(n, "{ search(input: ", "{a:", "1", "}", ") { total } }") },
		"nested list types":           func(n int) string { return nested(n, "query($a: ", "[", "ID", "]", ") { __typename }") },
		"nested selections":           func(n int) string { return nested(n, "", "{a", "", "}", "") },
		"nested inline fragments":     func(n int) string { return nested(n, "{", "...{", "__typename", "}", "}") },
		"nested merged selections":    func(int) string { return "{" + doubled(12) + "}" },
		"one field, again and again":  func(n int) string { return filled(n, "{ me { user {", " id", " } } }") },
		"one object, again and again": func(n int) string { return filled(n, "{", " me{role}", " }") },
		"nested fields, again":        func(n int) string { return filled(n, "{", " me{user{id}workspace{id}}", " }") },
		"many aliases":                func(n int) string { return filled(n, "{", " a#:me{role}", " }") },
		"many sign-ins": func(n int) string {
			return filled(n, "mutation {", ` a#:signIn(input:{email:"a@example.com",password:"x"}){accessToken}`, " }")
		},
		"sign-ins in a fragment": func(n int) string {
			return filled(n, "mutation { ...F } fragment F on Mutation {", ` a#:signIn(input:{email:"a@example.com",password:"x"}){accessToken}`, " }")
		},
		"a fragment bomb of 24 levels": func(int) string { return bomb(24, "...F%d ...F%d") },
		"a fragment bomb of 40 levels": func(int) string { return bomb(40, "...F%d ...F%d") },
		"a bomb of merged fields":      func(int) string { return "{ me { user { ...F0 } } }" + userBomb(40) },
		"a cycle of fragments":         func(int) string { return "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }" },
		"a chain of fragments":         chain,
		"fragments with all others":    netted,
		"spreads of one fragment":      func(n int) string { return filled(n, "{", " ...F", " } fragment F on Query { me { role } }") },
		"many fragments":               func(n int) string { return filled(n, "{ __typename }", " fragment F# on Me { role }", "") },
		"fragments of one name":        func(n int) string { return filled(n, "{ ...F }", " fragment F on Query { me { role } }", "") },
		"many operations":              func(n int) string { return filled(n, "", " query Q# { __typename }", "") },
		"operations with one fragment": func(n int) string {
			return filled(n, "fragment F on Query { me { role user { id } } }", " query Q# { ...F }", "")
		},
		"many variables": func(n int) string { return filled(n, "query(", "$a#:ID ", ") { __typename }") },
		"uses of many variables": func(n int) string {
			return filled(n/2, "query(", "$a#:ID! ", ")") + filled(n/2, "{", " n#:node(id:$a#){id}", "}")
		},
		"many arguments":                func(n int) string { return filled(n, "{ me(", "a#:1 ", ") { role } }") },
		"one argument, again and again": func(n int) string { return filled(n, "{ node(", "id:1 ", ") { id } }") },
		"many fields of an input":       func(n int) string { return filled(n, "{ search(input:{", "a#:1 ", "}) { total } }") },
		"a list of many values":         func(n int) string { return filled(n, "{ nodes(ids:[", "1 ", "]) { id } }") },
		"many directives":               func(n int) string { return filled(n, "{ __typename", "@skip(if:true)", " }") },
		"many unknown directives":       func(n int) string { return filled(n, "{ __typename", "@a#", " }") },
		"a long name":                   func(n int) string { return "{ " + strings.Repeat("a", n-4) + " }" },
		"many misspelled fields":        func(n int) string { return filled(n, "{", " colections# conectors#", " }") },
		"many long misspelled fields":   func(n int) string { return filled(n, "{", " "+strings.Repeat("collection", 20)+"#", " }") },
		"many misspelled types":         func(n int) string { return filled(n, "{", " ...on Colection#{id}", " }") },
		"many type conditions": func(n int) string {
			return filled(n, "{ node(id:1) {", " ...on Collection{id} ...on Document{id} ...on Connector{id}", " } }")
		},
		"comments":                        func(n int) string { return filled(n, "", "#\n", "{ me { role } }") },
		"a long comment":                  func(n int) string { return "#" + strings.Repeat("x", n-20) + "\n{ me { role } }" },
		"comments in a list of values":    func(n int) string { return filled(n, "{ nodes(ids:[", "1 #\n", "]) { id } }") },
		"a block string of lines":         func(n int) string { return `{ node(id: """` + strings.Repeat("\n ", n/2-20) + `""") { id } }` },
		"a block string of quotes":        func(n int) string { return `{ node(id: """` + strings.Repeat(`"" `, n/3-20) + `""") { id } }` },
		"block strings":                   func(n int) string { return filled(n, "{ nodes(ids:[", `""""""`, "]) { id } }") },
		"a string of escapes":             func(n int) string { return `{ node(id: "` + strings.Repeat(`\u0041`, n/6-10) + `") { id } }` },
		"a string without an end":         func(n int) string { return `{ node(id: "` + strings.Repeat("x", n-12) },
		"a long number":                   func(n int) string { return "{ node(id: " + strings.Repeat("9", n-30) + ") { id } }" },
		"many commas":                     func(n int) string { return "{ me { role } }" + strings.Repeat(",", n-20) },
		"byte order marks":                func(n int) string { return strings.Repeat("\ufeff", n/3-10) + "{ me { role } }" },
		"characters that GraphQL has not": func(n int) string { return strings.Repeat("☃", n/3) },
		"the schema, again and again":     func(n int) string { return filled(n, "{ __schema { types {", " a#:fields{type{name}}", " } } }") },
		"the schema, nested": func(n int) string {
			return nested(n, "{ __schema { types { ", "ofType {", "name", "}", " } } }")
		},
	}
}

// doubled are selections of which each has the next one twice.
func doubled(levels int) string {
	if levels == 0 {
		return "id"
	}
	inside := doubled(levels - 1)
	return "a{" + inside + "} a{" + inside + "}"
}

// userBomb is fragments of which each has two fields with the next one, which
// are to be merged.
func userBomb(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, " fragment F%d on User { memberships { user { ...F%d } } memberships { user { ...F%d } } }", i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf(" fragment F%d on User { id }", levels)
}

func chain(n int) string {
	var b strings.Builder
	b.WriteString("{ me { ...F0 } }")
	i := 0
	for ; b.Len() < n-200; i++ {
		fmt.Fprintf(&b, " fragment F%d on Me { role ...F%d }", i, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Me { role }", i)
	return b.String()
}

// netted is fragments of which each takes all those after it.
func netted(n int) string {
	var b strings.Builder
	b.WriteString("{ me { ...F0 } }")
	count := 1
	for count*count*3 < n {
		count++
	}
	for i := range count {
		fmt.Fprintf(&b, " fragment F%d on Me { role", i)
		for j := i + 1; j < count; j++ {
			fmt.Fprintf(&b, "...F%d", j)
		}
		b.WriteString("}")
	}
	return b.String()
}

// bodies are hostile requests whose document is harmless.
func bodies() map[string]string {
	const deep = 500_000
	document := `"query": "query($a: JSON) { __typename }"`
	return map[string]string{
		"nested variables":              `{` + document + `, "variables": {"a": ` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}}`,
		"variables nested a little":     `{` + document + `, "variables": {"a": ` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`,
		"nested variables, not closed":  `{` + document + `, "variables": {"a": ` + strings.Repeat(`{"a":`, 200_000),
		"nested extensions":             `{` + document + `, "extensions": {"a": ` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}}`,
		"a nested query":                `{"query": ` + strings.Repeat("[", 2*deep),
		"nested values of no field":     `{` + document + `, "x": ` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}`,
		"many variables":                `{` + document + `, "variables": {` + strings.Repeat(`"a":1,`, 170_000) + `"b":1}}`,
		"one name, again and again":     `{` + strings.Repeat(`"query":"{a}",`, 70_000) + document + `}`,
		"a long number in a variable":   `{` + document + `, "variables": {"a": 1` + strings.Repeat("0", 2*deep) + `}}`,
		"a number with a long exponent": `{` + document + `, "variables": {"a": 1e` + strings.Repeat("9", 2*deep) + `}}`,
	}
}

// way is how a document comes in; it returns the status, if there is one, and
// what came back.
type way struct {
	name string
	send func(s *service, body []byte, document string) (int, string)
}

func (s *service) posted(kind string, body []byte, headers ...string) (int, string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	return s.exchange(request, headers...)
}

func (s *service) exchange(request *http.Request, headers ...string) (int, string) {
	s.t.Helper()
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Do(request)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return 0, "cut off" // while more was sent than is taken
	}
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// spoken sends messages over a WebSocket and returns the last that came.
func (s *service) spoken(messages ...[]byte) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	header := http.Header{}
	if s.token != "" {
		header.Set("Authorization", "Bearer "+s.token)
	}
	socket, response, err := websocket.Dial(ctx, s.url+"/graphql", &websocket.DialOptions{
		HTTPClient: s.http, Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: header,
	})
	if err != nil {
		s.t.Fatalf("%v (%v)", err, response)
	}
	defer func() { _ = socket.CloseNow() }()
	socket.SetReadLimit(-1)
	for _, m := range messages {
		if err := socket.Write(ctx, websocket.MessageText, m); err != nil {
			break // it is closed, which reading says
		}
	}
	for {
		_, b, err := socket.Read(ctx)
		if err != nil {
			if ctx.Err() != nil {
				s.t.Fatal(err)
			}
			return int(websocket.CloseStatus(err)), err.Error()
		}
		if text := string(b); strings.Contains(text, `"next"`) || strings.Contains(text, `"error"`) {
			return 0, text
		}
	}
}

func subscribe(body []byte) []byte {
	return slices.Concat([]byte(`{"id":"1","type":"subscribe","payload":`), body, []byte("}"))
}

// ways are all ways in. Each place of the program that hands documents to the
// executor is named by one of them, or in inside.
func ways() []way {
	return []way{
		{"POST", func(s *service, body []byte, _ string) (int, string) { return s.posted("application/json", body) }},
		{"POST for a response", func(s *service, body []byte, _ string) (int, string) {
			return s.posted("application/json", body, "Accept", "application/graphql-response+json")
		}},
		{"server-sent events", func(s *service, body []byte, _ string) (int, string) {
			return s.posted("application/json", body, "Accept", "text/event-stream")
		}},
		{"a form", func(s *service, body []byte, _ string) (int, string) {
			form := slices.Concat([]byte("--BB\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n"), body,
				[]byte("\r\n--BB\r\nContent-Disposition: form-data; name=\"map\"\r\n\r\n{}\r\n--BB--\r\n"))
			return s.posted("multipart/form-data; boundary=BB", form)
		}},
		{"the map of a form", func(s *service, body []byte, _ string) (int, string) {
			form := slices.Concat([]byte("--BB\r\nContent-Disposition: form-data; name=\"operations\"\r\n\r\n{\"query\":\"{x}\"}"+
				"\r\n--BB\r\nContent-Disposition: form-data; name=\"map\"\r\n\r\n"), body, []byte("\r\n--BB--\r\n"))
			return s.posted("multipart/form-data; boundary=BB", form)
		}},
		{"GET", func(s *service, _ []byte, document string) (int, string) {
			request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+"/graphql?query="+url.QueryEscape(document), nil)
			if err != nil {
				s.t.Fatal(err)
			}
			return s.exchange(request)
		}},
		{"a WebSocket before its init", func(s *service, body []byte, _ string) (int, string) { return s.spoken(subscribe(body)) }},
		{"a WebSocket", func(s *service, body []byte, _ string) (int, string) {
			return s.spoken([]byte(`{"type":"connection_init"}`), subscribe(body))
		}},
		{"the init of a WebSocket", func(s *service, body []byte, _ string) (int, string) {
			return s.spoken(slices.Concat([]byte(`{"type":"connection_init","payload":`), body, []byte("}")), []byte("no message"))
		}},
		{"a ping of a WebSocket", func(s *service, body []byte, _ string) (int, string) {
			return s.spoken(slices.Concat([]byte(`{"type":"ping","payload":`), body, []byte("}")), []byte("no message"))
		}},
	}
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// costs remembers what requests cost.
type costs struct {
	t     *testing.T
	most  map[string]time.Duration
	where map[string]string
}

func (c *costs) measure(who, what string, send func() (int, string)) (int, string) {
	c.t.Helper()
	status, text, took := 0, "", time.Duration(math.MaxInt64)
	for range 3 { // what the process does beside counts, too, so the cheapest of three
		before := cpu(c.t)
		status, text = send()
		if took = min(took, cpu(c.t)-before); took <= hostileCPU {
			break
		}
	}
	if took > hostileCPU {
		c.t.Errorf("%s, %s: took %v of CPU: %d %.200s", who, what, took, status, text)
	}
	if took > c.most[who] {
		c.most[who], c.where[who] = took, what
	}
	return status, text
}

// refused says that an answer is a refusal, of one of the kinds that there are.
func refused(status int, text string) bool {
	switch status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusRequestHeaderFieldsTooLarge,
		int(websocket.StatusMessageTooBig), 4400, 4401:
		return true
	}
	return text == "cut off" || strings.Contains(text, `"invalid_request"`) || strings.Contains(text, `"unauthorized"`)
}

// It runs before those that run side by side: the CPU is the process's.
func TestHostileDocumentsCostLittle(t *testing.T) { // as said
	person := start(t)
	nobody := &service{t: t, url: person.url, http: person.http}
	const whole, deepest = 1<<20 - 2048, "nested lists, never closed"
	measured := &costs{t: t, most: map[string]time.Duration{}, where: map[string]string{}}
	for name, build := range hostile() {
		for _, n := range []int{whole, 60 << 10, 15 << 10, 4 << 10} {
			document := build(n)
			body, err := json.Marshal(map[string]string{"query": document})
			if err != nil {
				t.Fatal(err)
			}
			for i, way := range ways() {
				if i > 0 && n != 15<<10 && (n != whole || name != deepest) {
					continue // they differ in the way to the executor only
				}
				what := fmt.Sprintf("%s, %d bytes, by %s", name, len(document), way.name)
				status, text := measured.measure("nobody", what, func() (int, string) { return way.send(nobody, body, document) })
				if !refused(status, text) {
					t.Errorf("nobody, %s: %d %.200s", what, status, text)
				}
				measured.measure("a person", what, func() (int, string) { return way.send(person, body, document) })
			}
		}
	}
	for name, body := range bodies() {
		for _, way := range ways() {
			what := fmt.Sprintf("%s, %d bytes, by %s", name, len(body), way.name)
			for who, s := range map[string]*service{"nobody": nobody, "a person": person} {
				measured.measure(who, what, func() (int, string) { return way.send(s, []byte(body), "{}") })
			}
		}
	}
	for who, took := range measured.most {
		t.Logf("%s: at most %v of CPU, for %s", who, took, measured.where[who])
	}
	for _, s := range []*service{nobody, person} {
		var alive struct {
			Typename string `json:"__typename"`
		}
		if s.graphql(&alive, "{ __typename }", nil); alive.Typename != "Query" {
			t.Errorf("%+v", alive)
		}
	}
}

// handing are the places that hand a document to the executor, with the ways of
// ways that lead there; a place that hands it what is Magpie's own has none.
func handing() map[string][]string {
	return map[string][]string{
		"cmd/magpie/web/operation.go":           {"POST", "POST for a response", "server-sent events"},
		"cmd/magpie/web/transport.go":           {"a form", "the map of a form"},
		"internal/live/connection/websocket.go": {"a WebSocket", "a WebSocket before its init"},
		"cmd/magpie/wire/local.go":              nil, // the command line's
		"rest/exchange.go":                      nil, // stored operations
		"rest/mcp/operation.go":                 nil, // stored operations
	}
}

func TestEveryWayInIsTriedWithHostileDocuments(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	known := handing()
	tried := map[string]bool{}
	for _, way := range ways() {
		tried[way.name] = true
	}
	parsing := map[string]bool{"graph/documentlimits.go": true, "rest/operation.go": true, "rest/mcp/operation.go": true} // the others read stored operations
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "generated") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		place := strings.TrimPrefix(filepath.ToSlash(path), "../../../")
		if bytes.Contains(text, []byte(".CreateOperationContext(")) {
			seen[place] = true
			if _, ok := known[place]; !ok {
				t.Errorf("%s hands documents to the executor: which of the ways tries it?", place)
			}
		}
		for _, call := range []string{"parser.ParseQuer", "gqlparser.LoadQuer", "gqlparser.MustLoadQuer"} {
			if bytes.Contains(text, []byte(call)) && !parsing[place] {
				t.Errorf("%s parses documents without the limits of graph/documentlimits.go", place)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, names := range known {
		if !seen[place] {
			t.Errorf("%s hands nothing to the executor any more", place)
		}
		for _, name := range names {
			if !tried[name] {
				t.Errorf("no way is named %q", name)
			}
		}
	}
}
