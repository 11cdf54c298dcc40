package zendesk_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/zendesk"
)

type object = integrationtest.Object

// setup returns a Zendesk with the tickets 1 and, of Ada's group, 2.
func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	tickets := map[string]object{
		"1": {"id": 1, "subject": "A refund", "description": "Please.", "status": "open", "priority": nil, "requester_id": 7, "tags": []string{"web"}},
		"2": {"id": 2, "subject": "A refund for Ada only", "status": "open"},
	}
	comments := map[string][]object{"1": {{"id": 10, "author_id": 7, "public": true, "plain_body": "Please refund.", "created_at": "2026-01-31T12:00:00Z"}}}
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Basic(map[string]string{"ada@example.com/token:ada-token": "ada", "eve@example.com/token:eve-token": "eve"}),
		Failure:    func(_ int, text string) any { return object{"error": "Failed", "description": text} },
	}
	find := func(c *integrationtest.Call, suffix string) (string, object) {
		id := strings.TrimSuffix(c.PathValue("file"), suffix)
		if tk, ok := tickets[id]; ok && (c.Person == "ada" || id != "2") {
			return id, tk
		}
		return "", nil
	}
	missing := integrationtest.Refused(http.StatusNotFound, "Not found")
	stub.Handle("GET /api/v2/users/me.json", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"user": object{"id": 3}}}
	})
	stub.Handle("GET /api/v2/search.json query per_page", func(c *integrationtest.Call) integrationtest.Answer {
		words, ok := strings.CutPrefix(c.Query.Get("query"), "type:ticket ")
		if !ok {
			return integrationtest.Refused(http.StatusUnprocessableEntity, "invalid search")
		}
		found := []object{}
		for id, tk := range tickets {
			if strings.Contains(tk["subject"].(string), words) && (c.Person == "ada" || id != "2") {
				found = append(found, tk)
			}
		}
		return integrationtest.Answer{Body: object{"count": len(found), "results": found}}
	})
	stub.Handle("GET /api/v2/tickets/{file}", func(c *integrationtest.Call) integrationtest.Answer {
		if _, tk := find(c, ".json"); tk != nil {
			return integrationtest.Answer{Body: object{"ticket": tk}}
		}
		return missing
	})
	stub.Handle("GET /api/v2/tickets/{file}/comments.json sort_order per_page", func(c *integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"comments": append([]object{}, comments[c.PathValue("file")]...)}}
	})
	stub.Handle("PUT /api/v2/tickets/{file}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Ticket struct {
				Comment *struct {
					Body   string
					Public bool
				}
				Metadata               struct{ Custom struct{ Mark string } }
				Status, Priority, Type *string
				Assignee               *int `json:"assignee_id"`
				Tags                   []string
			}
		}
		id, tk := find(c, ".json")
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case tk == nil:
			return missing
		case in.Ticket.Metadata.Custom.Mark == "":
			return integrationtest.Refused(http.StatusUnprocessableEntity, "no mark")
		}
		if in.Ticket.Comment != nil {
			comments[id] = append(comments[id], object{"id": 11, "public": in.Ticket.Comment.Public, "plain_body": in.Ticket.Comment.Body})
		}
		if in.Ticket.Status != nil {
			tk["status"] = *in.Ticket.Status
		}
		return integrationtest.Answer{Body: object{"ticket": maps.Clone(tk), "audit": object{}}}
	})
	return integrationtest.Setup{
		Provider: zendesk.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"url": url} },
		Credentials: map[string]string{"email": "ada@example.com", "apiToken": "ada-token"}, Other: map[string]string{"email": "eve@example.com", "apiToken": "eve-token"},
		Examples: map[string]integrationtest.Example{
			"search_tickets":   {Arguments: `{"query": "refund", "limit": 10}`, Want: []string{"A refund", "/agent/tickets/1"}, Own: "for Ada only"},
			"get_ticket":       {Arguments: `{"ticket_id": 1}`, Want: []string{"Please refund."}},
			"comment_internal": {Arguments: `{"ticket_id": 1, "text": "Seen\nby us"}`, Want: []string{"/agent/tickets/1"}},
			"reply_public":     {Arguments: `{"ticket_id": 1, "text": "We refund it"}`, Want: []string{"/agent/tickets/1"}},
			"update_fields":    {Arguments: `{"ticket_id": 1, "status": "pending", "priority": "high", "type": "task", "assignee_id": 3, "tags": ["a-tag", "b-tag"]}`, Want: []string{"pending"}},
		},
	}
}

func TestZendeskPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestNotesAreInternalAndAnswersPublic(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	f.Call(t, "comment_internal", `{"ticket_id": 1, "text": "For us"}`)
	f.Call(t, "reply_public", `{"ticket_id": 1, "text": "For the customer"}`)
	text := f.Call(t, "get_ticket", `{"ticket_id": 1}`)
	if !strings.Contains(text, `"public":false,"plain_body":"For us"`) || !strings.Contains(text, `"public":true,"plain_body":"For the customer"`) {
		t.Errorf("the comments are %s", text)
	}
	if text := f.Fails(t, "update_fields", `{"ticket_id": 1}`); !strings.Contains(text, "at least one field") {
		t.Errorf("no change: %s", text)
	}
}
