package pagerduty_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/pagerduty"
)

type object = integrationtest.Object

// setup returns a PagerDuty with the incidents P1 and, of Ada's team, P2.
func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	incident := func(id, title string) object {
		return object{"id": id, "incident_number": 1, "title": title, "status": "triggered", "urgency": "high", "html_url": "https://acme.pagerduty.example/incidents/" + id, "service": object{"id": "S1", "summary": "Web"}}
	}
	incidents := []object{incident("P1", "The site is down"), incident("P2", "Ada's database is full")}
	notes := map[string][]object{}
	keys := map[string]bool{}
	stub := &integrationtest.Stub{
		Authorized: func(r *http.Request) string {
			if r.Header.Get("Accept") != "application/vnd.pagerduty+json;version=2" || !strings.Contains(r.Header.Get("From"), "@") {
				return ""
			}
			return integrationtest.Header("Authorization", "Token token=", map[string]string{"ada-key-1": "ada", "eve-key-2": "eve"})(r)
		},
		Failure: func(status int, text string) any { return object{"error": object{"code": status, "message": text}} },
	}
	find := func(c *integrationtest.Call) object {
		for _, i := range incidents {
			if i["id"] == c.PathValue("id") && (c.Person == "ada" || i["id"] != "P2") {
				return i
			}
		}
		return nil
	}
	missing := integrationtest.Refused(http.StatusNotFound, "Not Found")
	stub.Handle("GET /abilities", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"abilities": []string{"sso"}}}
	})
	stub.Handle("GET /oncalls limit earliest", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"oncalls": []object{{"user": object{"id": "U1", "summary": "Ada"}, "escalation_policy": object{"id": "E1"}, "escalation_level": 1, "schedule": nil}}}}
	})
	stub.Handle("GET /services limit query", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"services": []object{{"id": "S1", "summary": "Web", "status": "critical"}}}}
	})
	stub.Handle("GET /incidents statuses[] limit sort_by incident_key", func(c *integrationtest.Call) integrationtest.Answer {
		found := []object{}
		for _, i := range incidents {
			if c.Query.Has("incident_key") {
				if i["incident_key"] == c.Query.Get("incident_key") {
					found = append(found, i)
				}
				continue
			}
			if slices.Contains(c.Query["statuses[]"], i["status"].(string)) && (c.Person == "ada" || i["id"] != "P2") {
				found = append(found, i)
			}
		}
		return integrationtest.Answer{Body: object{"incidents": found, "more": false}}
	})
	stub.Handle("GET /incidents/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		if i := find(c); i != nil {
			return integrationtest.Answer{Body: object{"incident": i}}
		}
		return missing
	})
	stub.Handle("GET /incidents/{id}/notes", func(c *integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"notes": slices.Concat([]object{}, notes[c.PathValue("id")])}}
	})
	stub.Handle("PUT /incidents/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Incident struct{ Type, Status string } }
		i := find(c)
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case i == nil:
			return missing
		case in.Incident.Type != "incident_reference" || i["status"] == "resolved" && in.Incident.Status != "resolved":
			return integrationtest.Refused(http.StatusBadRequest, "Incident Already Resolved")
		}
		i["status"] = in.Incident.Status
		return integrationtest.Answer{Body: object{"incident": i}}
	})
	stub.Handle("POST /incidents/{id}/notes", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Note struct{ Content string } }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case find(c) == nil:
			return missing
		}
		notes[c.PathValue("id")] = append(notes[c.PathValue("id")], object{"id": "N1", "content": in.Note.Content, "user": object{"summary": c.Person}})
		return integrationtest.Answer{Body: object{"note": object{"id": "N1"}}}
	})
	stub.Handle("POST /incidents", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Incident struct {
				Type, Title, Urgency string
				Key                  string `json:"incident_key"`
				Service              struct{ ID, Type string }
				Body                 struct{ Type, Details string }
			}
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case in.Incident.Service.ID != "S1" || in.Incident.Service.Type != "service_reference" || in.Incident.Type != "incident":
			return integrationtest.Refused(http.StatusBadRequest, "Service cannot be found")
		case keys[in.Incident.Key]:
			return integrationtest.Refused(http.StatusBadRequest, "Open incident with matching dedup key already exists on this service")
		}
		made := incident("P9", in.Incident.Title)
		keys[in.Incident.Key], made["incident_key"] = true, in.Incident.Key
		incidents = append(incidents, made)
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"incident": made}}
	})
	return integrationtest.Setup{
		Provider: pagerduty.Provider(), Server: stub,
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url, "from": "ada@example.com"} },
		Credentials: map[string]string{"token": "ada-key-1"}, Other: map[string]string{"token": "eve-key-2"},
		Examples: map[string]integrationtest.Example{
			"oncalls":        {Arguments: `{}`, Want: []string{"Ada"}},
			"list_services":  {Arguments: `{"query": "web"}`, Want: []string{"S1"}},
			"list_incidents": {Arguments: `{"statuses": ["triggered", "acknowledged"], "limit": 10}`, Want: []string{"The site is down"}, Own: "database is full"},
			"get_incident":   {Arguments: `{"incident_id": "P2"}`, Own: "database is full"},
			"acknowledge":    {Arguments: `{"incident_id": "P1"}`, Want: []string{"acknowledged"}},
			"resolve":        {Arguments: `{"incident_id": "P1"}`, Want: []string{"resolved"}},
			"add_note":       {Arguments: `{"incident_id": "P1", "text": "We look\nat it"}`, Want: []string{"N1"}},
			"trigger":        {Arguments: `{"service_id": "S1", "title": "The door is open", "urgency": "low", "details": "Since noon"}`, Want: []string{"P9"}},
		},
	}
}

func TestPagerDutyPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestAnIncidentIsTriggeredOnce(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	const arguments = `{"service_id": "S1", "title": "The door is open"}`
	for range 2 {
		if text := f.Call(t, "trigger", arguments); !strings.Contains(text, "P9") {
			t.Errorf("triggered was %s", text)
		}
	}
	if text := f.Call(t, "list_incidents", `{}`); strings.Count(text, "The door is open") != 1 {
		t.Errorf("the incidents are %s", text)
	}
	f.Call(t, "add_note", `{"incident_id": "P1", "text": "Seen"}`)
	if text := f.Call(t, "get_incident", `{"incident_id": "P1"}`); !strings.Contains(text, "magpie-run: "+integrationtest.CallKey) {
		t.Errorf("the note has no mark: %s", text)
	}
}
