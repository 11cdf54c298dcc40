package salesforce_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/salesforce"
)

type object = integrationtest.Object

const (
	account = "001000000000001AAA"
	private = "001000000000002AAA"
)

// setup returns a Salesforce with an account of everybody and one of Ada. The queries and
// tasks that it got are in seen.
func setup(t *testing.T, seen *[]object) integrationtest.Setup {
	t.Helper()
	accounts := map[string]object{account: {"Id": account, "Name": "Acme", "Phone": nil}, private: {"Id": private, "Name": "Acme of Ada"}}
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"00D-ada-token": "ada", "00D-eve-token": "eve", "00D-granted": "ada"}),
		Failure:    func(_ int, text string) any { return []object{{"message": text, "errorCode": "X"}} },
	}
	const base = "/services/data/v62.0"
	sees := func(c *integrationtest.Call, id string) bool {
		return accounts[id] != nil && (c.Person == "ada" || id != private)
	}
	missing := integrationtest.Refused(http.StatusNotFound, "The requested resource does not exist")
	stub.Handle("GET "+base+"/limits", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"DailyApiRequests": object{"Max": 1000}}}
	})
	stub.Handle("GET "+base+"/query q", func(c *integrationtest.Call) integrationtest.Answer {
		if !regexp.MustCompile(`(?i)^select .* from account.* limit (\d|\d\d|1\d\d|200)( offset \d+)?$`).MatchString(strings.ReplaceAll(c.Query.Get("q"), "\n", " ")) {
			return integrationtest.Refused(http.StatusBadRequest, "unexpected token")
		}
		*seen = append(*seen, object{"q": c.Query.Get("q")})
		records := []object{}
		for id, a := range accounts {
			if sees(c, id) {
				records = append(records, a)
			}
		}
		return integrationtest.Answer{Body: object{"totalSize": len(records), "done": true, "records": records}}
	})
	stub.Handle("GET "+base+"/sobjects/Account/{id} fields", func(c *integrationtest.Call) integrationtest.Answer {
		if !sees(c, c.PathValue("id")) {
			return missing
		}
		return integrationtest.Answer{Body: accounts[c.PathValue("id")]}
	})
	stub.Handle("PATCH "+base+"/sobjects/Account/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Name, Phone *string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c, c.PathValue("id")):
			return missing
		}
		accounts[c.PathValue("id")]["Phone"] = in.Phone
		return integrationtest.Answer{Status: http.StatusNoContent}
	})
	stub.Handle("POST "+base+"/sobjects/Task", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Subject, Description, Status, ActivityDate, WhatId, WhoId string } //nolint:revive // names of the API
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c, in.WhatId):
			return missing
		}
		*seen = append(*seen, object{"status": in.Status, "description": in.Description})
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "00T000000000001AAA", "success": true, "errors": []string{}}}
	})
	return integrationtest.Setup{
		Provider: salesforce.Provider(), Server: stub, Token: "00D-granted",
		Details:     func(url string) map[string]string { return map[string]string{"instance_url": url} },
		Config:      func(url string) map[string]any { return map[string]any{"url": url} },
		Credentials: map[string]string{"token": "00D-ada-token"}, Other: map[string]string{"token": "00D-eve-token"},
		Examples: map[string]integrationtest.Example{
			"soql":          {Arguments: `{"query": "SELECT Id, Name FROM Account"}`, Want: []string{account}, Own: "Acme of Ada"},
			"get_record":    {Arguments: `{"object": "Account", "id": "` + account + `", "fields": ["Name"]}`, Want: []string{"Acme"}},
			"create_task":   {Arguments: `{"record_id": "` + account + `", "subject": "Call back", "text": "About\nthe offer", "due": "2026-12-01"}`, Want: []string{"00T"}},
			"log_note":      {Arguments: `{"record_id": "` + account + `", "subject": "Met", "text": "All is well"}`, Want: []string{"00T"}},
			"update_fields": {Arguments: `{"object": "Account", "id": "` + account + `", "fields": {"Phone": "+49 1234"}}`, Want: []string{"+49 1234"}},
		},
	}
}

func TestSalesforcePassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &[]object{}) })
}

func TestQueriesAreLimited(t *testing.T) {
	t.Parallel()
	seen := []object{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &seen) })
	for text, want := range map[string]string{
		"SELECT Id FROM Account": "SELECT Id FROM Account LIMIT 200", "select Id from Account limit 5;": "select Id from Account LIMIT 5",
		"SELECT Id FROM Account LIMIT 5000 OFFSET 10": "SELECT Id FROM Account LIMIT 200 OFFSET 10",
	} {
		seen = nil
		f.Call(t, "soql", `{"query": "`+text+`"}`)
		if len(seen) != 1 || seen[0]["q"] != want {
			t.Errorf("%s became %v", text, seen)
		}
	}
	for _, text := range []string{"DELETE FROM Account", "FIND {x}", "SELECT Id FROM Account OFFSET 3"} {
		if got := f.Fails(t, "soql", `{"query": "`+text+`"}`); !strings.HasPrefix(got, "query: ") {
			t.Errorf("%s: %s", text, got)
		}
	}
	seen = nil
	f.Call(t, "log_note", `{"record_id": "`+account+`", "subject": "Met", "text": "All is well"}`)
	if len(seen) != 1 || seen[0]["status"] != "Completed" || seen[0]["description"] != "All is well\n\nmagpie-run: "+integrationtest.CallKey {
		t.Errorf("the note is %v", seen)
	}
	if got := f.Fails(t, "get_record", `{"object": "Account/describe", "id": "`+account+`"}`); !strings.Contains(got, "object: must be a name") {
		t.Errorf("a malformed object: %s", got)
	}
}
