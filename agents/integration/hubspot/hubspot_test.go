package hubspot_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/hubspot"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

// setup returns a HubSpot with the contacts 1 and, of Ada, 2. The notes and tasks are in
// made.
func setup(t *testing.T, made *[]object) integrationtest.Setup {
	t.Helper()
	contacts := map[string]object{
		"1": {"firstname": "Grace", "email": "grace@example.com", "phone": nil}, "2": {"firstname": "Grace of Ada", "email": "own@example.com"},
	}
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"pat-ada-1": "ada", "pat-eve-2": "eve", "granted-token-3": "ada"}),
		Failure:    func(_ int, text string) any { return object{"status": "error", "message": text, "category": "X"} },
	}
	sees := func(c *integrationtest.Call, id string) bool {
		return contacts[id] != nil && (c.Person == "ada" || id != "2")
	}
	missing := integrationtest.Refused(http.StatusNotFound, "resource not found")
	record := func(id string) object {
		return object{"id": id, "properties": contacts[id], "createdAt": "2026-01-31T12:00:00Z"}
	}
	stub.Handle("GET /crm/v3/objects/contacts limit", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"results": []object{record("1")}}}
	})
	stub.Handle("POST /crm/v3/objects/{object}/search", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Query      string
			Limit      int
			Properties []string
		}
		if !c.Decode(&in) || in.Limit < 1 || len(in.Properties) == 0 {
			return c.Invalid()
		}
		found := []object{}
		for id, p := range contacts {
			if c.PathValue("object") == "contacts" && sees(c, id) && strings.Contains(p["firstname"].(string), in.Query) {
				found = append(found, record(id))
			}
		}
		return integrationtest.Answer{Body: object{"total": len(found), "results": found}}
	})
	stub.Handle("GET /crm/v3/objects/contacts/{id} properties", func(c *integrationtest.Call) integrationtest.Answer {
		if !sees(c, c.PathValue("id")) || c.Query.Get("properties") == "" {
			return missing
		}
		return integrationtest.Answer{Body: record(c.PathValue("id"))}
	})
	stub.Handle("PATCH /crm/v3/objects/contacts/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Properties map[string]string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !sees(c, c.PathValue("id")):
			return missing
		}
		for name, value := range in.Properties {
			if name != "firstname" && name != "phone" {
				return integrationtest.Refused(http.StatusBadRequest, "Property values were not valid")
			}
			contacts[c.PathValue("id")][name] = value
		}
		return integrationtest.Answer{Body: record(c.PathValue("id"))}
	})
	for kind, number := range map[string]int{"notes": 202, "tasks": 204} {
		stub.Handle("POST /crm/v3/objects/"+kind, func(c *integrationtest.Call) integrationtest.Answer {
			var in struct {
				Properties   map[string]any
				Associations []struct {
					To    struct{ ID string }
					Types []struct {
						Category string `json:"associationCategory"`
						Type     int    `json:"associationTypeId"`
					}
				}
			}
			switch {
			case !c.Decode(&in):
				return c.Invalid()
			case len(in.Associations) != 1 || len(in.Associations[0].Types) != 1 || in.Associations[0].Types[0].Type != number || in.Properties["hs_timestamp"] == "":
				return integrationtest.Refused(http.StatusBadRequest, "invalid association")
			case !sees(c, in.Associations[0].To.ID):
				return missing
			}
			*made = append(*made, in.Properties)
			return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "55", "properties": object{}}}
		})
	}
	return integrationtest.Setup{
		Provider: hubspot.Provider(), Server: stub, Token: "granted-token-3",
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url} },
		Credentials: map[string]string{"token": "pat-ada-1"}, Other: map[string]string{"token": "pat-eve-2"},
		Examples: map[string]integrationtest.Example{
			"search":        {Arguments: `{"object": "contacts", "query": "Grace", "limit": 10}`, Want: []string{"grace@example.com"}, Own: "own@example.com"},
			"get_record":    {Arguments: `{"object": "contacts", "id": "1", "properties": ["firstname", "email"]}`, Want: []string{"Grace"}},
			"log_note":      {Arguments: `{"object": "contacts", "id": "1", "text": "We met\ntoday"}`, Want: []string{"55"}},
			"create_task":   {Arguments: `{"object": "contacts", "id": "1", "subject": "Call back", "text": "About it", "due_in_hours": 24}`, Want: []string{"55"}},
			"update_fields": {Arguments: `{"object": "contacts", "id": "1", "properties": {"phone": "+49 1234"}}`, Want: []string{"+49 1234"}},
		},
	}
}

func TestHubSpotPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &[]object{}) })
}

func TestNotesAndTasksHaveTheMark(t *testing.T) {
	t.Parallel()
	made := []object{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &made) })
	f.Call(t, "log_note", `{"object": "contacts", "id": "1", "text": "We met"}`)
	f.Call(t, "create_task", `{"object": "contacts", "id": "1", "subject": "Call", "due_in_hours": 1}`)
	if len(made) != 2 || made[0]["hs_note_body"] != "We met\n\nmagpie-run: "+integrationtest.CallKey || made[1]["hs_task_body"] != "magpie-run: "+integrationtest.CallKey {
		t.Errorf("made are %v", made)
	}
	if text := f.Fails(t, "update_fields", `{"object": "contacts", "id": "1", "properties": {"none": "x"}}`); !strings.Contains(text, "Property values were not valid") {
		t.Errorf("an unknown property: %s", text)
	}
}
