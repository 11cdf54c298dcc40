package googleworkspace_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/agents/integration/googleworkspace"
	"github.com/magpie-search/magpie/agents/integration/integrationtest"
)

type object = integrationtest.Object

// workspace is a Google Workspace of Ada and Eve, each with an own mailbox and calendar.
type workspace struct {
	sent, drafts []*mail.Message
	events       map[string]map[string]object // by person and id
	documents    []string
}

// raw returns a mail that was sent to the API.
func raw(text string) (*mail.Message, bool) {
	content, err := base64.URLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	m, err := mail.ReadMessage(bytes.NewReader(content))
	if err != nil {
		return nil, false
	}
	_, err = m.Header.AddressList("To")
	return m, err == nil
}

// plain returns the mails in a body.
func plain(body []byte) []byte {
	var in struct {
		Raw     string
		Message struct{ Raw string }
	}
	if json.Unmarshal(body, &in) == nil && in.Raw+in.Message.Raw != "" {
		content, err := base64.URLEncoding.DecodeString(in.Raw + in.Message.Raw)
		if err == nil {
			return content
		}
	}
	return body
}

func (s *workspace) serve(stub *integrationtest.Stub) {
	missing := integrationtest.Refused(http.StatusNotFound, "Requested entity was not found.")
	invalid := integrationtest.Refused(http.StatusBadRequest, "Invalid value")
	mails := map[string]object{}
	for id, person := range map[string]string{"m1": "ada", "m2": "eve"} {
		text := base64.RawURLEncoding.EncodeToString([]byte("The report of " + person + " is ready. <b>"))
		headers := []object{{"name": "From", "value": "Grace <grace@example.com>"}, {"name": "Subject", "value": "Report of " + person}, {"name": "Message-Id", "value": "<" + id + "@example.com>"}}
		mails[id] = object{"id": id, "threadId": "t" + id, "snippet": "The report of " + person, "payload": object{"mimeType": "multipart/alternative", "headers": headers, "parts": []object{
			{"mimeType": "text/html", "body": object{"data": "PGI-"}}, {"mimeType": "text/plain", "body": object{"data": text}},
		}}}
	}
	own := func(c *integrationtest.Call, id string) bool {
		return id == "m1" && c.Person == "ada" || id == "m2" && c.Person == "eve"
	}
	stub.Handle("GET /drive/v3/about fields", func(*integrationtest.Call) integrationtest.Answer {
		return integrationtest.Answer{Body: object{"user": object{}}}
	})
	stub.Handle("GET /gmail/v1/users/me/messages q maxResults", func(c *integrationtest.Call) integrationtest.Answer {
		list := []object{}
		for id := range mails {
			if own(c, id) {
				list = append(list, object{"id": id, "threadId": "t" + id})
			}
		}
		return integrationtest.Answer{Body: object{"messages": list, "resultSizeEstimate": 1}}
	})
	stub.Handle("GET /gmail/v1/users/me/messages/{id} format metadataHeaders", func(c *integrationtest.Call) integrationtest.Answer {
		if !own(c, c.PathValue("id")) {
			return missing
		}
		return integrationtest.Answer{Body: mails[c.PathValue("id")]}
	})
	stub.Handle("POST /gmail/v1/users/me/messages/send", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Raw, ThreadID string }
		if !c.Decode(&in) {
			return c.Invalid()
		}
		m, ok := raw(in.Raw)
		if !ok {
			return invalid
		}
		s.sent = append(s.sent, m)
		return integrationtest.Answer{Body: object{"id": "m9", "threadId": in.ThreadID}}
	})
	stub.Handle("POST /gmail/v1/users/me/drafts", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Message struct{ Raw, ThreadID string }
		}
		if !c.Decode(&in) {
			return c.Invalid()
		}
		m, ok := raw(in.Message.Raw)
		if !ok {
			return invalid
		}
		s.drafts = append(s.drafts, m)
		return integrationtest.Answer{Body: object{"id": "r9", "message": object{"id": "m9"}}}
	})
	s.serveCalendar(stub, missing)
	stub.Handle("GET /drive/v3/files q pageSize fields supportsAllDrives includeItemsFromAllDrives", func(c *integrationtest.Call) integrationtest.Answer {
		if !strings.HasPrefix(c.Query.Get("q"), "fullText contains '") || !strings.HasSuffix(c.Query.Get("q"), "' and trashed = false") {
			return invalid
		}
		return integrationtest.Answer{Body: object{"files": []object{{"id": "f1", "name": "Plan", "webViewLink": "https://docs.example/f1"}}}}
	})
	stub.Handle("POST /upload/drive/v3/files uploadType fields supportsAllDrives", func(c *integrationtest.Call) integrationtest.Answer {
		kind, parameters, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
		if err != nil || kind != "multipart/related" || c.Query.Get("uploadType") != "multipart" {
			return invalid
		}
		parts := []string{}
		for r := multipart.NewReader(bytes.NewReader(c.Content), parameters["boundary"]); ; {
			p, err := r.NextPart()
			if err != nil {
				break
			}
			content, err := io.ReadAll(p)
			if err != nil {
				return invalid
			}
			parts = append(parts, string(content))
		}
		var about struct{ Name, MimeType string }
		if len(parts) != 2 || json.Unmarshal([]byte(parts[0]), &about) != nil || about.MimeType != "application/vnd.google-apps.document" {
			return invalid
		}
		s.documents = append(s.documents, parts[1])
		return integrationtest.Answer{Body: object{"id": "f2", "name": about.Name, "webViewLink": "https://docs.example/f2"}}
	})
}

func (s *workspace) serveCalendar(stub *integrationtest.Stub, missing integrationtest.Answer) {
	const base = "/calendar/v3/calendars/primary/events"
	stub.Handle("GET "+base+" timeMin timeMax singleEvents orderBy maxResults q", func(c *integrationtest.Call) integrationtest.Answer {
		all := []object{}
		for _, e := range s.events[c.Person] {
			all = append(all, e)
		}
		return integrationtest.Answer{Body: object{"items": all}}
	})
	stub.Handle("GET "+base+"/{id}", func(c *integrationtest.Call) integrationtest.Answer {
		if e := s.events[c.Person][c.PathValue("id")]; e != nil {
			return integrationtest.Answer{Body: e}
		}
		return missing
	})
	type fields struct {
		ID, Summary, Description, Location string
		Start, End                         struct{ DateTime *time.Time }
		Attendees                          []struct{ Email string }
		ExtendedProperties                 struct{ Private map[string]string }
	}
	store := func(c *integrationtest.Call, id string, in fields) integrationtest.Answer {
		e := object{"id": id, "summary": in.Summary, "location": in.Location, "htmlLink": "https://calendar.example/" + id, "start": in.Start, "end": in.End, "attendees": in.Attendees}
		s.events[c.Person][id] = e
		return integrationtest.Answer{Body: e}
	}
	stub.Handle("POST "+base+" sendUpdates", func(c *integrationtest.Call) integrationtest.Answer {
		var in fields
		switch {
		case !c.Decode(&in) || in.Start.DateTime == nil || in.End.DateTime == nil || strings.Trim(in.ID, "abcdefghijklmnopqrstuv0123456789") != "":
			return c.Invalid()
		case s.events[c.Person][in.ID] != nil:
			return integrationtest.Refused(http.StatusConflict, "The requested identifier already exists.")
		}
		return store(c, in.ID, in)
	})
	stub.Handle("PATCH "+base+"/{id} sendUpdates", func(c *integrationtest.Call) integrationtest.Answer {
		var in fields
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case s.events[c.Person][c.PathValue("id")] == nil:
			return missing
		}
		return store(c, c.PathValue("id"), in)
	})
	stub.Handle("POST /calendar/v3/freeBusy", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			TimeMin, TimeMax time.Time
			Items            []struct{ ID string }
		}
		if !c.Decode(&in) || len(in.Items) == 0 {
			return c.Invalid()
		}
		return integrationtest.Answer{Body: object{"calendars": object{in.Items[0].ID: object{"busy": []object{{"start": "2026-12-01T09:00:00Z", "end": "2026-12-01T10:00:00Z"}}}}}}
	})
}

func setup(t *testing.T, s *workspace) integrationtest.Setup {
	t.Helper()
	s.events = map[string]map[string]object{}
	for person, summary := range map[string]string{"ada": "Board of Ada", "eve": "Dentist"} {
		s.events[person] = map[string]object{"e1": {"id": "e1", "summary": summary, "htmlLink": "https://calendar.example/e1"}}
	}
	stub := &integrationtest.Stub{
		Authorized: integrationtest.Bearer(map[string]string{"ya29.ada-token": "ada", "ya29.eve-token": "eve", "ya29.granted": "ada"}),
		Failure: func(status int, text string) any {
			return object{"error": object{"code": status, "message": text, "errors": []object{}}}
		},
	}
	s.serve(stub)
	const event = `"summary": "Planning", "start": "2026-12-01T09:00:00Z", "end": "2026-12-01T10:00:00+01:00", "description": "About\nnext year", "location": "Room 5", "attendees": ["grace@example.com"]`
	const letter = `{"to": ["grace@example.com", "Bob <bob@example.com>"], "cc": ["eve@example.com"], "subject": "Über the report", "text": "It is\nready.", "reply_to_id": "m1"}`
	return integrationtest.Setup{
		Provider: googleworkspace.Provider(), Server: stub, Token: "ya29.granted", Plain: plain,
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url} },
		Credentials: map[string]string{"token": "ya29.ada-token"}, Other: map[string]string{"token": "ya29.eve-token"},
		Examples: map[string]integrationtest.Example{
			"gmail_search":          {Arguments: `{"query": "report", "limit": 5}`, Want: []string{"grace@example.com"}, Own: "Report of ada"},
			"gmail_read":            {Arguments: `{"id": "m1"}`, Own: "The report of ada is ready. <b>"},
			"gmail_create_draft":    {Arguments: letter, Want: []string{"r9"}},
			"gmail_send":            {Arguments: letter, Want: []string{"m9"}},
			"calendar_list_events":  {Arguments: `{"start": "2026-12-01T00:00:00Z", "end": "2026-12-02T00:00:00Z", "words": "a"}`, Own: "Board of Ada"},
			"calendar_free_busy":    {Arguments: `{"start": "2026-12-01T00:00:00Z", "end": "2026-12-02T00:00:00Z", "people": ["grace@example.com"]}`, Want: []string{"grace@example.com", "09:00"}},
			"calendar_create_event": {Arguments: `{` + event + `}`, Want: []string{"Planning", "https://calendar.example/"}},
			"calendar_update_event": {Arguments: `{"event_id": "e1", ` + event + `}`, Want: []string{"Planning"}},
			"drive_search":          {Arguments: `{"words": "the plan's", "limit": 5}`, Want: []string{"https://docs.example/f1"}},
			"drive_create_doc":      {Arguments: `{"name": "Minutes", "text": "# Minutes\n- one", "folder_id": "d1"}`, Want: []string{"https://docs.example/f2"}},
		},
	}
}

func TestGoogleWorkspacePassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, &workspace{}) })
}

func TestAMailHasNoHeadersButItsOwn(t *testing.T) {
	t.Parallel()
	s := &workspace{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, s) })
	f.Call(t, "gmail_send", `{"to": ["grace@example.com"], "subject": "Hi\r\nBcc: eve@example.com", "text": "Grüße", "reply_to_id": "m1"}`)
	if len(s.sent) != 1 {
		t.Fatalf("%d mails were sent", len(s.sent))
	}
	h := s.sent[0].Header
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || subject != "Hi Bcc: eve@example.com" || h.Get("Bcc") != "" || h.Get("In-Reply-To") != "<m1@example.com>" || h.Get("X-Magpie-Run") != "magpie-run: "+integrationtest.CallKey {
		t.Errorf("the headers are %v, the subject %q, %v", h, subject, err)
	}
	for arguments, want := range map[string]string{
		`{"to": ["grace@example.com\r\nBcc: eve@example.com"], "subject": "a", "text": "b"}`: "to: must be mail addresses",
		`{"to": ["grace@example.com, eve@example.com"], "subject": "a", "text": "b"}`:        "to: must be mail addresses",
		`{"to": ["grace@example.com"], "subject": "a", "text": "b", "reply_to_id": "m2"}`:    "(404)",
	} {
		if text := f.Fails(t, "gmail_send", arguments); !strings.Contains(text, want) {
			t.Errorf("%s: %s", arguments, text)
		}
	}
}

func TestAnEventIsCreatedOnce(t *testing.T) {
	t.Parallel()
	s := &workspace{}
	f := integrationtest.Start(t, func(t *testing.T) integrationtest.Setup { t.Helper(); return setup(t, s) })
	for range 2 {
		f.Call(t, "calendar_create_event", `{"summary": "Planning", "start": "2026-12-01T09:00:00Z", "end": "2026-12-01T10:00:00Z"}`)
	}
	if len(s.events["ada"]) != 2 {
		t.Errorf("the calendar has %d events", len(s.events["ada"]))
	}
	if text := f.Fails(t, "calendar_update_event", `{"event_id": "e1"}`); !strings.Contains(text, "at least one field") {
		t.Errorf("no change: %s", text)
	}
}
