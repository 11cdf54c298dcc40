package hubspot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/hubspot"
	. "github.com/magpie-search/magpie/internal/testkit/hubspotserver"
)

// newPortalWithLists returns an account in which every list has three entries, and the
// ids of its deals.
func newPortalWithLists(t *testing.T) (p *portal, deals []string) {
	t.Helper()
	p = newPortal(t)
	p.AddSchema(Schema{ID: "2-7", Name: "boats", Singular: "Boat", Plural: "Boats", Primary: "label", Properties: []Property{{Name: "label", Label: "Label", Type: "string", FieldType: "text"}}})
	p.SetProperties("deals", Property{Name: "dealstage", Label: "Deal stage", Type: "enumeration", FieldType: "radio", Options: map[string]string{"won": "Closed won"}})
	for n := range 3 {
		p.AddOwner(Owner{ID: fmt.Sprint(n + 1), First: fmt.Sprint("Owner ", n)})
		company := p.Add("companies", Record{Properties: map[string]string{"name": fmt.Sprint("Company ", n)}})
		deal := p.Add("deals", Record{Properties: map[string]string{"dealname": fmt.Sprint("Deal ", n), "dealstage": "won", "hubspot_owner_id": fmt.Sprint(n + 1)}})
		p.Associate("deals", deal, "companies", company)
		p.Archive("deals", p.Add("deals", Record{Properties: map[string]string{"dealname": "Old"}}))
		p.Add("2-7", Record{Properties: map[string]string{"label": fmt.Sprint("Boat ", n)}})
		deals = append(deals, deal)
	}
	p.Advance(time.Hour)
	return p, deals
}

// oneRecordPages reduces the page size of a request, in its query or body.
func oneRecordPages(r *http.Request) {
	if query := r.URL.Query(); query.Has("limit") {
		query.Set("limit", "1")
		r.URL.RawQuery = query.Encode()
		return
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body map[string]any
	if json.Unmarshal(text, &body) == nil && body["limit"] != nil {
		body["limit"] = 1
		if changed, err := json.Marshal(body); err == nil {
			text = changed
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", fmt.Sprint(len(text)))
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		p, deals := newPortalWithLists(t)
		settings := p.settings(map[string]any{"objects": []any{"deals", "boats"}})
		token, state := connectortest.RecordFeed(t, hubspot.Kind(new(net.Dialer).DialContext), settings)
		p.Advance(time.Hour)
		p.Archive("deals", deals[0])
		for _, id := range deals[1:] {
			p.Change("deals", id, func(r *Record) { r.Properties["dealname"] = "Changed" })
		}
		for n := range 2 {
			deal := p.Add("deals", Record{Properties: map[string]string{"dealname": fmt.Sprint("New ", n)}})
			p.Associate("deals", deal, "companies", "101")
		}
		lists := map[string]*regexp.Regexp{
			"deals":    regexp.MustCompile(`^GET .*/objects/2026-03/deals\?.*archived=false`),
			"archived": regexp.MustCompile(`^GET .*/objects/2026-03/deals\?.*archived=true`),
			"boats":    regexp.MustCompile(`^GET .*/objects/2026-03/2-7\?.*archived=false`),
			"owners":   regexp.MustCompile(`^GET .*/owners/2026-03\?`),
		}
		return connectortest.FaultInjection{
			Kind: hubspot.Kind, Settings: settings, FeedToken: token, FeedState: state,
			AbsentNames: []string{"deals:999999", "contacts:1", "Deals/Nothing-999999", "nothing"},
			PagedList: func(r *http.Request) string {
				for name, pattern := range lists {
					if pattern.MatchString(r.Method + " " + r.RequestURI) {
						return name
					}
				}
				if r.URL.Path != "/crm/objects/2026-03/deals/search" {
					return ""
				}
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return ""
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte("GTE")) {
					return "changes"
				}
				return ""
			},
			ShrinkPages: oneRecordPages,
		}
	})
}
