package microsoft365_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/microsoft365"
)

type object = integrationtest.Object

type address struct {
	EmailAddress struct{ Name, Address string }
}

type letter struct {
	Subject                    string
	Body                       struct{ ContentType, Content string }
	ToRecipients, CcRecipients []address
	Headers                    []struct{ Name, Value string } `json:"internetMessageHeaders"`
}

// tenant is a Microsoft 365 of Ada and Eve, each with an own mailbox and calendar.
type tenant struct {
	sent  []letter
	posts []string
	pages []string
	// events are the transactions of the events that were made.
	events map[string]bool
}

func (s *tenant) serve(stub *integrationtest.Stub) {
	missing := integrationtest.Refused(http.StatusNotFound, "The specified object was not found in the store.")
	invalid := integrationtest.Refused(http.StatusBadRequest, "Invalid request")
	values := func(all ...object) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"value": append([]object{}, all...)}}
	}
	mail := func(person string) object {
		return object{"id": "AAM-" + person + "=", "subject": "Report of " + person, "bodyPreview": "It is ready", "webLink": "https://outlook.example/1", "from": object{"emailAddress": object{"address": "grace@example.com"}}}
	}
	good := func(in letter) bool {
		return len(in.ToRecipients) > 0 && in.Body.ContentType == "text" && len(in.Headers) == 1 && strings.HasPrefix(in.Headers[0].Name, "x-")
	}
	stub.Handle("GET /v1.0/me", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"id": "u1"}}
	})
	stub.Handle("GET /v1.0/me/messages $search $top $select", func(c *integrationtest.Call) integrationtest.Answer {
		if words := c.Query.Get("$search"); len(words) < 3 || strings.Count(words, `"`) != 2 {
			return invalid
		}
		return values(mail(c.Person))
	})
	stub.Handle("GET /v1.0/me/messages/{id} $select", func(c *integrationtest.Call) integrationtest.Answer {
		m := mail(c.Person)
		if c.PathValue("id") != m["id"] || c.Header.Get("Prefer") != `outlook.body-content-type="text"` {
			return missing
		}
		m["body"] = object{"contentType": "text", "content": "The report of " + c.Person + " is ready."}
		return integrationtest.Answer{Body: m}
	})
	stub.Handle("POST /v1.0/me/messages", func(c *integrationtest.Call) integrationtest.Answer {
		var in letter
		if !c.Decode(&in) {
			return c.Invalid()
		}
		if !good(in) {
			return invalid
		}
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "draft-1", "webLink": "https://outlook.example/2"}}
	})
	stub.Handle("POST /v1.0/me/sendMail", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Message         letter
			SaveToSentItems bool
		}
		if !c.Decode(&in) {
			return c.Invalid()
		}
		if !good(in.Message) {
			return invalid
		}
		s.sent = append(s.sent, in.Message)
		return integrationtest.Answer{Status: http.StatusAccepted}
	})
	stub.Handle("GET /v1.0/me/calendarView startDateTime endDateTime $top $orderby $select", func(c *integrationtest.Call) integrationtest.Answer {
		return values(object{"id": "e1", "subject": "Board of " + c.Person, "start": object{"dateTime": "2026-12-01T09:00:00", "timeZone": "UTC"}})
	})
	stub.Handle("POST /v1.0/me/events", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Subject, TransactionID string
			Start, End             struct{ DateTime, TimeZone string }
			Body                   struct{ ContentType, Content string }
			Location               struct{ DisplayName string }
			Attendees              []address
		}
		if !c.Decode(&in) || in.Start.TimeZone != "UTC" || in.TransactionID == "" {
			return c.Invalid()
		}
		s.events[in.TransactionID] = true // another with it is the same
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "e2", "subject": in.Subject, "webLink": "https://outlook.example/e2"}}
	})
	stub.Handle("GET /v1.0/me/joinedTeams", func(*integrationtest.Call) integrationtest.Answer {
		return values(object{"id": "t1", "displayName": "Sales"})
	})
	stub.Handle("GET /v1.0/teams/{team}/channels", func(c *integrationtest.Call) integrationtest.Answer {
		if c.PathValue("team") != "t1" {
			return missing
		}
		return values(object{"id": "19:abc@thread.tacv2", "displayName": "General"})
	})
	stub.Handle("POST /v1.0/teams/{team}/channels/{channel}/messages", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Body struct{ ContentType, Content string }
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case c.PathValue("team") != "t1" || c.PathValue("channel") != "19:abc@thread.tacv2":
			return missing
		}
		s.posts = append(s.posts, in.Body.Content)
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "1616", "webUrl": "https://teams.example/1616"}}
	})
	stub.Handle("POST /v1.0/search/query", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Requests []struct {
				EntityTypes []string
				Query       struct{ QueryString string }
				From, Size  int
			}
		}
		if !c.Decode(&in) || len(in.Requests) != 1 {
			return c.Invalid()
		}
		hit := object{"summary": "the <c0>plan</c0>", "resource": object{"id": "f1", "name": "Plan.docx", "webUrl": "https://acme.sharepoint.example/plan"}}
		return values(object{"hitsContainers": []object{{"hits": []object{hit}, "total": 1}}})
	})
	stub.Handle("GET /v1.0/sites search $top", func(*integrationtest.Call) integrationtest.Answer {
		return values(object{"id": "acme,1,2", "displayName": "Team", "webUrl": "https://acme.sharepoint.example/team"})
	})
	stub.Handle("POST /v1.0/sites/{site}/pages", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Type                           string `json:"@odata.type"`
			Title, PageLayout, Description string
			CanvasLayout                   struct {
				HorizontalSections []struct {
					Layout, ID string
					Columns    []struct {
						ID       string
						Width    int
						Webparts []struct {
							Type      string `json:"@odata.type"`
							InnerHTML string
						}
					}
				}
			}
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case c.PathValue("site") != "acme,1,2":
			return missing
		case in.Type != "#microsoft.graph.sitePage" || in.Description == "":
			return invalid
		}
		s.pages = append(s.pages, in.CanvasLayout.HorizontalSections[0].Columns[0].Webparts[0].InnerHTML)
		return integrationtest.Answer{Status: http.StatusCreated, Body: object{"id": "p1", "title": in.Title, "webUrl": "SitePages/p1.aspx"}}
	})
}

func setup(t *testing.T, s *tenant) integrationtest.Setup {
	t.Helper()
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"eyJ.ada.token": "ada", "eyJ.eve.token": "eve", "eyJ.granted": "ada"}),
		Failure: func(_ int, text string) any {
			return object{"error": object{"code": "X", "message": text, "innerError": object{}}}
		},
	}
	s.events = map[string]bool{}
	s.serve(stub)
	const mail = `{"to": ["grace@example.com", "Bob <bob@example.com>"], "cc": ["eve@example.com"], "subject": "The report", "text": "It is\nready."}`
	return integrationtest.Setup{
		Provider: microsoft365.Provider(), Server: stub, Token: "eyJ.granted",
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url} },
		Credentials: map[string]string{"token": "eyJ.ada.token"}, Other: map[string]string{"token": "eyJ.eve.token"},
		Examples: map[string]integrationtest.Example{
			"outlook_search":         {Arguments: `{"query": "from:\"grace\" report", "limit": 5}`, Want: []string{"grace@example.com"}, Own: "Report of ada"},
			"outlook_read":           {Arguments: `{"id": "AAM-ada="}`, Own: "The report of ada is ready."},
			"outlook_create_draft":   {Arguments: mail, Want: []string{"draft-1"}},
			"outlook_send":           {Arguments: mail, Want: []string{"grace@example.com"}},
			"calendar_list_events":   {Arguments: `{"start": "2026-12-01T00:00:00Z", "end": "2026-12-02T00:00:00Z"}`, Own: "Board of ada"},
			"calendar_create_event":  {Arguments: `{"subject": "Planning", "start": "2026-12-01T09:00:00Z", "end": "2026-12-01T10:00:00+01:00", "text": "About\nnext year", "location": "Room 5", "attendees": ["grace@example.com"]}`, Want: []string{"Planning"}},
			"teams_list":             {Arguments: `{}`, Want: []string{"Sales"}},
			"teams_list_channels":    {Arguments: `{"team_id": "t1"}`, Want: []string{"19:abc@thread.tacv2"}},
			"teams_post":             {Arguments: `{"team_id": "t1", "channel_id": "19:abc@thread.tacv2", "text": "Hello\nall"}`, Want: []string{"1616"}},
			"sharepoint_search":      {Arguments: `{"words": "plan", "limit": 5}`, Want: []string{"https://acme.sharepoint.example/plan"}},
			"sharepoint_list_sites":  {Arguments: `{"words": "team"}`, Want: []string{"acme,1,2"}},
			"sharepoint_create_page": {Arguments: `{"site_id": "acme,1,2", "title": "Minutes", "text": "One <b>\ntwo\n\nthree"}`, Want: []string{"Minutes"}},
		},
	}
}

func TestMicrosoft365PassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &tenant{}) })
}

func TestWhatIsSentHasTheMark(t *testing.T) {
	t.Parallel()
	s := &tenant{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, s) })
	const marker = "magpie-run: " + integrationtest.CallKey
	f.Call(t, "outlook_send", `{"to": ["grace@example.com"], "subject": "a", "text": "b"}`)
	f.Call(t, "teams_post", `{"team_id": "t1", "channel_id": "19:abc@thread.tacv2", "text": "Hello"}`)
	if len(s.sent) != 1 || s.sent[0].Headers[0].Value != marker || len(s.posts) != 1 || s.posts[0] != "Hello\n\n"+marker {
		t.Errorf("sent are %+v and %q", s.sent, s.posts)
	}
	f.Call(t, "sharepoint_create_page", `{"site_id": "acme,1,2", "title": "Minutes", "text": "One <b>\ntwo\n\nthree"}`)
	if want := "<p>One &lt;b&gt;<br>two</p><p>three</p>"; len(s.pages) != 1 || s.pages[0] != want {
		t.Errorf("the pages are %q", s.pages)
	}
	for range 2 {
		f.Call(t, "calendar_create_event", `{"subject": "Planning", "start": "2026-12-01T09:00:00Z", "end": "2026-12-01T10:00:00Z"}`)
	}
	if len(s.events) != 1 || !s.events[integrationtest.CallKey] {
		t.Errorf("the events are %v", s.events)
	}
	if text := f.Fails(t, "outlook_send", `{"to": ["nobody"], "subject": "a", "text": "b"}`); !strings.Contains(text, "to: must be mail addresses") {
		t.Errorf("a wrong address: %s", text)
	}
}
