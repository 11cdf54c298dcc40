package rest_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

const visitID = "3f0d5ac8-62a1-4f0e-9a77-0a4c1c1d9b11"

var update = flag.Bool("update", false, "write the golden files anew")

// example is a request of a transcript.
type example struct {
	target  string // path and query
	body    string
	headers []string // in pairs
	bare    bool     // without credentials
}

// examples returns the requests of each route by "METHOD pattern".
func examples() map[string][]example {
	const (
		collection = "/api/v1/collections/" + collectionID
		connector  = "/api/v1/connectors/" + connectorID
		agent      = "/api/v1/agents/" + connectorID
	)
	signIn := `{"email":"ada@example.com","password":"correct horse","remember":true}`
	everything := `{"query":"durable queues","collection":"` + strings.ToUpper(collectionID) + `","limit":5,"offset":10.0,"min_score":0,"highlight":true,
 "filters":{"section":"Guides","version":"2.0","tags":["a,b","c"],"doc_types":["guide"],"language":"en","date_after":"2026-01-31","date_before":"2026-12-31"},"unknown":{}}`
	form, formType := multipartBody(
		[]formPart{{"files", "queues.md", "# Queues"}, {"files", "ünïcode.md", "# Ü"}, {"paths", "", "guides/queues.md"}, {"paths", "", "ü.md"}, {"note", "", "x"}})
	lonely, lonelyType := multipartBody([]formPart{{"files", "a.md", "a"}, {"paths", "", "x"}, {"paths", "", "y"}})
	empty, emptyType := multipartBody([]formPart{{"note", "", "x"}})
	return map[string][]example{
		"POST /v1/docs/search": {
			{target: "/v1/docs/search", body: `{"query":"queues"}`},
			{target: "/v1/docs/search", body: everything},
			{target: "/v1/docs/search", body: `{"query":"queues"}`, bare: true},
			{target: "/v1/docs/search", body: `{"query":"queues","collection":"` + otherID + `"}`},
			{target: "/v1/docs/search", body: `{"query":"quota"}`},
			{target: "/v1/docs/search", body: `{"query":"busy"}`},
			{target: "/v1/docs/search", body: `{"query":"fault"}`},
			{target: "/v1/docs/search", body: `{"query":"field"}`},
			{target: "/v1/docs/search", body: `{"query":"  "}`},
			{target: "/v1/docs/search", body: `{"query":"q","limit":101}`},
			{target: "/v1/docs/search", body: `{"query":"q","filters":{"tags":"a"}}`},
			{target: "/v1/docs/search", body: `{"query":"q","filters":{"date_after":"2026-02-30"}}`},
			{target: "/v1/docs/search", body: `{"query":"q","filters":{"section":"a","other":1}}`},
			{target: "/v1/docs/search", body: "{\n  \"query\": queues\n}"},
			{target: "/v1/docs/search"},
			{target: "/v1/docs/search", body: `{"query":"counted que","prefix":true,"distinct":"document","facets":["section","date"],"facet_limit":3}`},
			{target: "/v1/docs/search", body: `{"query":"q","prefix":"yes"}`}, {target: "/v1/docs/search", body: `{"query":"q","distinct":"metadata."}`},
			{target: "/v1/docs/search", body: `{"query":"queues","collapse":false}`}, {target: "/v1/docs/search", body: `{"query":"q","collapse":0}`},
			{target: "/v1/docs/search", body: `{"query":"q","facets":"section"}`}, {target: "/v1/docs/search", body: `{"query":"q","facets":["collection"]}`},
		},
		"GET /v1/docs/search": {
			{target: "/v1/docs/search?query=queues"},
			{target: "/v1/docs/search?query=durable+queues&collection=" + collectionID + "&limit=5&offset=10&min_score=0.3&highlight=true&filters[section]=Guides&filters%5Btags%5D=a,b&filters[tags]=c&filters[doc_types][]=guide&filters[language]=&filters[date_after]=2026-01-31&x=1"},
			{target: "/v1/docs/search?query=q&filters[other]=1"},
			{target: "/v1/docs/search?query=q&filters=" + `%7B%22tags%22%3A%5B%22a%22%5D%7D`},
			{target: "/v1/docs/search?query=q&limit=abc"},
			{target: "/v1/docs/search?query=q&min_score=NaN"},
			{target: "/v1/docs/search?query=q&highlight=yes"},
			{target: "/v1/docs/search?query=q&query=r"},
			{target: "/v1/docs/search?query=%zz"},
			{target: "/v1/docs/search?query=%00"},
			{target: "/v1/docs/search?limit=1"},
			{target: "/v1/docs/search?query=counted+que&prefix=true&distinct=metadata.product+name&facets=section,tags&facet_limit=3"},
			{target: "/v1/docs/search?query=q&prefix=maybe"}, {target: "/v1/docs/search?query=q&distinct=path"}, {target: "/v1/docs/search?query=q&facets=connector"},
		},
		"POST /v1/docs/events": {
			{target: "/v1/docs/events", body: `{"type":"click","request_id":"` + visitID + `","result_id":"` + messageID + `","position":2,"comment":"x"}`},
			{target: "/v1/docs/events", body: `{"type":"feedback","request_id":"` + visitID + `","rating":"positive","reason":"other"}`},
			{target: "/v1/docs/events", body: `{"type":"look","request_id":"` + visitID + `"}`}, {target: "/v1/docs/events", body: `{"type":"click"}`}, {target: "/v1/docs/events", bare: true},
		},
		"GET /v1/docs/suggest": {
			{target: "/v1/docs/suggest?q=que&limit=3&collection=" + collectionID}, {target: "/v1/docs/suggest?q=que&limit=21"}, {target: "/v1/docs/suggest?q=+"},
			{target: "/v1/docs/suggest?q=que&filters[version]=2.0&filters[tags]=a,b&filters[date_after]=2026-01-31"}, {target: "/v1/docs/suggest?q=que&filters[versions]=2.0"},
			{target: "/v1/docs/suggest"}, {target: "/v1/docs/suggest?q=que", bare: true}, {target: "/v1/docs/suggest?q=que&collection=" + otherID},
		},
		"POST /v1/chat/stream": {
			{target: "/v1/chat/stream", body: `{"message":"What are queues?","conversation_id":"` + conversationID + `","collection":"` + collectionID + `"}`},
			{target: "/v1/chat/stream", body: `{"message":"` + strings.Repeat("ä", 4001) + `"}`},
			{target: "/v1/chat/stream", body: `{"message":"x","conversation_id":"7"}`},
			{target: "/v1/chat/stream", body: `{"message":"x","conversation_id":"` + missingID + `"}`},
			{target: "/v1/chat/stream", body: `{"message":"x","collection":"` + otherID + `"}`},
		},
		"POST /v1/analytics/events": {
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"request-1","result_id":"` + strings.ToUpper(messageID) + `","document_id":"` + documentID + `","position":0,"occurred_at":"2026-11-24T11:59:00.5+01:00","event_id":"e1"},
 {"type":"feedback","request_id":"request-1","rating":"negative","reason":"outdated","comment":"Old.","other":1}]}`},
			{target: "/v1/analytics/events", body: `{"type":"click","request_id":"request-1","result_id":"` + messageID + `"}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"r","rating":null},{"type":"feedback","request_id":"r"},{"request_id":"r"}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"feedback","request_id":"r","rating":"good"}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"r","position":-1}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"a b"}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"r","occurred_at":"yesterday"}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"r","comment":"` + strings.Repeat("ä", 501) + `"}]}`},
			{target: "/v1/analytics/events", body: `{"events":[{"type":"click","request_id":"r","event_id":"odd"}]}`},
			{target: "/v1/analytics/events", body: `{"type":"click","request_id":"r","event_id":"odd"}`},
			{target: "/v1/analytics/events", body: `{"events":[]}`},
			{target: "/v1/analytics/events", body: `{"events":[` + strings.Repeat("1,", 100) + `1]}`},
			{target: "/v1/analytics/events", body: `{"events":[null]}`},
			{target: "/v1/analytics/events", body: `{"events":null}`},
			{target: "/v1/analytics/events", body: `{"events":{"type":"click"}}`},
			{target: "/v1/analytics/events"},
			{target: "/v1/analytics/events", body: `{}`, bare: true},
		},
		"POST /api/v1/auth/login": {
			{target: "/api/v1/auth/login", body: signIn},
			{target: "/api/v1/auth/login?cookie=1", body: signIn, headers: []string{"Sec-Fetch-Site", "same-origin"}},
			{target: "/api/v1/auth/login", body: `{"email":7,"password":"x"}`},
			{target: "/api/v1/auth/login", body: `{"email":"ada@example.com"}`},
			{target: "/api/v1/auth/login", body: `["email"]`},
		},
		"POST /api/v1/auth/refresh": {
			{target: "/api/v1/auth/refresh", body: `{"refresh_token":"refresh"}`},
			{target: "/api/v1/auth/refresh"},
			{target: "/api/v1/auth/refresh?cookie=1", headers: []string{"Sec-Fetch-Site", "same-origin", "Cookie", "magpie_session=kept"}},
			{target: "/api/v1/auth/refresh?cookie=1", headers: []string{"Sec-Fetch-Site", "same-origin", "Cookie", "magpie_session=refused"}},
			{target: "/api/v1/auth/refresh?cookie=1", headers: []string{"Sec-Fetch-Site", "cross-site", "Cookie", "magpie_session=kept"}},
			{target: "/api/v1/auth/refresh?cookie=yes", body: `{"refresh_token":"refresh"}`},
		},
		"POST /api/v1/auth/logout": {
			{target: "/api/v1/auth/logout"}, {target: "/api/v1/auth/logout", bare: true},
			{target: "/api/v1/auth/logout", headers: []string{"Cookie", "magpie_session=kept"}},
		},
		"GET /api/v1/auth/methods": {{target: "/api/v1/auth/methods"}},
		"POST /api/v1/auth/oidc/start": {
			{target: "/api/v1/auth/oidc/start", body: `{"redirect_url":"https://app.example.com/"}`},
			{target: "/api/v1/auth/oidc/start"},
			{target: "/api/v1/auth/oidc/start", body: `{"redirect_url":7}`},
		},
		"GET /api/v1/auth/oidc/callback": {
			{target: "/api/v1/auth/oidc/callback?state=s&code=c&iss=https%3A%2F%2Fid.example.com&session_state=7"},
			{target: "/api/v1/auth/oidc/callback?state=dashboard&code=c"},
			{target: "/api/v1/auth/oidc/callback?state=s&error=access_denied&error_description=No"},
			{target: "/api/v1/auth/oidc/callback?state=unknown&code=c"},
			{target: "/api/v1/auth/oidc/callback?code=c"},
			{target: "/api/v1/auth/oidc/callback?state=s&state=t"},
		},
		"POST /api/v1/auth/saml/start": {
			{target: "/api/v1/auth/saml/start", body: `{"redirect_url":"https://app.example.com/"}`},
			{target: "/api/v1/auth/saml/start", body: `{"redirect_url":7}`},
		},
		"POST /api/v1/auth/saml/finish": {
			{target: "/api/v1/auth/saml/finish", body: `{"code":"c","binding":"b"}`},
			{target: "/api/v1/auth/saml/finish", body: `{"code":"c"}`},
		},
		"POST /api/v1/auth/oidc/finish": {
			{target: "/api/v1/auth/oidc/finish", body: `{"code":"c","binding":"b"}`},
			{target: "/api/v1/auth/oidc/finish", body: `{"code":"c","binding":"stranger"}`},
			{target: "/api/v1/auth/oidc/finish", body: `{"code":"c"}`},
		},
		"POST /api/v1/oauth/init": {
			{target: "/api/v1/oauth/init", body: `{"provider":"google","connectorId":"` + connectorID + `","redirectUrl":"https://app.example.com/connectors"}`},
			{target: "/api/v1/oauth/init", body: `{"provider":"google"}`},
			{target: "/api/v1/oauth/init", body: `{"provider":" "}`},
			{target: "/api/v1/oauth/init", body: `{"provider":"google","connectorId":"7"}`},
			{target: "/api/v1/oauth/init", body: `{"provider":"google","connectorId":"` + missingID + `"}`},
			{target: "/api/v1/oauth/init"},
			{target: "/api/v1/oauth/init", body: `{"provider":"google"}`, bare: true},
		},
		"GET /api/v1/oauth/callback/{provider}": {
			{target: "/api/v1/oauth/callback/google?state=s&code=c&scope=drive+email&authuser=0"},
			{target: "/api/v1/oauth/callback/google?state=dashboard&code=c", headers: []string{"Cookie", "magpie_oauth_AAAAAAAAAAAA=other; " + "magpie_oauth_Zs2WiKKuBoJE=b1nding"}},
			{target: "/api/v1/oauth/callback/google?state=s&error=access_denied&error_description=The+user+denied+access"},
			{target: "/api/v1/oauth/callback/mcp?state=s&code=c&iss=https%3A%2F%2Fauth.example.com"},
			{target: "/api/v1/oauth/callback/google?state=unknown&code=c"},
			{target: "/api/v1/oauth/callback/google"},
			{target: "/api/v1/oauth/callback/Google%20Drive?state=s&code=c"},
			{target: "/api/v1/oauth/callback/google?state=s&code=c", headers: []string{"Authorization", "Bearer session"}},
			{target: "/api/v1/oauth/callback/google?state=s&code=c", headers: []string{"Authorization", "Bearer old"}},
		},
		"GET /api/v1/collections": {
			{target: "/api/v1/collections"},
			{target: "/api/v1/collections?limit=1&cursor=" + cursorOf("ZJOx4zFS")},
			{target: "/api/v1/collections?limit=201"},
			{target: "/api/v1/collections?q=hand"},
			{target: "/api/v1/collections?cursor=AAAA"},
			{target: "/api/v1/collections", bare: true},
		},
		"POST /api/v1/collections": {
			{target: "/api/v1/collections", body: `{"name":"Handbook","description":null,"embeddingModel":"builtin"}`},
			{target: "/api/v1/collections", body: `{"name":["Handbook"]}`},
			{target: "/api/v1/collections", body: `{"name":" "}`},
			{target: "/api/v1/collections", body: `{"name":"` + strings.Repeat("ä", 201) + `"}`},
			{target: "/api/v1/collections", body: `{"description":"x"}`},
			{target: "/api/v1/collections", body: `{"name":"Handbook"}`, headers: []string{"Content-Type", "text/plain"}},
			{target: "/api/v1/collections", body: `{"name":"Handbook"}`, headers: []string{"Content-Type", "application/json; charset=utf-8"}},
		},
		"GET /api/v1/collections/{id}": {
			{target: collection}, {target: "/api/v1/collections/" + missingID}, {target: "/api/v1/collections/12"},
		},
		"PUT /api/v1/collections/{id}": {
			{target: collection, body: `{"description":null}`}, {target: collection, body: `{"name":null,"description":"All of it"}`}, {target: collection},
			{target: collection, body: `{"embeddingModel":"other"}`},
		},
		"DELETE /api/v1/collections/{id}":             {{target: collection}, {target: "/api/v1/collections/" + missingID}},
		"POST /api/v1/collections/{id}/refresh-stats": {{target: collection + "/refresh-stats"}},
		"GET /api/v1/documents/{id}/content":          {{target: "/api/v1/documents/" + documentID + "/content"}, {target: "/api/v1/documents/x/content"}},
		"GET /api/v1/documents/{id}/summary":          {{target: "/api/v1/documents/" + documentID + "/summary"}},
		"GET /api/v1/connectors":                      {{target: "/api/v1/connectors?collection=" + collectionID}, {target: "/api/v1/connectors?collection=x"}, {target: "/api/v1/connectors?type=file&status=needs_auth&q=up"}},
		"GET /api/v1/connectors/{id}":                 {{target: connector}, {target: "/api/v1/connectors/test"}},
		"DELETE /api/v1/connectors/{id}":              {{target: connector}},
		"POST /api/v1/connectors/{id}/test": {{target: connector + "/test"}, {target: connector + "/test", body: `{"config":{"bucket":"other"},"credentials":{"secretAccessKey":"s"}}`},
			{target: connector + "/test", body: `{"type":"s3"}`}, {target: connector + "/test", body: "refused", headers: []string{"Content-Type", "text/plain"}}},
		"GET /api/v1/connectors/{id}/sync/{jobId}": {{target: connector + "/sync/" + jobID}, {target: connector + "/sync/1"}},
		"GET /api/v1/connectors/{id}/files": {
			{target: connector + "/files"}, {target: connector + "/files?q=queues&sort=bytes&order=desc&limit=1"}, {target: connector + "/files?sort=name"},
		},
		"GET /api/v1/connectors/kinds": {{target: "/api/v1/connectors/kinds"}, {target: "/api/v1/connectors/kinds", bare: true}},
		"POST /api/v1/connectors/{id}/pause": {
			{target: connector + "/pause"}, {target: "/api/v1/connectors/" + missingID + "/pause"}, {target: "/api/v1/connectors/x/pause"},
		},
		"POST /api/v1/connectors/{id}/resume": {
			{target: connector + "/resume"}, {target: "/api/v1/connectors/" + missingID + "/resume"}, {target: "/api/v1/connectors/x/resume"},
		},
		"GET /api/v1/documents/{id}/why": {
			{target: "/api/v1/documents/" + documentID + "/why?user=ada%40example.com"},
			{target: "/api/v1/documents/" + documentID + "/why"},
			{target: "/api/v1/documents/" + missingID + "/why?user=ada@example.com"},
			{target: "/api/v1/documents/x/why?user=ada@example.com"},
		},
		"GET /api/v1/documents/{id}/passages": {
			{target: "/api/v1/documents/" + documentID + "/passages?limit=1"}, {target: "/api/v1/documents/" + missingID + "/passages"}, {target: "/api/v1/documents/x/passages"},
		},
		"GET /api/v1/passages/{id}": {
			{target: "/api/v1/passages/" + messageID + "?around=2"}, {target: "/api/v1/passages/" + messageID + "?around=11"}, {target: "/api/v1/passages/x"},
		},
		"GET /api/v1/documents/{id}/history": {
			{target: "/api/v1/documents/" + documentID + "/history?first=5"}, {target: "/api/v1/documents/" + documentID + "/history?first=0"}, {target: "/api/v1/documents/x/history"},
		},
		"GET /api/v1/documents/{id}/readers": {
			{target: "/api/v1/documents/" + documentID + "/readers"}, {target: "/api/v1/documents/" + documentID + "/readers?first=500"},
		},
		"PUT /api/v1/documents/{id}/restriction": {
			{target: "/api/v1/documents/" + documentID + "/restriction", body: `{"users":["ada@example.com"],"domains":["example.com"],"groups":["7"],"directoryGroups":["` + jobID + `"]}`},
			{target: "/api/v1/documents/" + documentID + "/restriction", body: `{"users":"ada@example.com"}`},
			{target: "/api/v1/documents/" + documentID + "/restriction", body: `{"directoryGroups":["Engineers"]}`},
			{target: "/api/v1/documents/x/restriction", body: `{"users":["ada@example.com"]}`},
		},
		"DELETE /api/v1/documents/{id}/restriction": {{target: "/api/v1/documents/" + documentID + "/restriction"}, {target: "/api/v1/documents/" + missingID + "/restriction"}},
		"GET /api/v1/document-restrictions": {
			{target: "/api/v1/document-restrictions?connector=" + connectorID + "&limit=1"}, {target: "/api/v1/document-restrictions?connector=x"}, {target: "/api/v1/document-restrictions", bare: true},
		},
		"POST /api/v1/connectors/{id}/refresh-permissions": {
			{target: connector + "/refresh-permissions"}, {target: "/api/v1/connectors/" + missingID + "/refresh-permissions"}, {target: "/api/v1/connectors/x/refresh-permissions"},
		},
		"GET /api/v1/connectors/{id}/sync": {
			{target: connector + "/sync"}, {target: connector + "/sync?status=partial&order=asc&limit=5"}, {target: connector + "/sync?status=done"},
			{target: "/api/v1/connectors/" + missingID + "/sync"},
		},
		"POST /api/v1/connectors/{id}/sync/{jobId}/cancel": {{target: connector + "/sync/" + jobID + "/cancel"}, {target: connector + "/sync/" + missingID[:8] + "/cancel"}},
		"GET /api/v1/connectors/{id}/sync/{jobId}/items": {
			{target: connector + "/sync/" + jobID + "/items"}, {target: connector + "/sync/" + jobID + "/items?status=failed&q=broken&sort=updated_at&order=desc"},
		},
		"GET /api/v1/connectors/{id}/items": {
			{target: connector + "/items?status=failed&suppressed=false"}, {target: connector + "/items?suppressed=maybe"}, {target: connector + "/items?status=gone"},
		},
		"POST /api/v1/connectors/{id}/items/retry": {
			{target: connector + "/items/retry"}, {target: connector + "/items/retry", body: `{"ids":["` + itemID + `"]}`},
			{target: connector + "/items/retry", body: `{"ids":[]}`}, {target: connector + "/items/retry", body: `{"ids":"all"}`},
		},
		"POST /api/v1/connectors/{id}/plan": {
			{target: connector + "/plan"}, {target: connector + "/plan", body: `{"sync_mode":"incremental","file_filter":["guides/queues.md"]}`},
			{target: connector + "/plan", body: `{"sync_mode":"all"}`}, {target: "/api/v1/connectors/x/plan"},
		},
		"GET /api/v1/connectors/{id}/plan/{jobId}": {{target: connector + "/plan/" + jobID}, {target: connector + "/plan/x"}},
		"GET /api/v1/connectors/{id}/plan/{jobId}/items": {
			{target: connector + "/plan/" + jobID + "/items"}, {target: connector + "/plan/" + jobID + "/items?action=delete&q=guides&limit=5"},
			{target: connector + "/plan/" + jobID + "/items?action=rename"},
		},
		"GET /api/v1/connectors/{id}/quarantine": {
			{target: connector + "/quarantine"}, {target: connector + "/quarantine?sort=title&order=desc&q=queues"}, {target: connector + "/quarantine?limit=0"},
		},
		"POST /api/v1/connectors/{id}/quarantine/approve": {{target: connector + "/quarantine/approve"}, {target: "/api/v1/connectors/x/quarantine/approve"}},
		"POST /api/v1/connectors/{id}/quarantine/dismiss": {{target: connector + "/quarantine/dismiss"}, {target: connector + "/quarantine/dismiss", bare: true}},
		"POST /api/v1/connectors/{id}/documents/{documentId}/restore": {
			{target: connector + "/documents/" + documentID + "/restore"}, {target: connector + "/documents/x/restore"},
		},
		"POST /api/v1/connectors/{id}/sync/{jobId}/restore":     {{target: connector + "/sync/" + jobID + "/restore"}, {target: connector + "/sync/x/restore"}},
		"GET /api/v1/connectors/{id}/stats":                     {{target: connector + "/stats"}, {target: "/api/v1/connectors/" + missingID + "/stats"}},
		"POST /api/v1/connectors/{id}/items/{itemId}/allow":     {{target: connector + "/items/" + itemID + "/allow"}, {target: connector + "/items/x/allow"}},
		"GET /api/v1/connectors/{id}/documents/{documentId}":    {{target: connector + "/documents/" + documentID}},
		"DELETE /api/v1/connectors/{id}/documents/{documentId}": {{target: connector + "/documents/" + documentID}, {target: connector + "/documents/x"}},
		"POST /api/v1/connectors": {
			{target: "/api/v1/connectors", body: `{"name":"Bucket","type":"s3","collection":"` + collectionID + `","config":{"bucket":"docs","depth":3,"flat":false},"credentials":{"accessKeyId":"a","secretAccessKey":"b"},"enabled":true,"doc_sync":{"sync_strategy":"scheduled","schedule_interval":"15m"}}`},
			{target: "/api/v1/connectors", body: `{"name":"Bucket","type":"s3","collection":"docs"}`},
			{target: "/api/v1/connectors", body: `{"name":"Bucket","type":"s3","collection":"` + collectionID + `","config":[]}`},
			{target: "/api/v1/connectors", body: `{"name":"Bucket","type":"s3","collection":"` + collectionID + `","config":{"a":{"b":["\u0000"]}}}`},
		},
		"POST /api/v1/connectors/test": {
			{target: "/api/v1/connectors/test", body: `{"type":"s3","credentials":{"accessKeyId":"a"}}`},
			{target: "/api/v1/connectors/test", body: `{"credentials":{}}`},
		},
		"PUT /api/v1/connectors/{id}": {
			{target: connector, body: `{"name":"Other","config":{"prefix":null}}`}, {target: connector, body: `{"enabled":"no"}`},
		},
		"PATCH /api/v1/connectors/{id}": {
			{target: connector, body: `{"doc_sync":{"sync_strategy":"scheduled","schedule_interval":"30m"}}`},
			{target: connector, body: `{"doc_sync":{"sync_strategy":"hourly"}}`},
			{target: connector, body: `{"doc_sync":{"schedule_interval":"5m"}}`},
			{target: connector, body: `{"doc_sync":"manual"}`},
			{target: connector, body: `{}`},
			{target: connector, body: `{"schema_sync":{"sync_strategy":"scheduled","schedule_interval":"24h"}}`},
			{target: connector, body: `{"schema_sync":{"schedule_interval":"2m"}}`},
		},
		"POST /api/v1/connectors/{id}/sync": {
			{target: connector + "/sync"},
			{target: connector + "/sync", body: `{"sync_mode":"incremental","file_filter":["a.md"],"force_full_sync":false}`},
			{target: connector + "/sync", body: `{"sync_mode":"FULL"}`},
			{target: connector + "/sync", body: `{"file_filter":[1]}`},
		},
		"GET /api/v1/connectors/{id}/documents": {
			{target: connector + "/documents?status=failed"},
			{target: connector + "/documents?status=FAILED"},
			{target: connector + "/documents?q=queue&sort=title&order=desc&limit=1"},
			{target: connector + "/documents?sort=size"},
			{target: connector + "/documents?order=down"},
			{target: "/api/v1/connectors/" + missingID + "/documents"},
		},
		"POST /api/v1/connectors/{id}/files/upload": {
			{target: connector + "/files/upload", body: form, headers: []string{"Content-Type", formType}},
			{target: connector + "/files/upload", body: lonely, headers: []string{"Content-Type", lonelyType}},
			{target: connector + "/files/upload", body: empty, headers: []string{"Content-Type", emptyType}},
			{target: connector + "/files/upload", body: form[:len(form)/2], headers: []string{"Content-Type", formType}},
			{target: connector + "/files/upload", body: `{}`},
		},
		"DELETE /api/v1/connectors/{id}/files": {
			{target: connector + "/files", body: `{"paths":["guides/queues.md"]}`}, {target: connector + "/files", body: `{"paths":[]}`}, {target: connector + "/files"},
		},
		"GET /api/v1/audit-log": {
			{target: "/api/v1/audit-log"},
			{target: "/api/v1/audit-log?actor=ada@example.com&action=connector.*&targetKind=connector&targetId=" + connectorID + "&from=2026-11-01T00:00:00Z&to=2026-12-01T00:00:00Z&matching=hand&limit=5"},
			{target: "/api/v1/audit-log?from=yesterday"},
			{target: "/api/v1/audit-log", bare: true},
		},
		"GET /api/v1/audit-log.csv": {
			{target: "/api/v1/audit-log.csv?action=connector.update"}, {target: "/api/v1/audit-log.csv?targetId=x"}, {target: "/api/v1/audit-log.csv", bare: true},
		},
		"GET /api/v1/audit-log.jsonl": {{target: "/api/v1/audit-log.jsonl?matching=a"}, {target: "/api/v1/audit-log.jsonl", bare: true}},
		"POST /api/v1/agents/{id}/execute/stream": {
			{target: agent + "/execute/stream", body: `{"message":"What are queues?","conversationId":"` + conversationID + `"}`},
			{target: agent + "/execute/stream", body: `{"message":"fail"}`},
			{target: agent + "/execute/stream", body: `{"message":"quota"}`},
			{target: agent + "/execute/stream", body: `{"message":"` + strings.Repeat("ä", 16001) + `"}`},
			{target: agent + "/execute/stream", body: `{"message":"  "}`},
			{target: agent + "/execute/stream", body: `{"message":7}`},
			{target: agent + "/execute/stream", body: `{"message":"x","conversationId":"7"}`},
			{target: agent + "/execute/stream"},
			{target: "/api/v1/agents/" + missingID + "/execute/stream", body: `{"message":"x"}`},
			{target: "/api/v1/agents/7/execute/stream", body: `{"message":"x"}`},
			{target: agent + "/execute/stream", body: `{"message":"x"}`, bare: true},
		},
		"GET /api/v1/agents/{id}/runs": {
			{target: agent + "/runs"}, {target: agent + "/runs?limit=201"}, {target: agent + "/runs?cursor=x"}, {target: agent + "/runs", bare: true},
		},
		"GET /api/v1/agents/{id}/runs/{runId}": {
			{target: agent + "/runs/" + jobID}, {target: agent + "/runs/7"}, {target: "/api/v1/agents/" + missingID + "/runs/" + missingID},
		},
	}
}

// cursorOf returns the next_cursor of the list of collections.
func cursorOf(inner string) string { return rest.WrapCursor("/api/v1/collections", inner) }

func TestEveryRouteHasItsTranscript(t *testing.T) {
	t.Parallel()
	told := examples()
	maps.Copy(told, peopleExamples())
	maps.Copy(told, agentExamples())
	maps.Copy(told, talkExamples())
	maps.Copy(told, inboundExamples())
	maps.Copy(told, automationExamples())
	maps.Copy(told, toolExamples())
	maps.Copy(told, approvalExamples())
	maps.Copy(told, databaseExamples())
	written := map[string]bool{}
	for _, route := range rest.Routes() {
		name := route.Method + " " + route.Pattern
		requests := told[name]
		delete(told, name)
		if len(requests) == 0 {
			t.Errorf("%s has no example", name)
			continue
		}
		file := strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.ToLower(route.Method)+route.Pattern) + ".txt"
		written[file] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, filepath.Join("testdata", "transcripts", file), transcript(t, route, requests))
		})
	}
	for name := range told {
		t.Errorf("there are examples of the unknown route %s", name)
	}
	found, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range found {
		if !written[filepath.Base(name)] {
			t.Errorf("%s belongs to no route", name)
		}
	}
}

func transcript(t *testing.T, route rest.Route, requests []example) []byte {
	var out bytes.Buffer
	h := newFixture(t)
	first := true
	for _, e := range requests {
		r := request(route.Method, e.target, e.body, e.headers...)
		if !e.bare && route.Surface == viewer.SurfacePublic {
			r.Header.Set("X-Service-Key", secretKey)
		} else if !e.bare && !route.Anonymous {
			r.Header.Set("Authorization", "Bearer session")
		}
		h.calls = nil
		answer := h.send(r)
		if first && answer.Code != route.Status {
			t.Errorf("the first example of %s %s is answered %d, not %d", route.Method, route.Pattern, answer.Code, route.Status)
		}
		first = false
		fmt.Fprintf(&out, "> %s %s\n", route.Method, e.target)
		writeHeaders(&out, "> ", r.Header)
		if e.body != "" {
			fmt.Fprintf(&out, ">\n%s", indented("> ", shortened(e.body)))
		}
		for _, c := range h.calls {
			fmt.Fprintf(&out, "= %s\n", c)
		}
		fmt.Fprintf(&out, "< %d\n", answer.Code)
		writeHeaders(&out, "< ", answer.Header())
		if answer.Body.Len() > 0 {
			fmt.Fprintf(&out, "<\n%s", indented("< ", pretty(answer)))
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func writeHeaders(out *bytes.Buffer, prefix string, h http.Header) {
	names := make([]string, 0, len(h))
	for name := range h {
		if name != "Vary" && name != "Access-Control-Expose-Headers" { // other tests check CORS
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			fmt.Fprintf(out, "%s%s: %s\n", prefix, name, value)
		}
	}
}

func indented(prefix, text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > 1200 {
		return string(runes[:40]) + "…"
	}
	return text
}

func pretty(answer interface {
	Result() *http.Response
}) string {
	var raw, out bytes.Buffer
	response := answer.Result()
	_, _ = raw.ReadFrom(response.Body)
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && json.Indent(&out, raw.Bytes(), "", "  ") == nil {
		return out.String()
	}
	return raw.String()
}

// compare compares text with a golden file.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%v; create it by go test ./rest -update", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; review the change after go test ./rest -update\ngot:\n%s\nwant:\n%s", name, got, want)
	}
}
