package stack_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/rest"
)

// after is the id of somebody's thing that a path parameter stands for, by the
// segment before it; empty for the name of a provider, which is nobody's.
func (b belongings) after(segment string) (string, bool) {
	id, ok := map[string]string{
		"collections": b.collection, "connectors": b.connector, "documents": b.document, "passages": b.passage, "sync": b.job, "plan": b.plan, "items": b.item,
		"databases": b.connector, "tables": "orders", "groups": "staff", "conversations": b.conversation, "messages": b.message, "api-keys": b.key, "tokens": b.minted,
		"agents": b.agent, "agent-templates": b.template, "from-template": b.template, "memories": b.memory, "runs": b.run, "inbound": b.integration, "inbound-events": b.event, "approvals": b.approval, "tool-grants": b.allowed, "automations": b.automation,
		"tool-integrations": b.tools, "tools": b.tool, "automation-runs": b.automated,
		"workspaces": b.workspace, "sessions": b.session, "members": b.member, "invitations": b.invitation, "callback": "",
	}[segment]
	return id, ok
}

// ids are all of somebody's.
func (b belongings) ids() []string {
	return []string{
		b.collection, b.connector, b.document, b.passage, b.job, b.plan, b.item, b.conversation, b.message, b.key,
		b.agent, b.template, b.memory, b.run, b.dialogue, b.integration, b.event, b.approval, b.allowed, b.automation, b.automated, b.tools, b.tool, b.workspace, b.session, b.member, b.invitation, b.minted,
	}
}

// open are the id-valued fields of queries and bodies that a stranger's id is no
// error in: "METHOD pattern field", and why nothing comes of it.
func open() map[string]string {
	return map[string]string{
		"GET /api/v1/connectors collection":            "a filter that nothing fits",
		"GET /api/v1/document-restrictions connector":  "a filter that nothing fits",
		"GET /api/v1/conversations agent":              "a filter that nothing fits",
		"DELETE /api/v1/conversations agent":           "a filter that nothing fits",
		"GET /api/v1/audit-log targetId":               "a filter that nothing fits",
		"GET /api/v1/audit-log.csv targetId":           "a filter that nothing fits",
		"GET /api/v1/audit-log.jsonl targetId":         "a filter that nothing fits",
		"POST /v1/docs/events document_id":             "an event is the teller's own, whatever it names",
		"POST /v1/docs/events result_id":               "an event is the teller's own, whatever it names",
		"POST /v1/analytics/events document_id":        "an event is the teller's own, whatever it names",
		"POST /v1/analytics/events result_id":          "an event is the teller's own, whatever it names",
		"POST /v1/analytics/events events.document_id": "an event is the teller's own, whatever it names",
		"POST /v1/analytics/events events.result_id":   "an event is the teller's own, whatever it names",
	}
}

// bound are id-valued fields of bodies that have to agree with another field or to be of
// a list: whatever else stands there is a 400, which does not say whether it is somebody's.
func bound() map[string]string {
	return map[string]string{
		"POST /api/v1/api-keys defaultCollection":                "one of allowedCollections",
		"PUT /api/v1/api-keys/{id} defaultCollection":            "one of allowedCollections",
		"PUT /api/v1/documents/{id}/restriction directoryGroups": "one of the workspace's directory",
	}
}

// wrongIDs are what is tried in the place of an id, by what it is.
func wrongIDs(own, foreign belongings, right, field string) map[string]string {
	other, stranger := own.document, foreign.document
	if right == foreign.document || right == "" && !strings.Contains(strings.ToLower(field), "collection") {
		other, stranger = own.collection, foreign.collection
	}
	wrong := map[string]string{
		"an id of another kind": other, "a stranger's id of another kind": stranger,
		"the nil UUID": uuid.Nil.String(), "the last UUID": uuid.Max.String(), "no UUID": "zz",
	}
	if right != "" {
		wrong["a stranger's id"] = right
	} else {
		for i, id := range foreign.ids() {
			wrong[fmt.Sprintf("a stranger's id (%d)", i)] = id
		}
	}
	return wrong
}

// described is the part of the served description that says where ids are.
type described struct {
	Paths map[string]map[string]struct {
		Parameters []struct {
			Name, In string
			Schema   node
		}
		RequestBody struct {
			Content map[string]struct{ Schema node }
		}
	}
	Components struct{ Schemas map[string]node }
}

type node struct {
	Ref        string `json:"$ref"`
	Format     string
	Properties map[string]node
	Items      *node
	OneOf      []node
	AnyOf      []node
}

// idFields are the paths of a schema's id-valued fields; those of an array's
// items have the array's.
func (d *described) idFields(n node, at string) []string {
	if n.Ref != "" {
		return d.idFields(d.Components.Schemas[strings.TrimPrefix(n.Ref, "#/components/schemas/")], at)
	}
	if n.Format == "uuid" {
		return []string{at}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		found = append(found, d.idFields(n.Properties[name], strings.TrimPrefix(at+"."+name, "."))...)
	}
	if n.Items != nil {
		found = append(found, d.idFields(*n.Items, at)...)
	}
	for _, one := range append(n.OneOf, n.AnyOf...) {
		found = append(found, d.idFields(one, at)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// ours is an intrusion with the stranger's own ids, so that it is right but for
// what is then put into it.
func (try intrusion) ours(t *testing.T, own, foreign belongings) intrusion {
	t.Helper()
	swap := func(text string) string {
		for i, id := range foreign.ids() {
			text = strings.ReplaceAll(text, id, own.ids()[i])
		}
		return text
	}
	out := intrusion{path: swap(try.path), body: try.body}
	if fields, ok := try.body.(map[string]any); ok {
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		fresh := map[string]any{}
		if err := json.Unmarshal([]byte(swap(string(text))), &fresh); err != nil {
			t.Fatal(err)
		}
		out.body = fresh
	}
	return out
}

// put sets a field of a body, on the way through lists in their only item.
func put(body map[string]any, path, value string) {
	name, rest, nested := strings.Cut(path, ".")
	switch at := body[name].(type) {
	case map[string]any:
		if nested {
			put(at, rest, value)
			return
		}
	case []any:
		if nested && len(at) > 0 {
			if item, ok := at[0].(map[string]any); ok {
				put(item, rest, value)
				return
			}
		}
		body[name] = []any{value}
		return
	}
	if !nested {
		body[name] = value
		return
	}
	inner := map[string]any{}
	put(inner, rest, value)
	body[name] = inner
}

// Every id of every route, in paths, queries and bodies, is tried with ids that
// are somebody else's, another thing's or none at all.
func TestNoIDOfARouteLeadsToAStranger(t *testing.T) {
	t.Parallel()
	s, provider := startBeside(t)
	ada := s.furnish("ada")
	ada.journey = s.depart(provider)
	before := s.fingerprint(ada.workspace)
	if _, err := s.app.Accounts.CreateOwner(t.Context(), "Other", "eve@example.com", "Eve", password); err != nil {
		t.Fatal(err)
	}
	s.token = ""
	s.token = s.signIn("eve@example.com")
	eve := s.furnish("eve")
	var description described
	if err := json.NewDecoder(s.request(http.MethodGet, "/openapi.json", "", nil).Body).Decode(&description); err != nil {
		t.Fatal(err)
	}
	secrets := append(ada.ids(), "of ada")
	harmless, agrees, used := open(), bound(), map[string]bool{}
	routes, parameters, tried := 0, 0, 0
	run := func(name, what string, method string, try intrusion, allowed func(status int, value string) bool, value string) {
		tried++
		status, body := s.intrude(method, try, eve.secretKey)
		if !allowed(status, value) {
			t.Errorf("%s, %s: %d: %s", name, what, status, body)
		}
		for _, secret := range secrets {
			if strings.Contains(body, secret) && secret != value {
				t.Errorf("%s, %s, tells %q: %s", name, what, secret, body)
			}
		}
	}
	tries := intrusions(ada)
	for _, route := range rest.Routes() {
		name := route.Method + " " + route.Pattern
		try, known := tries[name]
		if !known {
			t.Errorf("%s has no two-tenant case", name)
			continue
		}
		routes++
		right := try.ours(t, eve, ada)
		segments := strings.Split(route.Pattern, "/")
		_, search, _ := strings.Cut(right.path, "?")
		for i, segment := range segments {
			if !strings.HasPrefix(segment, "{") {
				continue
			}
			foreign, ok := ada.after(segments[i-1])
			if !ok {
				t.Errorf("%s: whose id is %s? Give belongings.after the segment %q (tenancy_ids_test.go)", name, segment, segments[i-1])
				continue
			}
			parameters++
			for what, value := range wrongIDs(eve, ada, foreign, "") {
				path := make([]string, len(segments))
				for j, s := range segments {
					path[j] = s
					if strings.HasPrefix(s, "{") {
						path[j], _ = eve.after(segments[j-1])
					}
				}
				path[i] = value
				one := intrusion{path: strings.Join(path, "/"), body: right.body}
				if search != "" {
					one.path += "?" + search
				}
				run(name, segment+" is "+what, route.Method, one, func(status int, _ string) bool { return status == http.StatusNotFound }, value)
			}
		}
		operation := description.Paths[route.Pattern][strings.ToLower(route.Method)]
		refused := func(field string) func(int, string) bool {
			return func(status int, value string) bool {
				if value == "zz" {
					return status == http.StatusBadRequest
				}
				key := name + " " + field
				if agrees[key] != "" {
					return status == http.StatusBadRequest
				}
				if _, ok := harmless[key]; ok && (status == http.StatusOK || status == http.StatusAccepted || status == http.StatusNoContent || status == http.StatusBadRequest && value == uuid.Nil.String()) {
					used[key] = true
					return true
				}
				return status == http.StatusNotFound || status == http.StatusForbidden && strings.HasPrefix(route.Pattern, "/v1/")
			}
		}
		for _, p := range operation.Parameters {
			if p.In != "query" || p.Schema.Format != "uuid" {
				continue
			}
			parameters++
			for what, value := range wrongIDs(eve, ada, "", p.Name) {
				place, search, _ := strings.Cut(right.path, "?")
				query, err := url.ParseQuery(search)
				if err != nil {
					t.Fatal(err)
				}
				query.Set(p.Name, value)
				run(name, p.Name+" is "+what, route.Method, intrusion{path: place + "?" + query.Encode()}, refused(p.Name), value)
			}
		}
		for _, field := range description.idFields(operation.RequestBody.Content["application/json"].Schema, "") {
			parameters++
			for what, value := range wrongIDs(eve, ada, "", field) {
				one := try.ours(t, eve, ada)
				body, ok := one.body.(map[string]any)
				if !ok {
					body = map[string]any{}
				}
				if root, _, nested := strings.Cut(field, "."); nested && body[root] == nil {
					body = map[string]any{root: []any{body}} // what may come alone may come in a list
				}
				put(body, field, value)
				one.body = body
				run(name, field+" is "+what, route.Method, one, refused(field), value)
			}
		}
	}
	if routes != len(rest.Routes()) {
		t.Errorf("%d of %d routes were tried", routes, len(rest.Routes()))
	}
	for key := range harmless {
		if !used[key] {
			t.Errorf("nothing was answered at %s: take it off the list", key)
		}
	}
	t.Logf("%d calls: %d ids of %d routes", tried, parameters, routes)
	if after := s.fingerprint(ada.workspace); !maps.Equal(before, after) {
		for table := range after {
			if before[table] != after[table] {
				t.Errorf("%s of ada's workspace has changed", table)
			}
		}
	}
}

// fingerprint is a hash of each table's rows of a workspace. What belongs to
// sign-ins and to what was asked is left out: it is written behind the answers.
func (s *service) fingerprint(workspace string) map[string]string {
	s.t.Helper()
	ctx := s.t.Context()
	tx, err := s.app.DB.Pool.Begin(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var tables []string
	err = tx.QueryRow(ctx, `select array_agg(c.relname::text order by c.relname) from pg_class c join pg_attribute a on a.attrelid = c.oid
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attname = 'workspace_id' and has_table_privilege(c.oid, 'select')
		and c.relname not like 'query\_%' and c.relname not in ('usage_counters', 'sessions', 'audit_entries')`).Scan(&tables)
	if err != nil || len(tables) < 10 {
		s.t.Fatal(tables, err)
	}
	if _, err := tx.Exec(ctx, "select set_config('magpie.workspace', $1, true)", workspace); err != nil {
		s.t.Fatal(err)
	}
	hashes := map[string]string{}
	for _, table := range tables {
		var rows int
		var hash string
		err := tx.QueryRow(ctx, "select count(*), md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from "+table+" t where workspace_id = $1", workspace).Scan(&rows, &hash)
		if err != nil {
			s.t.Fatal(table, err)
		}
		hashes[table] = fmt.Sprint(rows, " ", hash)
	}
	if hashes["document_texts"] == "" || strings.HasPrefix(hashes["document_texts"], "0 ") {
		s.t.Fatalf("the fingerprint sees no texts: %v", hashes)
	}
	return hashes
}
