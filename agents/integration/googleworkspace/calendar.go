package googleworkspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/platform"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
)

type moment struct {
	Time string `json:"dateTime,omitempty"`
	Day  string `json:"date,omitempty"`
}

type event struct {
	ID          string `json:"id"`
	Status      string `json:"status,omitempty"`
	Summary     string `json:"summary"`
	Description string `json:"description,omitempty"`
	Location    string `json:"location,omitempty"`
	Start       moment `json:"start"`
	End         moment `json:"end"`
	Link        string `json:"htmlLink"`
	Attendees   []struct {
		Mail   string `json:"email"`
		Answer string `json:"responseStatus,omitempty"`
	} `json:"attendees,omitempty"`
}

// RequiredFields implements the check of answers.
func (event) RequiredFields() []string { return []string{"id"} }

const events = "calendar/v3/calendars/primary/events"

type rangeInput struct {
	Start string `json:"start" rule:"required,max=40" about:"A time such as 2026-01-31T12:00:00Z."`
	End   string `json:"end" rule:"required,max=40"`
	Words string `json:"words" rule:"max=200" about:"Only events with these words."`
}

func instant(field, text string) (string, error) {
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return "", apierr.Invalid(field, "must be a time such as 2026-01-31T12:00:00Z")
	}
	return at.Format(time.RFC3339), nil
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
	query := url.Values{"timeMin": {from}, "timeMax": {to}, "singleEvents": {"true"}, "orderBy": {"startTime"}, "maxResults": {"50"}}
	if in.Words != "" {
		query.Set("q", in.Words)
	}
	var out struct {
		Items []event `json:"items"`
	}
	if err := api().Do(ctx, a, platform.Request{Path: events, Query: query}, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(map[string]any{"events": out.Items}, "%d events", len(out.Items))
}

type busyInput struct {
	Start  string   `json:"start" rule:"required,max=40" about:"A time such as 2026-01-31T12:00:00Z."`
	End    string   `json:"end" rule:"required,max=40"`
	People []string `json:"people" rule:"required,min=1,max=20" about:"Mail addresses."`
}

func freeBusy(ctx context.Context, a integration.Account, in busyInput) (loop.Result, error) {
	from, to, err := span(in.Start, in.End)
	if err != nil {
		return loop.Result{}, err
	}
	items := []map[string]any{}
	for _, person := range in.People {
		items = append(items, map[string]any{"id": person})
	}
	var out struct {
		Calendars map[string]any `json:"calendars"`
	}
	r := platform.Request{Method: http.MethodPost, Reads: true, Path: "calendar/v3/freeBusy", Body: map[string]any{"timeMin": from, "timeMax": to, "items": items}}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "%d calendars", len(out.Calendars))
}

type eventInput struct {
	Summary     string   `json:"summary" rule:"required,min=1,max=300"`
	Start       string   `json:"start" rule:"required,max=40" about:"A time such as 2026-01-31T12:00:00Z."`
	End         string   `json:"end" rule:"required,max=40"`
	Description string   `json:"description" rule:"max=8000"`
	Location    string   `json:"location" rule:"max=300"`
	Attendees   []string `json:"attendees" rule:"max=50" about:"Mail addresses. They are invited."`
}

func (in eventInput) fields() []integration.Field {
	return []integration.Field{
		{Name: "Title", Value: in.Summary}, {Name: "Start", Value: in.Start}, {Name: "End", Value: in.End}, {Name: "Place", Value: in.Location},
		{Name: "Attendees", Value: strings.Join(in.Attendees, ", ")}, {Name: "Description", Value: in.Description},
	}
}

// body returns the given fields of an event.
func (in eventInput) body() (map[string]any, error) {
	body := map[string]any{}
	for name, value := range map[string]string{"summary": in.Summary, "description": in.Description, "location": in.Location} {
		if value != "" {
			body[name] = value
		}
	}
	for name, value := range map[string]string{"start": in.Start, "end": in.End} {
		if value == "" {
			continue
		}
		at, err := instant(name, value)
		if err != nil {
			return nil, err
		}
		body[name] = moment{Time: at}
	}
	if len(in.Attendees) > 0 {
		people := []map[string]any{}
		for _, address := range in.Attendees {
			people = append(people, map[string]any{"email": address})
		}
		body["attendees"] = people
	}
	return body, nil
}

// createEvent creates an event whose id comes from the key of the call, so that it is
// made once.
func createEvent(ctx context.Context, a integration.Account, in eventInput) (loop.Result, error) {
	body, err := in.body()
	if err != nil {
		return loop.Result{}, err
	}
	id := ""
	if key := loop.CallInfoFrom(ctx).Key; key != "" {
		sum := sha256.Sum256([]byte(key))
		id = hex.EncodeToString(sum[:16])
		body["id"], body["extendedProperties"] = id, map[string]any{"private": map[string]any{"magpie_run": key}}
	}
	var out event
	err = api().Do(ctx, a, platform.Request{Method: http.MethodPost, Path: events, Query: url.Values{"sendUpdates": {"all"}}, Body: body}, &out)
	if id != "" && err != nil && apierr.From(err).Code == apierr.Conflict {
		if api().Do(ctx, a, platform.Request{Path: platform.Path(events+"/%s", id)}, &out) == nil {
			err = nil // an earlier attempt made it
		}
	}
	if err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The event %s was created", out.Summary)
}

type updateInput struct {
	Event       string   `json:"event_id" rule:"required,min=1,max=1024"`
	Summary     string   `json:"summary" rule:"max=300"`
	Start       string   `json:"start" rule:"max=40"`
	End         string   `json:"end" rule:"max=40"`
	Description string   `json:"description" rule:"max=8000"`
	Location    string   `json:"location" rule:"max=300"`
	Attendees   []string `json:"attendees" rule:"max=50" about:"They replace those of the event."`
}

func (in updateInput) values() eventInput {
	return eventInput{Summary: in.Summary, Start: in.Start, End: in.End, Description: in.Description, Location: in.Location, Attendees: in.Attendees}
}

func updateEvent(ctx context.Context, a integration.Account, in updateInput) (loop.Result, error) {
	body, err := in.values().body()
	if err != nil {
		return loop.Result{}, err
	}
	if len(body) == 0 {
		return loop.Result{}, apierr.New(apierr.InvalidRequest, "Give at least one field to change.")
	}
	var out event
	r := platform.Request{Method: http.MethodPatch, Path: platform.Path(events+"/%s", in.Event), Query: url.Values{"sendUpdates": {"all"}}, Body: body}
	if err := api().Do(ctx, a, r, &out); err != nil {
		return loop.Result{}, err
	}
	return integration.Result(out, "The event %s was changed", out.Summary)
}
