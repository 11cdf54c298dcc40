package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

const (
	toolsPath       = "/api/v1/tool-integrations"
	approvalsPath   = "/api/v1/approvals"
	automationsPath = "/api/v1/automations"
	inboundPath     = "/api/v1/integrations/inbound"
)

// actingCases are the rows of integrations, approvals and automations, and of programs
// that people connect.
func actingCases() map[string]check {
	return map[string]check{
		"4 /api/v1/tool-integrations":                 toolIntegrationsHold,
		"4 /api/v1/approvals":                         approvalsHold,
		"4 /api/v1/automations":                       automationsHold,
		"4 /api/v1/integrations/inbound":              inboundIntegrationsHold,
		"4 POST /mcp":                                 programsHold,
		"4 /oauth and /.well-known":                   authorizationHolds,
		"4 who may reach agents that act, and limits": actingRoutesAreGuarded,
	}
}

// as is the site with the session of a person of another workspace, whose role there is
// the given one.
func (s *site) as(t *testing.T, role membership.Role) *site {
	t.Helper()
	address := uuid.NewString() + "@example.com"
	person, err := s.app.Accounts.CreateOwner(t.Context(), "Other", address, "Eve", password)
	must(t, err)
	if n, err := s.app.DB.Ent.Membership.Update().Where(membership.UserID(person.ID)).SetRole(role).Save(viewer.With(t.Context(), viewer.System(uuid.Nil))); n != 1 || err != nil {
		t.Fatalf("%d roles were set: %v", n, err)
	}
	tokens, err := s.app.Accounts.SignIn(t.Context(), address, password)
	must(t, err)
	who, err := s.app.Accounts.Authenticate(t.Context(), tokens.Access)
	must(t, err)
	other := *s
	other.token, other.workspace = tokens.Access, who.Workspace
	return &other
}

// foreign checks that a person of another workspace finds nothing at the paths.
func foreign(t *testing.T, s *site, calls ...call) {
	t.Helper()
	eve := s.as(t, membership.RoleOwner)
	for _, c := range calls {
		denied(t, "another workspace's "+c.method+" "+c.path, eve.dashboard(t, c.method, c.path, c.body), 404, "not_found")
	}
}

func (s *site) agent(t *testing.T) string {
	t.Helper()
	var made struct{ CreateAgent struct{ ID string } }
	s.graphql(t, &made, `mutation($n: String!) { createAgent(input: {name: $n, systemPrompt: "Help."}) { id } }`, map[string]any{"n": "Agent " + uuid.NewString()})
	return made.CreateAgent.ID
}

func toolIntegrationsHold(t *testing.T, s *site) {
	if a := s.dashboard(t, "GET", toolsPath+"/providers", ""); a.status != 200 || !strings.Contains(a.body, `"name":"jira"`) {
		t.Errorf("the providers: %d %.200s", a.status, a.body)
	}
	type tool struct{ ID, Name, Risk string }
	type integration struct {
		ID, Slug, Status string
		Tools            []tool
	}
	made := read[integration](t, "created", s.dashboard(t, "POST", toolsPath, `{"provider":"webhook","name":"Tickets","slug":"conformance","config":{"url":"https://tickets.example.com"}}`), 201)
	one := toolsPath + "/" + made.ID
	saved := read[tool](t, "a tool", s.dashboard(t, "PUT", one+"/tools",
		`{"name":"close","description":"Closes a ticket.","method":"POST","path":"/tickets/{id}/close","input_schema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}`), 200)
	if saved.Name != "close" || saved.Risk != "write" {
		t.Errorf("the tool is %+v", saved)
	}
	spec, err := json.Marshal(map[string]any{"preview": true, "spec": `{"openapi":"3.0.3","info":{"title":"T","version":"1"},"paths":{"/a":{"get":{"operationId":"listA","responses":{"200":{"description":"ok"}}}}}}`})
	must(t, err)
	if a := s.dashboard(t, "POST", one+"/import", string(spec)); a.status != 200 || !strings.Contains(a.body, "/a") {
		t.Errorf("an import: %d %s", a.status, a.body)
	}
	large, err := json.Marshal(map[string]any{"preview": true, "spec": strings.Repeat("#", 1<<20)})
	must(t, err)
	if a := s.dashboard(t, "POST", one+"/import", string(large)); a.status != 400 && a.status != 413 {
		t.Errorf("a document of more than 1 MiB: %d %.200s", a.status, a.body)
	}
	if got := read[integration](t, "read", s.dashboard(t, "GET", one, ""), 200); got.Slug != "conformance" || len(got.Tools) != 1 {
		t.Errorf("read: %+v", got)
	}
	denied(t, "the same slug", s.dashboard(t, "POST", toolsPath, `{"provider":"webhook","name":"Again","slug":"conformance","config":{"url":"https://tickets.example.com"}}`), 409, "conflict")
	denied(t, "a private address", s.dashboard(t, "POST", toolsPath, `{"provider":"webhook","name":"x","slug":"bad","config":{"url":"no address"}}`), 400, "invalid_request")
	toolPath := "/api/v1/tools/" + saved.ID
	if a := s.dashboard(t, "PUT", toolPath, `{"policy":"deny","timeout":20}`); a.status != 200 || !strings.Contains(a.body, `"policy":"deny"`) {
		t.Errorf("a policy: %d %s", a.status, a.body)
	}
	denied(t, "a timeout of an hour", s.dashboard(t, "PUT", toolPath, `{"timeout":3600}`), 400, "invalid_request")
	foreign(t, s, call{"GET", one, "", nil}, call{"PUT", one, `{"name":"Mine"}`, nil}, call{"DELETE", one, "", nil}, call{"PUT", one + "/connection", `{"credentials":{"auth_secret":"x"}}`, nil},
		call{"DELETE", one + "/connection", "", nil}, call{"POST", one + "/authorize", "", nil}, call{"POST", one + "/test", "", nil}, call{"POST", one + "/refresh", "", nil},
		call{"POST", one + "/import", string(spec), nil}, call{"PUT", toolPath, `{"enabled":false}`, nil}, call{"DELETE", toolPath, "", nil},
		call{"POST", toolPath + "/accept", "", nil}, call{"POST", toolPath + "/call", `{"arguments":{}}`, nil})
	if a := s.dashboard(t, "DELETE", one, ""); a.status != 204 {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	denied(t, "when it is gone", s.dashboard(t, "GET", one, ""), 404, "not_found")
}

func approvalsHold(t *testing.T, s *site) {
	ctx := viewer.With(t.Context(), viewer.System(s.workspace))
	who, err := s.app.Accounts.Authenticate(t.Context(), s.token)
	must(t, err)
	agent := s.agent(t)
	own := viewer.With(t.Context(), who)
	talk, err := s.app.DB.Ent.Conversation.Create().SetTitle("Rows").Save(own)
	must(t, err)
	run, err := s.app.DB.Ent.AgentRun.Create().SetAgentID(uuid.MustParse(agent)).SetConversationID(talk.ID).SetMessage("Send it").SetStatus(agentrun.StatusWaiting).Save(own)
	must(t, err)
	ask := func() string {
		row, err := s.app.DB.Ent.Approval.Create().SetRunID(run.ID).SetAgentID(uuid.MustParse(agent)).SetSubjectID(who.Subject).SetCallID(uuid.NewString()).
			SetTool("mail.send").SetRisk("SEND").SetTitle("Send a mail").SetArguments(`{"to":"ada@example.com"}`).SetArgumentsHash("ab12").SetApproverRole("VIEWER").
			SetRequestedAt(time.Now()).SetExpiresAt(time.Now().Add(time.Hour)).SetNonce("n").Save(ctx)
		must(t, err)
		return row.ID.String()
	}
	id := ask()
	one := approvalsPath + "/" + id
	if a := s.dashboard(t, "GET", approvalsPath+"?limit=5", ""); a.status != 200 || !strings.Contains(a.body, id) {
		t.Errorf("the list: %d %s", a.status, a.body)
	}
	foreign(t, s, call{"GET", one, "", nil}, call{"POST", one + "/approve", "", nil}, call{"POST", one + "/reject", "", nil}, call{"POST", one + "/answer", `{"answer":"x"}`, nil},
		call{"GET", "/api/v1/agents/" + agent + "/tool-grants", "", nil}, call{"DELETE", "/api/v1/tool-grants/" + uuid.NewString(), "", nil})
	if got := read[map[string]any](t, "rejected", s.dashboard(t, "POST", one+"/reject", `{"comment":"No."}`), 200); got["status"] != "rejected" {
		t.Errorf("rejected: %v", got)
	}
	denied(t, "decided again", s.dashboard(t, "POST", one+"/approve", ""), 409, "conflict")
	if a := s.dashboard(t, "GET", "/api/v1/approval-settings", ""); a.status != 200 {
		t.Errorf("the settings: %d %s", a.status, a.body)
	}
	for _, verb := range []string{"approve", "reject", "answer"} {
		denied(t, verb+" of nobody", s.dashboard(t, "POST", approvalsPath+"/"+uuid.NewString()+"/"+verb, `{"answer":"x"}`), 404, "not_found")
	}
	denied(t, "a status that is none", s.dashboard(t, "GET", approvalsPath+"?status=perhaps", ""), 400, "invalid_request")
}

func automationsHold(t *testing.T, s *site) {
	agent := s.agent(t)
	body := func(more string) string {
		return fmt.Sprintf(`{"name":"Daily","agent":%q,"kind":"manual","instructions":"Report.","trigger":{}%s}`, agent, more)
	}
	if a := s.dashboard(t, "GET", automationsPath+"/templates", ""); a.status != 200 || !strings.Contains(a.body, "mail_answerer") {
		t.Errorf("the templates: %d %.200s", a.status, a.body)
	}
	type row struct{ ID, Name, Status string }
	made := read[row](t, "created", s.dashboard(t, "POST", automationsPath, body("")), 201)
	one := automationsPath + "/" + made.ID
	if got := read[row](t, "changed", s.dashboard(t, "PUT", one, `{"name":"Weekly"}`), 200); got.Name != "Weekly" {
		t.Errorf("changed: %+v", got)
	}
	run := read[row](t, "a run", s.dashboard(t, "POST", one+"/run", `{"payload":{"a":1}}`), 200)
	runPath := "/api/v1/automation-runs/" + run.ID
	if a := s.dashboard(t, "GET", one+"/runs?limit=5", ""); a.status != 200 || !strings.Contains(a.body, run.ID) {
		t.Errorf("its runs: %d %s", a.status, a.body)
	}
	foreign(t, s, call{"GET", one, "", nil}, call{"PUT", one, `{"name":"Mine"}`, nil}, call{"DELETE", one, "", nil}, call{"POST", one + "/run", "", nil}, call{"GET", one + "/runs", "", nil},
		call{"GET", runPath, "", nil}, call{"POST", runPath + "/replay", "", nil}, call{"POST", runPath + "/cancel", "", nil})
	eve := s.as(t, membership.RoleOwner)
	denied(t, "with another workspace's agent", eve.dashboard(t, "POST", automationsPath, body("")), 404, "not_found")
	if a := s.dashboard(t, "POST", runPath+"/cancel", ""); a.status != 200 {
		t.Errorf("canceled: %d %s", a.status, a.body)
	}
	denied(t, "no name", s.dashboard(t, "POST", automationsPath, fmt.Sprintf(`{"agent":%q,"kind":"manual","instructions":"x","trigger":{}}`, agent)), 400, "invalid_request")
	denied(t, "an unknown kind", s.dashboard(t, "POST", automationsPath, strings.Replace(body(""), "manual", "never", 1)), 400, "invalid_request")
	if a := s.dashboard(t, "DELETE", one, ""); a.status != 204 {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	denied(t, "when it is gone", s.dashboard(t, "GET", one, ""), 404, "not_found")
}

func inboundIntegrationsHold(t *testing.T, s *site) {
	if a := s.dashboard(t, "GET", inboundPath+"/providers", ""); a.status != 200 || !strings.Contains(a.body, `"name":"postmark"`) {
		t.Errorf("the providers: %d %.200s", a.status, a.body)
	}
	type shown struct {
		Integration struct{ ID, Status string }
		URL, Secret string
	}
	made := read[shown](t, "created", s.dashboard(t, "POST", inboundPath, `{"provider":"github","name":"Rows","config":{"repositories":["acme/rows"]}}`), 201)
	one := inboundPath + "/" + made.Integration.ID
	const issue = `{"action":"opened","issue":{"number":1,"title":"t"},"repository":{"full_name":"acme/rows"}}`
	if a := s.do(t, call{"POST", "/api/v1/webhooks/events/github/" + made.Integration.ID, issue, fromGitHub(made.Secret, "issues", issue)}); a.status != 200 {
		t.Errorf("a delivery: %d %s", a.status, a.body)
	}
	kept := read[[]struct{ ID string }](t, "its events", s.dashboard(t, "GET", one+"/events", ""), 200)
	if len(kept) != 1 {
		t.Fatalf("kept: %+v", kept)
	}
	resend := "/api/v1/inbound-events/" + kept[0].ID + "/resend"
	if a := s.dashboard(t, "GET", one, ""); a.status != 200 || strings.Contains(a.body, made.Secret) || !strings.Contains(a.body, `"subscription":null`) {
		t.Errorf("read: %d %s", a.status, a.body)
	}
	foreign(t, s, call{"GET", one, "", nil}, call{"PUT", one, `{"name":"Mine"}`, nil}, call{"DELETE", one, "", nil}, call{"POST", one + "/rotate-secret", "", nil},
		call{"POST", one + "/test", "", nil}, call{"GET", one + "/events", "", nil}, call{"POST", resend, "", nil})
	rotated := read[shown](t, "rotated", s.dashboard(t, "POST", one+"/rotate-secret", ""), 200)
	for word, status := range map[string]int{made.Secret: 200, rotated.Secret: 200, "guess": 401} {
		if a := s.do(t, call{"POST", "/api/v1/webhooks/events/github/" + made.Integration.ID, issue, fromGitHub(word, "issues", issue)}); a.status != status {
			t.Errorf("after a rotation: %d, want %d", a.status, status)
		}
	}
	if a := s.dashboard(t, "POST", resend, ""); a.status != 200 {
		t.Errorf("processed again: %d %s", a.status, a.body)
	}
	denied(t, "an unknown provider", s.dashboard(t, "POST", inboundPath, `{"provider":"fax","name":"x"}`), 400, "invalid_request")
	if a := s.dashboard(t, "DELETE", one, ""); a.status != 204 {
		t.Errorf("deleted: %d %s", a.status, a.body)
	}
	rejected(t, "a delivery when it is gone", s.do(t, call{"POST", "/api/v1/webhooks/events/github/" + made.Integration.ID, issue, fromGitHub(rotated.Secret, "issues", issue)}), 404, "not_found", "")
}

// acts matches the routes of agents that act.
var acts = regexp.MustCompile(`^/api/v1/(tool-integrations|tools|approvals|approval-settings|tool-grants|automations|automation-runs|integrations/inbound|inbound-events)(/|$)|/tool-grants$`)

// forEveryone are the routes of the above that viewers may call, apart from reading.
var forEveryone = regexp.MustCompile(`^/api/v1/(approvals/|tool-integrations|tools/\{id\}|tool-grants/)`)

func actingRoutesAreGuarded(t *testing.T, s *site) {
	low := s.as(t, membership.RoleViewer)
	parameter := regexp.MustCompile(`\{\w+\}`)
	large := `{"name":"` + strings.Repeat("x", 2<<20) + `"}`
	seen := 0
	for _, r := range rest.Routes() {
		if !acts.MatchString(r.Pattern) {
			continue
		}
		seen++
		path := parameter.ReplaceAllString(r.Pattern, uuid.NewString())
		denied(t, r.Method+" "+r.Pattern+" by nobody", s.do(t, call{r.Method, path, "", nil}), 401, "unauthorized")
		denied(t, r.Method+" "+r.Pattern+" by a key", s.do(t, call{r.Method, path, "", s.keyed(nil)}), 401, "unauthorized")
		if strings.Contains(r.Pattern, "{") {
			if a := s.dashboard(t, r.Method, path, `{}`); a.status != 404 && a.status != 400 {
				t.Errorf("%s %s of nobody: %d %s", r.Method, r.Pattern, a.status, a.body)
			}
			bad := s.dashboard(t, r.Method, parameter.ReplaceAllString(r.Pattern, "1"), `{}`)
			if bad.status != 404 && bad.status != 400 {
				t.Errorf("%s %s without an id: %d %s", r.Method, r.Pattern, bad.status, bad.body)
			}
		}
		if r.Method != http.MethodGet && !forEveryone.MatchString(r.Pattern) {
			if a := low.dashboard(t, r.Method, path, `{"name":"x","provider":"github","agent":"`+uuid.NewString()+`","kind":"manual","instructions":"x","trigger":{}}`); a.status != 403 {
				t.Errorf("%s %s by a viewer: %d %s", r.Method, r.Pattern, a.status, a.body)
			}
		}
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			if a := s.dashboard(t, r.Method, path, large); a.status != 413 {
				t.Errorf("%s %s with 2 MiB: %d %.200s", r.Method, r.Pattern, a.status, a.body)
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d routes", seen)
	}
	for _, path := range []string{toolsPath, approvalsPath, automationsPath, inboundPath} {
		for _, limit := range []string{"0", "-1", "100000", "x"} {
			denied(t, path+" limit "+limit, s.dashboard(t, "GET", path+"?limit="+limit, ""), 400, "invalid_request")
		}
	}
}

func programsHold(t *testing.T, s *site) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"rows","version":"1"}}}`
	accept := []string{"Accept", "application/json, text/event-stream"}
	withKey := append([]string{"Authorization", "Bearer " + s.open.Secret}, accept...)
	if a := s.do(t, call{"POST", "/mcp", initialize, withKey}); a.status != 200 || !strings.Contains(a.body, `"serverInfo"`) {
		t.Errorf("initialize: %d %s", a.status, a.body)
	}
	const search = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"query":"marmalade"}}}`
	if a := s.do(t, call{"POST", "/mcp", search, withKey}); a.status != 200 || strings.Contains(a.body, "The note in the other collection") {
		t.Errorf("a search in the key's collection: %d %s", a.status, a.body)
	}
	for what, headers := range map[string][]string{"nobody": accept, "a guess": append([]string{"Authorization", "Bearer guess"}, accept...)} {
		a := s.do(t, call{"POST", "/mcp", initialize, headers})
		if a.status != 401 || !strings.Contains(a.header.Get("WWW-Authenticate"), "resource_metadata=") {
			t.Errorf("%s: %d %v %s", what, a.status, a.header, a.body)
		}
	}
	if a := s.do(t, call{"GET", "/mcp", "", withKey}); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", a.status, a.header)
	}
	if a := s.do(t, call{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 1<<20) + `"}}`, withKey}); a.status != 413 {
		t.Errorf("more than 1 MiB: %d %.200s", a.status, a.body)
	}
}

func authorizationHolds(t *testing.T, s *site) {
	metadata := func(path string) map[string]any {
		t.Helper()
		a := s.do(t, call{"GET", path, "", nil})
		var body map[string]any
		if json.Unmarshal([]byte(a.body), &body) != nil || a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != "" && a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%s: %d %v %s", path, a.status, a.header, a.body)
		}
		return body
	}
	server, resource := metadata("/.well-known/oauth-authorization-server"), metadata("/.well-known/oauth-protected-resource/mcp")
	issuer, _ := server["issuer"].(string)
	if issuer == "" || server["token_endpoint"] != issuer+"/oauth/token" || server["registration_endpoint"] != issuer+"/oauth/register" || fmt.Sprint(server["code_challenge_methods_supported"]) != "[S256]" ||
		resource["resource"] != issuer+"/mcp" || fmt.Sprint(resource["authorization_servers"]) != "["+issuer+"]" {
		t.Errorf("the metadata are %v and %v", server, resource)
	}
	a := s.do(t, call{"POST", "/oauth/register", `{"client_name":"Rows","redirect_uris":["http://127.0.0.1:7777/callback"],"token_endpoint_auth_method":"none"}`, nil})
	var made struct {
		ID string `json:"client_id"`
	}
	if json.Unmarshal([]byte(a.body), &made) != nil || a.status != 201 || made.ID == "" {
		t.Fatalf("a registration: %d %s", a.status, a.body)
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for what, c := range map[string]struct {
		call   call
		status int
		code   string
	}{
		"an address of strangers": {call{"POST", "/oauth/register", `{"client_name":"x","redirect_uris":["http://evil.example/callback"]}`, nil}, 400, "invalid_"},
		"no address":              {call{"POST", "/oauth/register", `{"client_name":"x"}`, nil}, 400, "invalid_"},
		"too large":               {call{"POST", "/oauth/register", `{"client_name":"` + strings.Repeat("x", 70<<10) + `"}`, nil}, 0, "invalid"},
		"a code of nobody":        {call{"POST", "/oauth/token", url.Values{"grant_type": {"authorization_code"}, "client_id": {made.ID}, "code": {"x"}, "code_verifier": {strings.Repeat("v", 43)}, "redirect_uri": {"http://127.0.0.1:7777/callback"}}.Encode(), form}, 400, "invalid_grant"},
		"a refresh of nobody":     {call{"POST", "/oauth/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {made.ID}, "refresh_token": {"x"}}.Encode(), form}, 400, "invalid_grant"},
		"a password":              {call{"POST", "/oauth/token", url.Values{"grant_type": {"password"}, "client_id": {made.ID}}.Encode(), form}, 400, "unsupported_grant_type"},
		"GET":                     {call{"GET", "/oauth/token", "", nil}, 405, ""},
		"no page":                 {call{"GET", "/oauth/other", "", nil}, 404, ""},
		"of another resource":     {call{"GET", "/.well-known/oauth-protected-resource/v1", "", nil}, 404, ""},
	} {
		if got := s.do(t, c.call); got.status != c.status && (c.status != 0 || got.status != 400 && got.status != 413) || !strings.Contains(got.body, c.code) && got.status != 413 {
			t.Errorf("%s: %d %.300s", what, got.status, got.body)
		}
	}
	if got := s.do(t, call{"POST", "/oauth/revoke", url.Values{"client_id": {made.ID}, "token": {"x"}}.Encode(), form}); got.status != 200 {
		t.Errorf("a token of nobody revoked: %d %s", got.status, got.body)
	}
	// An address that the program did not register gets nothing, not even an error.
	bad := s.do(t, call{"GET", "/oauth/authorize?" + url.Values{"client_id": {made.ID}, "redirect_uri": {"https://evil.example/"}, "response_type": {"code"}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"}}.Encode(), "", nil})
	if bad.status != 400 || bad.header.Get("Location") != "" {
		t.Errorf("an address of strangers: %d %v", bad.status, bad.header)
	}
	good := s.do(t, call{"GET", "/oauth/authorize?" + url.Values{"client_id": {made.ID}, "redirect_uri": {"http://127.0.0.1:7777/callback"}, "response_type": {"code"}, "state": {"s"}, "code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"}, "resource": {issuer + "/mcp"}}.Encode(), "", nil})
	if good.status != 200 || !strings.Contains(good.body, "Rows") || !strings.Contains(good.header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Errorf("the page: %d %v", good.status, good.header)
	}
}
