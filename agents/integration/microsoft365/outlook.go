package microsoft365

import (
	"context"
	"net/http"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
)

type recipient struct {
	Mail struct {
		Name    string `json:"name,omitempty"`
		Address string `json:"address"`
	} `json:"emailAddress"`
}

type message struct {
	ID       string      `json:"id"`
	Subject  string      `json:"subject"`
	From     *recipient  `json:"from,omitempty"`
	To       []recipient `json:"toRecipients,omitempty"`
	Received string      `json:"receivedDateTime,omitempty"`
	Preview  string      `json:"bodyPreview,omitempty"`
	Link     string      `json:"webLink,omitempty"`
	Body     *struct {
		Content string `json:"content"`
	} `json:"body,omitempty"`
}

// RequiredFields implements the check of answers.
func (message) RequiredFields() []string { return []string{"id"} }

const mailFields = "id,subject,from,toRecipients,receivedDateTime,bodyPreview,webLink"

type searchInput struct {
	Query string `json:"query" rule:"required,min=1,max=300"`
	Limit int    `json:"limit" rule:"min=1,max=50" about:"10 when left out."`
}

func searchMail(ctx context.Context, a integration.Account, in searchInput) (loop.Result, error) {
	if in.Limit == 0 {
		in.Limit = 10
	}
	words := `"` + strings.NewReplacer(`\`, ` `, `"`, ` `).Replace(in.Query) + `"`
	var out list[message]
	query := url.Values{"$search": {words}, "$top": {strconv.Itoa(in.Limit)}, "$select": {mailFields}}
	if err := api().Do(ctx, a, platform.Request{Path: "me/messages", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"mails": out.Value}, "%d mails", len(out.Value))
}

type readInput struct {
	ID string `json:"id" rule:"required,min=1,max=300"`
}

func readMail(ctx context.Context, a integration.Account, in readInput) (loop.Result, error) {
	var out message
	r := platform.Request{
		Path: platform.Path("me/messages/%s", in.ID), Query: url.Values{"$select": {mailFields + ",body"}}, Header: http.Header{"Prefer": {`outlook.body-content-type="text"`}},
	}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "A mail: %s", out.Subject)
}

type mailInput struct {
	To      []string `json:"to" rule:"required,min=1,max=50" about:"Mail addresses."`
	Cc      []string `json:"cc" rule:"max=50"`
	Subject string   `json:"subject" rule:"required,min=1,max=300"`
	Text    string   `json:"text" rule:"required,min=1,max=50000" about:"Plain text."`
}

func showMail(verb string) func(in mailInput) loop.Preview {
	return func(in mailInput) loop.Preview {
		return integration.Show(verb+" to "+join(in.To), integration.Field{Name: "To", Value: join(in.To)}, integration.Field{Name: "Cc", Value: join(in.Cc)},
			integration.Field{Name: "Subject", Value: in.Subject}, integration.Field{Name: "Text", Value: in.Text})
	}
}

func recipients(field string, addresses []string) ([]recipient, error) {
	out := make([]recipient, len(addresses))
	for i, text := range addresses {
		address, err := mail.ParseAddress(text)
		if err != nil {
			return nil, apierr.Invalid(field, "must be mail addresses, such as ada@example.com")
		}
		out[i].Mail.Name, out[i].Mail.Address = address.Name, address.Address
	}
	return out, nil
}

// compose returns the mail as Graph takes it. A header that people do not see has the
// key of the call.
func compose(ctx context.Context, in mailInput) (map[string]any, error) {
	to, err := recipients("to", in.To)
	if err != nil {
		return nil, err
	}
	cc, err := recipients("cc", in.Cc)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"subject": in.Subject, "body": map[string]any{"contentType": "text", "content": in.Text}, "toRecipients": to}
	if len(cc) > 0 {
		out["ccRecipients"] = cc
	}
	if marker := integration.Marker(ctx); marker != "" {
		out["internetMessageHeaders"] = []any{map[string]any{"name": "x-magpie-run", "value": marker}}
	}
	return out, nil
}

func createDraft(ctx context.Context, a integration.Account, in mailInput) (loop.Result, error) {
	made, err := compose(ctx, in)
	if err != nil {
		return loop.Result{}, err
	}
	var out message
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "me/messages", Body: made}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "link": out.Link}, "A draft was created")
}

func sendMail(ctx context.Context, a integration.Account, in mailInput) (loop.Result, error) {
	made, err := compose(ctx, in)
	if err != nil {
		return loop.Result{}, err
	}
	r := platform.Request{Method: http.MethodPost, Path: "me/sendMail", Body: map[string]any{"message": made, "saveToSentItems": true}}
	if err := api().Do(ctx, a, r, nil); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"sent_to": in.To, "subject": in.Subject}, "A mail was sent")
}

type moment struct {
	Time string `json:"dateTime"`
	Zone string `json:"timeZone"`
}

type event struct {
	ID        string  `json:"id"`
	Subject   string  `json:"subject"`
	Start     *moment `json:"start,omitempty"`
	End       *moment `json:"end,omitempty"`
	Link      string  `json:"webLink"`
	Organizer *struct {
		recipient
	} `json:"organizer,omitempty"`
	Location *struct {
		Name string `json:"displayName"`
	} `json:"location,omitempty"`
	Attendees []recipient `json:"attendees,omitempty"`
}

// RequiredFields implements the check of answers.
func (event) RequiredFields() []string { return []string{"id"} }

type rangeInput struct {
	Start string `json:"start" rule:"required,max=40" about:"A time such as 2026-01-31T12:00:00Z."`
	End   string `json:"end" rule:"required,max=40"`
}

func instant(field, text string) (string, error) {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return "", apierr.Invalid(field, "must be a time such as 2026-01-31T12:00:00Z")
	}
	return at.UTC().Format("2006-01-02T15:04:05"), nil
}

// span checks the two ends of a range of time.
func span(start, end string) (from, to string, err error) {
	if from, err = instant("start", start); err != nil {
		return "", "", err
	}
	if to, err = instant("end", end); err != nil {
		return "", "", err
	}
	return from, to, nil
}

func listEvents(ctx context.Context, a integration.Account, in rangeInput) (loop.Result, error) {
	from, to, err := span(in.Start, in.End)
	if err != nil {
		return loop.Result{}, err
	}
	query := url.Values{
		"startDateTime": {from + "Z"}, "endDateTime": {to + "Z"}, "$top": {"50"}, "$orderby": {"start/dateTime"}, "$select": {"id,subject,start,end,webLink,organizer,location,attendees"},
	}
	var out list[event]
	if err := api().Do(ctx, a, platform.Request{Path: "me/calendarView", Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"events": out.Value}, "%d events", len(out.Value))
}

type eventInput struct {
	Subject   string   `json:"subject" rule:"required,min=1,max=300"`
	Start     string   `json:"start" rule:"required,max=40" about:"A time such as 2026-01-31T12:00:00Z."`
	End       string   `json:"end" rule:"required,max=40"`
	Text      string   `json:"text" rule:"max=8000"`
	Location  string   `json:"location" rule:"max=300"`
	Attendees []string `json:"attendees" rule:"max=50" about:"Mail addresses. They are invited."`
}

func showEvent(in eventInput) loop.Preview {
	title := "Create an event"
	if len(in.Attendees) > 0 {
		title += " and invite " + join(in.Attendees)
	}
	return integration.Show(title, integration.Field{Name: "Title", Value: in.Subject}, integration.Field{Name: "Start", Value: in.Start}, integration.Field{Name: "End", Value: in.End},
		integration.Field{Name: "Place", Value: in.Location}, integration.Field{Name: "Attendees", Value: join(in.Attendees)}, integration.Field{Name: "Text", Value: in.Text})
}

// createEvent creates an event whose transaction id is the key of the call: Graph
// makes no second one with it.
func createEvent(ctx context.Context, a integration.Account, in eventInput) (loop.Result, error) {
	from, to, err := span(in.Start, in.End)
	if err != nil {
		return loop.Result{}, err
	}
	invited, err := recipients("attendees", in.Attendees)
	if err != nil {
		return loop.Result{}, err
	}
	body := map[string]any{"subject": in.Subject, "start": moment{from, "UTC"}, "end": moment{to, "UTC"}}
	if in.Text != "" {
		body["body"] = map[string]any{"contentType": "text", "content": in.Text}
	}
	if in.Location != "" {
		body["location"] = map[string]any{"displayName": in.Location}
	}
	if len(invited) > 0 {
		body["attendees"] = invited
	}
	if key := loop.CallInfoFrom(ctx).Key; key != "" {
		body["transactionId"] = key
	}
	var out event
	if err := api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: "me/events", Body: body}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"id": out.ID, "link": out.Link, "subject": out.Subject}, "An event was created")
}
