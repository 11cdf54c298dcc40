package hubspot_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	. "github.com/magpie-search/magpie/internal/testkit/hubspotserver"
)

func TestTheSampleIsRead(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSample()
	source := p.open(t, nil)
	if err := source.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, pages := walk(t, source)
	expectPaths(t, found, "Companies/Lighthouse Ltd", "Contacts/Grace Hopper", "Deals/Nine new lamps", "Tickets/The lamp of Ouessant flickers",
		"Notes/Grace wants the lamps before the winter .", "Emails/Your offer", "Tasks/Send the contract")
	if warnings := pages[0].Warnings; len(pages) != 1 || len(warnings) > 0 {
		t.Errorf("%d pages, warnings %q", len(pages), warnings)
	}
	deal := found["Deals/Nine new lamps"]
	if deal.URL != "https://app.hubspot.com/contacts/12345678/record/0-3/"+strings.TrimPrefix(deal.ID, "deals:") || deal.Author != "Ada Lovelace" || deal.Container != "deals" ||
		deal.Metadata["companies"] != "Lighthouse Ltd" || deal.Metadata["owner"] != "Ada Lovelace" || deal.MediaType != "text/html" || deal.ModifiedAt.IsZero() {
		t.Errorf("the deal is %+v", deal)
	}
	for path, want := range map[string][]string{
		"Deals/Nine new lamps":                            {"<h1>Nine new lamps</h1>", "<li>Amount: 48000</li>", "<li>Deal stage: Contract sent</li>", "<li>Close date: 2026-12-01 00:00 UTC</li>", "<li>Owner: Ada Lovelace</li>", "<li>Companies: Lighthouse Ltd</li>", "<li>Contacts: Grace Hopper</li>"},
		"Contacts/Grace Hopper":                           {"<li>Email: grace@lighthouse.example</li>", "<li>Job title: Keeper</li>"},
		"Tickets/The lamp of Ouessant flickers":           {"<div>Since Tuesday.<br>\nOnly in fog.</div>"},
		"Emails/Your offer":                               {"<div><div>We take the nine lamps.", "<li>hs_email_from_email: grace@lighthouse.example</li>"},
		"Notes/Grace wants the lamps before the winter .": {"<p>Grace wants the lamps <b>before the winter</b>.</p>"},
	} {
		for _, text := range want {
			if content := string(found[path].Content); !strings.Contains(content, text) {
				t.Errorf("%s lacks %q: %s", path, text, content)
			}
		}
	}
	// What is opened later is what the walk gave.
	for path, item := range found {
		reader, err := source.Open(t.Context(), item)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(reader); err != nil || string(text) != string(item.Content) {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
}

// changes reads the changes since a token.
func changes(t *testing.T, source connectors.Source, token string) (items, gone []string, next string, warnings []string) {
	t.Helper()
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	for range 1000 {
		page, err := feeder.Changes(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if page.Expired {
			t.Fatal("the token has expired")
		}
		for _, item := range page.Items {
			items = append(items, item.ID)
		}
		gone, warnings = append(gone, page.Gone...), append(warnings, page.Warnings...)
		if token = page.Next; !page.More {
			return items, gone, token, warnings
		}
	}
	t.Fatal("the changes do not end")
	return nil, nil, "", nil
}

func TestLegacyVersions(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{"fallback": nil, "asked for first": {"apiVersion": "v3"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPortal(t)
			p.NoDated = true
			p.AddSample()
			source := p.open(t, config)
			if err := source.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _, token, _ := changes(t, source, "")
			found, _ := walk(t, source)
			if len(found) != 7 {
				t.Errorf("%d records", len(found))
			}
			deal := found["Deals/Nine new lamps"]
			p.Advance(time.Hour)
			p.Change("deals", strings.TrimPrefix(deal.ID, "deals:"), func(r *Record) { r.Properties["amount"] = "50000" })
			if items, _, _, _ := changes(t, source, token); !slices.Contains(items, deal.ID) {
				t.Errorf("changed are %q", items)
			}
			resolver, ok := source.(connectors.Resolver)
			if !ok {
				t.Fatal("the source is no Resolver")
			}
			if found, missing, err := resolver.Resolve(t.Context(), []string{deal.Path, "deals:9999"}); err != nil || len(found) != 1 || len(missing) != 1 {
				t.Errorf("resolved %d, missing %q, %v", len(found), missing, err)
			}
			if dated := p.Requests("2026-03"); config != nil && dated > 0 || dated > 8 {
				t.Errorf("%d requests for the version with a date", dated)
			}
		})
	}
}

func TestCustomObjects(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSchema(Schema{
		ID: "2-4711", Name: "boats", Singular: "Boat", Plural: "Boats", Primary: "label", Secondary: []string{"length"},
		Properties: []Property{{Name: "label", Label: "Name", Type: "string"}, {Name: "length", Label: "Length in m", Type: "number"}, {Name: "log", Label: "Log book", Type: "string", FieldType: "html"}},
	})
	boat := p.Add("2-4711", Record{Properties: map[string]string{"label": "Marie", "length": "12", "log": "<p>Left at dawn.</p>"}})
	company := p.Add("companies", Record{Properties: map[string]string{"name": "Port of Brest"}})
	p.Associate("2-4711", boat, "companies", company)
	for _, name := range []string{"boats", "p_boats", "2-4711", "p12345678_boats"} {
		found, _ := walk(t, p.open(t, map[string]any{"objects": []any{name}}))
		item := found["Boats/Marie"]
		if item.ID != "2-4711:"+boat || item.Metadata["companies"] != "Port of Brest" {
			t.Fatalf("%s: found are %v", name, found)
		}
		for _, want := range []string{"<li>Length in m: 12</li>", "<h2>Log book</h2>\n<div><p>Left at dawn.</p></div>"} {
			if !strings.Contains(string(item.Content), want) {
				t.Errorf("%s: the document lacks %q: %s", name, want, item.Content)
			}
		}
	}
	source := p.open(t, map[string]any{"objects": []any{"cars"}})
	if _, err := source.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), `"cars"`) || !strings.Contains(err.Error(), "boats") {
		t.Errorf("an unknown object: %v", err)
	}
	p.Revoke("crm.schemas.custom.read")
	if err := p.open(t, map[string]any{"objects": []any{"boats"}}).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "crm.schemas.custom.read") {
		t.Errorf("without the right to read custom objects: %v", err)
	}
}

func TestFurtherProperties(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.SetProperties("deals", Property{Name: "closed_lost_reason", Label: "Why lost", Type: "string", FieldType: "textarea"}, Property{Name: "colours", Label: "Colours", Type: "enumeration", Options: map[string]string{"r": "Red", "g": "Green"}})
	p.Add("deals", Record{Properties: map[string]string{"dealname": "Lamps", "closed_lost_reason": "Too dear.\n<No> budget", "colours": "r;g"}})
	usual, _ := walk(t, p.open(t, map[string]any{"objects": []any{"deals"}}))
	more, _ := walk(t, p.open(t, map[string]any{"objects": []any{"deals"}, "properties": []any{"deals.closed_lost_reason", "deals.colours"}}))
	content := string(more["Deals/Lamps"].Content)
	if !strings.Contains(content, "<h2>Why lost</h2>\n<div>Too dear.<br>\n&lt;No&gt; budget</div>") || !strings.Contains(content, "<li>Colours: Red, Green</li>") {
		t.Errorf("the document is %s", content)
	}
	if usual["Deals/Lamps"].Version == more["Deals/Lamps"].Version {
		t.Error("a document with other properties has the same version")
	}
	for _, wrong := range []string{"closed_lost_reason", "deals.", "deals.Closed", ".a", "a b.c"} {
		if p.kind(t).Validate(map[string]any{"properties": []any{wrong}}, map[string]string{"accessToken": "x"}) == nil {
			t.Errorf("the property %q is accepted", wrong)
		}
	}
}

// What a token may not read is left out, said, and not taken for deleted.
func TestMissingScopes(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSample()
	source := p.open(t, nil)
	_, _, token, _ := changes(t, source, "")
	p.Revoke("tickets", "sales-email-read", "crm.objects.owners.read", "crm.schemas.deals.read")
	err := source.Check(t.Context())
	if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "tickets, sales-email-read") || !strings.Contains(err.Error(), "Tickets, Emails") {
		t.Errorf("the check: %v", err)
	}
	found, pages := walk(t, source)
	if len(found) != 5 || !slices.Equal(pages[0].Incomplete, []string{"tickets", "emails"}) {
		t.Errorf("%d records, incomplete are %q", len(found), pages[0].Incomplete)
	}
	for _, want := range []string{"the scope tickets,", "the scope sales-email-read,", "crm.objects.owners.read", "crm.schemas.deals.read"} {
		if !slices.ContainsFunc(pages[0].Warnings, func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("no warning names %q: %q", want, pages[0].Warnings)
		}
	}
	if deal := found["Deals/Nine new lamps"]; !strings.Contains(string(deal.Content), "<li>dealstage: contractsent</li>") || deal.Author != "" {
		t.Errorf("the deal is %s", deal.Content)
	}
	_, gone, next, _ := changes(t, source, token)
	if len(gone) > 0 {
		t.Errorf("gone are %q", gone)
	}
	resolver, ok := source.(connectors.Resolver)
	if !ok {
		t.Fatal("the source is no Resolver")
	}
	if found, missing, err := resolver.Resolve(t.Context(), []string{"tickets:104"}); err != nil || len(found)+len(missing) > 0 {
		t.Errorf("a record that may not be read: %v, missing %q, %v", found, missing, err)
	}
	// What was missed comes once the scope is there.
	p.Grant("tickets", "sales-email-read")
	if items, _, _, _ := changes(t, source, next); !slices.ContainsFunc(items, func(id string) bool { return strings.HasPrefix(id, "tickets:") }) {
		t.Errorf("after the scope was granted, the changes are %q", items)
	}
	p.Revoke("crm.objects.contacts.read", "crm.objects.companies.read", "crm.objects.deals.read", "tickets", "sales-email-read")
	if _, err := p.open(t, nil).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "crm.objects.") {
		t.Errorf("without any scope: %v", err)
	}
}

// A search returns its first results only, so that windows begin behind the last id.
func TestManyChanges(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.MaxSearched = 400
	source := p.open(t, map[string]any{"objects": []any{"contacts"}})
	_, _, token, _ := changes(t, source, "")
	for n := range 1050 {
		p.Add("contacts", Record{Properties: map[string]string{"firstname": fmt.Sprint("Person ", n)}})
	}
	p.Advance(time.Hour)
	items, _, next, _ := changes(t, source, token)
	slices.Sort(items)
	if distinct := slices.Compact(items); len(distinct) != 1050 {
		t.Errorf("%d changes of 1050", len(distinct))
	}
	before := p.Requests("")
	if items, _, _, _ := changes(t, source, next); len(items) > 0 || p.Requests("")-before != 2 {
		t.Errorf("without a change: %d items, %d requests", len(items), p.Requests("")-before)
	}
}

// The index of the search is late, and does not know at once that a record is archived.
func TestALateIndex(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	first := p.Add("contacts", Record{Properties: map[string]string{"firstname": "Ada"}})
	source := p.open(t, map[string]any{"objects": []any{"contacts"}})
	_, _, token, _ := changes(t, source, "")
	late := p.Add("contacts", Record{Properties: map[string]string{"firstname": "Late"}, Unindexed: true})
	p.Add("contacts", Record{Properties: map[string]string{"firstname": "Early"}})
	_, _, token, _ = changes(t, source, token)
	p.Set("contacts", late, func(r *Record) { r.Unindexed = false })
	items, _, token, _ := changes(t, source, token)
	if !slices.Contains(items, "contacts:"+late) {
		t.Errorf("a record that came late into the index is missed: %q", items)
	}
	p.Change("contacts", first, func(r *Record) { r.Properties["firstname"] = "Adele" })
	p.Fail(func(r *http.Request) *Fault {
		if !strings.HasSuffix(r.URL.Path, "/contacts") || r.URL.Query().Get("archived") != "true" {
			return nil
		}
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"results":[{"id":"` + first + `","properties":{},"createdAt":"2026-05-01T08:00:00Z","updatedAt":"2026-05-01T08:00:00Z","archived":true,"archivedAt":"2026-05-01T09:00:00Z"}]}`}
	})
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		t.Fatal("the source is no Feeder")
	}
	page, err := feeder.Changes(t.Context(), token)
	if err != nil || !slices.Contains(page.Gone, "contacts:"+first) || slices.ContainsFunc(page.Items, func(i connectors.Item) bool { return i.ID == "contacts:"+first }) {
		t.Errorf("gone are %q, items %v, %v", page.Gone, page.Items, err)
	}
}

// A record that was merged into another one, or deleted for good, is missing from the
// list and is not found by its id.
func TestMergedRecords(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	loser := p.Add("contacts", Record{Properties: map[string]string{"firstname": "Ada"}})
	winner := p.Add("contacts", Record{Properties: map[string]string{"firstname": "Ada", "lastname": "Lovelace"}})
	source := p.open(t, map[string]any{"objects": []any{"contacts"}})
	p.Fail(func(r *http.Request) *Fault {
		if !strings.HasSuffix(r.URL.Path, "/contacts/"+loser) {
			return nil
		}
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id":"` + winner + `","properties":{},"createdAt":"2026-05-01T08:00:00Z","updatedAt":"2026-05-01T08:00:00Z","archived":false}`}
	})
	if _, err := source.Open(t.Context(), connectors.Item{ID: "contacts:" + loser, Size: -1}); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("open a merged record: %v", err)
	}
	p.Remove("contacts", loser)
	if found, _ := walk(t, source); len(found) != 1 {
		t.Errorf("found are %v", found)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSample()
	source := p.open(t, nil)
	for _, c := range []struct {
		status int
		body   string
		want   time.Duration
	}{
		{429, `{"status":"error","errorType":"RATE_LIMIT","policyName":"SECONDLY","message":"You have reached your secondly limit."}`, time.Second},
		{429, `{"policyName":"TEN_SECONDLY_ROLLING"}`, 10 * time.Second},
		{429, `{"policyName":"DAILY"}`, time.Hour},
		{429, `too many`, 10 * time.Second},
		{423, `{}`, 2 * time.Second},
		{477, `{}`, 2 * time.Second},
	} {
		p.Fail(func(*http.Request) *Fault { return &Fault{Status: c.status, Body: c.body} })
		_, err := source.Walk(t.Context(), "")
		if after, retryable := connectors.RetryAfterOf(err); !retryable || after != c.want {
			t.Errorf("%d %s: %v, after %s", c.status, c.body, err, after)
		}
	}
	p.Fail(nil)
	if page, err := source.Walk(t.Context(), ""); err != nil || page.Pause != 0 {
		t.Errorf("the pause is %s, %v", page.Pause, err)
	}
	p.Remaining = 12
	if page, err := source.Walk(t.Context(), ""); err != nil || page.Pause != 10*time.Second {
		t.Errorf("with few requests left, the pause is %s, %v", page.Pause, err)
	}
}

// Answers that are too large are asked for in smaller parts.
func TestLargeRecords(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	for n := range 12 {
		p.Add("notes", Record{Properties: map[string]string{"hs_note_body": fmt.Sprint("Note ", n, " ") + strings.Repeat("x", 4<<20)}})
	}
	found, pages := walk(t, p.open(t, map[string]any{"objects": []any{"notes"}}))
	if len(found) != 12 || len(pages) < 2 {
		t.Errorf("%d notes in %d pages", len(found), len(pages))
	}
}

func TestAGrantIsRenewed(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSample()
	settings := p.settings(nil)
	settings.Credentials = map[string]string{}
	current, renewed := "expired", 0
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		if refused != "" && refused == current {
			renewed++
			current = p.Token
		}
		return current, nil, nil
	}
	if found, _ := walk(t, connectortest.Open(t, p.kind(t), settings)); len(found) != 7 || renewed != 1 {
		t.Errorf("%d records, renewed %d times", len(found), renewed)
	}
	settings.Token = func(context.Context, string) (string, map[string]string, error) { return "revoked", nil, nil }
	if _, err := connectortest.Open(t, p.kind(t), settings).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("a revoked grant: %v", err)
	}
}

// A walk that sees fewer records than HubSpot counts says so.
func TestCountsAreCompared(t *testing.T) {
	t.Parallel()
	p := newPortal(t)
	p.AddSample()
	p.Fail(func(r *http.Request) *Fault {
		if !strings.HasSuffix(r.URL.Path, "/deals/search") {
			return nil
		}
		return &Fault{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"total":40,"results":[]}`}
	})
	_, pages := walk(t, p.open(t, nil))
	if len(pages[0].Warnings) != 1 || !strings.Contains(pages[0].Warnings[0], "1 of about 40 Deals") {
		t.Errorf("the warnings are %q", pages[0].Warnings)
	}
}

func FuzzPositions(f *testing.F) {
	f.Add(`{"o":1,"a":"100","n":3}`)
	f.Add(`{"s":{"contacts":1},"t":1,"o":0}`)
	p := newPortal(f)
	p.AddSample()
	source := p.open(f, map[string]any{"objects": []any{"contacts"}})
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		f.Fatal("the source is no Feeder")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if page, err := source.Walk(t.Context(), text); err == nil && len(page.Items) > connectors.MaxPageItems {
			t.Error("too many items")
		}
		if page, err := feeder.Changes(t.Context(), text); err == nil && !page.Expired && page.Next == "" {
			t.Error("a page without a token")
		}
	})
}
