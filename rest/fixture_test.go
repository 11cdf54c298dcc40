package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
)

// IDs of the fixture.
const (
	collectionID   = "018f0000-0000-8000-8000-00000000c011"
	otherID        = "018f0000-0000-8000-8000-00000000c012" // outside of the scope of all keys except everywhereKey
	connectorID    = "018f0000-0000-8000-8000-00000000c0de"
	documentID     = "018f0000-0000-8000-8000-00000000d0c0"
	jobID          = "018f0000-0000-8000-8000-00000000a0b0"
	itemID         = "018f0000-0000-8000-8000-000000001733"
	fileID         = "018f0000-0000-8000-8000-00000000f11e"
	conversationID = "018f0000-0000-8000-8000-00000000ca70"
	memberID       = "018f0000-0000-8000-8000-000000003e3b"
	invitationID   = "018f0000-0000-8000-8000-0000000013f1"
	messageID      = "018f0000-0000-8000-8000-000000003355"
	missingID      = "018f0000-0000-8000-8000-00000000dead"
)

const (
	secretKey      = "svc_sk_secret"
	signedKey      = "svc_sk_signed"
	everywhereKey  = "svc_sk_everywhere"
	publishableKey = "svc_pk_publishable"
	freeKey        = "svc_sk_free" // without a rate limit
)

// now returns the time of the fixture.
func now() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

const (
	early = "2026-11-20T08:00:00Z"
	late  = "2026-11-23T09:30:00Z"
)

// keys is a KeyAuthenticator with the keys of the fixture.
type keys struct{}

func (keys) Authenticate(_ context.Context, presented string) (authn.Key, error) {
	collections := []uuid.UUID{uuid.MustParse(collectionID)}
	v := viewer.Viewer{
		Workspace: uuid.MustParse("018f0000-0000-8000-8000-000000000001"), Kind: viewer.KindKey, Surface: viewer.SurfacePublic,
		Collections: collections, DefaultCollection: collections[0],
	}
	key := authn.Key{ID: uuid.NewSHA1(uuid.Nil, []byte(presented)), Viewer: v}
	none := 0
	switch presented {
	case secretKey:
	case signedKey:
		key.RequireSignature = true
	case everywhereKey:
		key.Viewer.AllCollections, key.Viewer.Collections = true, nil
	case freeKey:
		key.RatePerMinute = &none
	case publishableKey:
		key.Publishable, key.Hosts = true, []string{"docs.example.com"}
	case "svc_sk_expired":
		return authn.Key{}, apierr.New(apierr.KeyExpired, "API key has expired")
	case "svc_sk_broken":
		return authn.Key{}, fmt.Errorf("dial tcp 10.0.0.1:5432: connection refused")
	default:
		return authn.Key{}, apierr.New(apierr.InvalidKey, "Invalid API key")
	}
	key.Viewer.Secret = !key.Publishable
	return key, nil
}

// sessions is a SessionAuthenticator with one valid token.
type sessions struct{}

func (sessions) Authenticate(_ context.Context, bearer string) (viewer.Viewer, error) {
	switch bearer {
	case "session":
		return viewer.Viewer{Workspace: uuid.MustParse("018f0000-0000-8000-8000-000000000001"), Kind: viewer.KindSession, Role: viewer.RoleOwner, AllCollections: true}, nil
	case "broken":
		return viewer.Viewer{}, fmt.Errorf("dial tcp 10.0.0.1:5432: connection refused")
	default:
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "the token is malformed")
	}
}

// fixture is a transport on a fake GraphQL server with rows for every root field.
type fixture struct {
	t      testing.TB
	schema *ast.Schema
	fake   *fake
	rest   *rest.Transport
	http   http.Handler

	mu      sync.Mutex
	calls   []string        // the resolved root fields with their arguments
	viewers []viewer.Viewer // of the calls
	chat    func(ctx context.Context, c call) (any, error)
}

// newFixture returns a fixture. The functions may change the options.
func newFixture(t testing.TB, change ...func(*rest.Options)) *fixture {
	t.Helper()
	h := &fixture{t: t, schema: realSchema(t)}
	h.chat = func(ctx context.Context, c call) (any, error) { return stream(ctx, answerEvents()...), nil }
	h.fake = &fake{schema: h.schema, resolve: h.resolve}
	serial := 0
	o := rest.Options{
		Schema: h.schema, Keys: keys{}, Sessions: sessions{}, Now: now, UploadDir: t.TempDir(),
		NewID: func() string { serial++; return fmt.Sprintf("request-%d", serial) },
	}
	for _, c := range change {
		c(&o)
	}
	transport, err := rest.New(o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	server := newServer(h.fake)
	server.AddTransport(transport)
	h.rest = transport
	h.http = transport.Handler(server, http.NotFoundHandler())
	return h
}

// resolve records the call and returns a row of the fixture.
func (h *fixture) resolve(ctx context.Context, c call) (any, error) {
	v, _ := viewer.From(ctx)
	h.mu.Lock()
	h.calls = append(h.calls, c.field+" "+describe(c.arguments))
	h.viewers = append(h.viewers, v)
	h.mu.Unlock()
	input, _ := c.arguments["input"].(map[string]any)
	for _, value := range []any{c.arguments["id"], c.arguments["connectorId"], c.arguments["agentId"], input["conversationId"], input["connectorId"]} {
		if value == missingID {
			return nil, apierr.NotFound("It")
		}
	}
	if c.field == "recordEvents" {
		if events, ok := input["events"].([]any); ok && events[0].(map[string]any)["eventId"] == "odd" {
			return nil, apierr.Invalid("events[3].requestId", "does not fit")
		}
		if one, ok := input["event"].(map[string]any); ok && one["eventId"] == "odd" {
			return nil, apierr.Invalid("requestId", "does not fit")
		}
	}
	switch {
	case input["error"] == nil:
	case input["error"] == "access_denied" && c.field == "answerOIDCSignIn":
		return nil, apierr.New(apierr.Forbidden, "Example ID refused the sign-in: access_denied (No)")
	case input["error"] == "access_denied":
		return nil, apierr.New(apierr.InvalidRequest, "Google did not grant access: access_denied (The user denied access)")
	}
	switch input["state"] {
	case "unknown":
		return nil, apierr.Invalid("state", "is unknown, was used before or has expired; begin the connection again")
	case "dashboard":
		target := "https://app.example.com/connectors?oauth=connected&provider=google"
		if c.field == "answerOIDCSignIn" {
			return object{"code": nil, "redirectUrl": "https://app.example.com/#code=code"}, nil
		}
		return object{"provider": "google", "grantId": messageID, "account": nil, "connectorId": nil, "redirectUrl": target}, nil
	}
	if c.arguments["binding"] == "stranger" {
		return nil, apierr.New(apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited")
	}
	if c.field == "chat" {
		return h.chat(ctx, c)
	}
	if c.field == "runAgent" {
		switch {
		case input["agentId"] == missingID:
			return nil, apierr.NotFound("Agent")
		case input["message"] == "quota":
			return nil, apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
		}
		events := runEvents()
		if input["message"] == "fail" {
			events = append(events[:2:2], object{"__typename": "AgentError", "seq": 3, "code": "unavailable", "message": "The chat model did not answer."}, events[2])
		}
		return stream(ctx, events...), nil
	}
	switch c.arguments["refreshToken"] {
	case "refused":
		return nil, apierr.New(apierr.Unauthorized, "Session required")
	case "outage":
		return nil, &apierr.Error{Code: apierr.Unavailable, Message: "Too busy; try again.", RetryAfter: time.Second}
	}
	switch input["query"] {
	case "quota":
		return nil, apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
	case "fault":
		return nil, fmt.Errorf(`pq: relation "passages" does not exist`)
	case "busy":
		return nil, &apierr.Error{Code: apierr.Unavailable, Message: "Too busy; try again.", RetryAfter: 1500 * time.Millisecond}
	case "field":
		return nil, apierr.Invalid("minScore", "does not fit")
	}
	if c.field == "search" {
		return searchRow(input["query"]), nil
	}
	row, ok := rows()[c.field]
	if talk, found := talkRows()[c.field]; found {
		row, ok = talk, true
	}
	if !ok {
		row, ok = agentRows()[c.field]
	}
	if !ok {
		return nil, fmt.Errorf("the fixture has no root field %s", c.field)
	}
	return row, nil
}

// describe formats arguments in a fixed order, with the properties of uploads.
func describe(value any) string {
	raw, err := json.Marshal(plain(value))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func plain(value any) any {
	switch value := value.(type) {
	case graphql.Upload:
		content, err := io.ReadAll(value.File)
		if err != nil {
			return err.Error()
		}
		return map[string]any{"filename": value.Filename, "type": value.ContentType, "size": value.Size, "read": len(content)}
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, inner := range value {
			out[name] = plain(inner)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, inner := range value {
			out[i] = plain(inner)
		}
		return out
	default:
		return value
	}
}

// send serves a request. It checks request and response against the OpenAPI document.
func (h *fixture) send(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	recorded := record(r)
	h.http.ServeHTTP(recorder, r)
	if _, fuzzing := h.t.(*testing.F); !fuzzing { // too slow for fuzzing
		loadDescription(h.t).check(h.t, recorded, recorder)
	}
	return recorder
}

// request returns a request without credentials.
func request(method, target, body string, headers ...string) *http.Request {
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequest(method, target, reader)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// stream returns a channel with the events.
func stream(ctx context.Context, events ...any) <-chan any {
	out := make(chan any)
	go func() {
		defer close(out)
		for _, e := range events {
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// answerEvents returns the events of a complete answer.
func answerEvents() []any {
	return []any{
		object{"__typename": "ChatStart", "conversationId": conversationID},
		object{"__typename": "ChatContent", "delta": "Queues are\n\nevent: done\ndata: {}\n\n"},
		object{"__typename": "ChatContent", "delta": " durable [1]."},
		object{"__typename": "ChatSources", "sources": []any{object{"id": documentID, "title": "Queues", "url": nil}}},
		object{"__typename": "ChatFollowUp", "questions": []any{"How are retries set?"}},
		object{"__typename": "ChatDone", "conversationId": conversationID, "usage": object{"promptTokens": 120, "completionTokens": 8, "totalTokens": 128}},
	}
}

// runEvents returns the events of a complete run.
func runEvents() []any {
	return []any{
		object{"__typename": "AgentRunStart", "seq": 1, "runId": jobID, "conversationId": conversationID},
		object{"__typename": "AgentIteration", "seq": 2, "number": 1, "status": "planning"},
		object{"__typename": "AgentToolCall", "seq": 3, "tool": "search_documents", "params": object{"query": "queues", "Limit": 3, "filters": object{"Tags": []any{"A"}}}, "callId": "call_1"},
		object{"__typename": "AgentToolResult", "seq": 4, "tool": "search_documents", "success": true, "callId": "call_1", "message": "2 passages found"},
		object{"__typename": "AgentContent", "seq": 5, "content": "Durable\n\nevent: run_complete\ndata: {}\n\n [1]."},
		object{"__typename": "AgentRunComplete", "seq": 6, "usage": object{"totalTokens": 128, "promptTokens": 120, "completionTokens": 8}, "sources": []any{object{"id": documentID, "title": "Queues", "url": nil, "passages": []any{object{"id": messageID, "headingPath": []any{"Queues"}, "excerpt": "Queues are durable."}}}}},
	}
}

// rows returns the results of the root fields.
func rows() map[string]any {
	stats := object{"documentCount": 2, "embeddingCount": 7, "storageBytes": 4096, "lastSync": late}
	collection := object{
		"id": collectionID, "name": "Handbook", "description": nil, "embeddingModel": "builtin", "nextEmbeddingModel": nil, "createdAt": early, "updatedAt": late,
		"modelChange": object{"model": "large", "state": "FAILING", "passages": 7, "embedded": 3, "reason": "The service took too long.", "failedAt": late},
		"stats":       stats, "connectorIds": []any{connectorID},
	}
	file := object{"id": fileID, "path": "guides/queues.md", "mediaType": "text/markdown", "bytes": 1234, "sha256": strings.Repeat("ab", 32), "createdAt": early, "updatedAt": early}
	connector := object{
		"id": connectorID, "name": "Uploads", "type": "file_upload", "status": "NEEDS_AUTH", "enabled": true, "collectionId": collectionID,
		"config": object{"prefix": "Docs/", "Nested": object{"Status": "ACTIVE"}}, "docSync": object{"syncStrategy": "SCHEDULED", "scheduleInterval": "6h"}, "schemaSync": nil,
		"lastSync": nil, "lastError": nil, "createdAt": early, "updatedAt": late, "nextSyncAt": late,
		"documentCounts": object{"pending": 0, "processing": 0, "indexed": 2, "failed": 1, "deleted": 0},
		"webhook": object{
			"url": "https://magpie.example.com/webhooks/connectors/github/1", "ready": true, "lastDelivery": nil, "waiting": 0,
			"subscription": object{"active": true, "expiresAt": nil, "error": nil},
		},
	}
	document := object{
		"id": documentID, "title": "Queues", "status": "INDEXED", "path": "guides/queues.md", "url": nil, "collectionName": "Handbook",
		"collectionId": collectionID, "source": "file_upload", "section": "Guides", "version": "2.0", "tags": []any{"queue"}, "docType": nil,
		"language": "en", "author": nil, "pages": nil, "bytes": 1234, "passageCount": 7, "failure": nil, "createdAt": early, "updatedAt": late,
		"sourceCreatedAt": nil, "sourceUpdatedAt": early, "indexedAt": late, "restricted": true, "content": "# Queues\n\n<b>Durable</b> & ordered.", "summary": "Queues are durable.",
		"allMetadata": object{"author": nil, "url": nil, "pages": nil, "status": "DRAFT"},
	}
	passage := object{"id": messageID, "documentId": documentID, "position": 2, "headingPath": []any{"Queues", "Retries"}, "text": "Retries are <b>bounded</b>.", "anchor": "retries", "page": nil}
	document["passages"] = page("end+of/passages", passage)
	document["history"] = []any{object{"at": late, "kind": "INDEXED", "jobId": jobID, "actor": nil, "reason": nil}, object{"at": early, "kind": "RESTRICTED", "jobId": nil, "actor": "ada@example.com", "reason": nil}}
	reader := object{"kind": "GROUP", "id": "7", "name": "Staff", "members": 12}
	restriction := object{"documentId": documentID, "connectorId": connectorID, "collectionId": collectionID, "readers": []any{reader}, "restrictedAt": late, "restrictedBy": "ada@example.com"}
	readers := object{
		"documentId": documentID, "mode": "strict", "everyone": false, "readers": []any{reader, object{"kind": "USER", "id": "ada@example.com", "name": "ada@example.com", "members": nil}},
		"readerCount": 2, "restriction": restriction, "readersReadAt": late, "groupsReadAt": nil,
	}
	job := object{
		"id": jobID, "status": "RUNNING", "mode": "INCREMENTAL", "progress": object{"collected": 5, "parsed": 4, "indexed": 3},
		"stats": object{"added": 2, "modified": 1, "deleted": 0, "unchanged": 1, "skipped": 1, "errors": 0}, "warnings": []any{},
		"error": nil, "cause": "MANUAL", "createdAt": early, "startedAt": early, "finishedAt": nil,
		"duration": 12.5, "pages": 3, "bytesFetched": 20480, "retried": 0,
		"sourceTotal": 7, "waitingFor": object{"reason": "PACE", "until": late, "text": "The platform asks to wait until 09:30 UTC."},
	}
	connector["lastJob"] = job
	connector["pendingDeletion"] = object{"documents": 13, "since": early, "jobId": jobID, "existing": 20, "threshold": 50}
	connector["freshness"] = object{
		"lastDay":  object{"changes": 12, "p50": 8.5, "p95": 41.25, "max": 60.5},
		"lastWeek": object{"changes": 0, "p50": nil, "p95": nil, "max": nil}, "oldestWaiting": nil, "waiting": 0,
	}
	connector["history"] = object{
		"total": 5, "completed": 3, "partial": 1, "failed": 1, "canceled": 0, "successRate": 0.8, "meanDuration": 12.5, "bytesFetched": 20480, "pages": 30,
		"retried": 1, "added": 20, "modified": 2, "deleted": 1, "lastSuccess": late, "lastFailure": nil,
	}
	connector["permissions"] = object{"mode": "strict", "readersReadAt": late, "groupsReadAt": nil, "warning": "Read too long ago."}
	connector["hiddenDocuments"] = 3
	item := object{
		"id": itemID, "path": "guides/broken.json", "sourceId": "guides/broken.json", "jobId": jobID, "documentId": nil, "status": "FAILED",
		"reason": "invalid JSON", "retryable": false, "suppressed": false, "createdAt": early, "updatedAt": late,
	}
	option := func(name, kind string, more object) object {
		o := object{
			"name": name, "title": "T", "help": "H", "type": kind, "format": nil, "required": false, "sensitive": false, "multiline": false,
			"default": nil, "example": nil, "choices": []any{}, "min": nil, "max": nil, "group": nil, "advanced": false, "dependsOn": []any{}, "fields": []any{},
		}
		maps.Copy(o, more)
		return o
	}
	kind := object{
		"name": "wiki", "title": "Wiki", "description": "Pages.", "category": "collaboration", "aliases": []any{"pages"},
		"options": []any{
			option("depth", "integer", object{"default": 3, "min": 1, "max": 5}),
			option("filters", "object", object{"fields": []any{option("include", "string_list", object{"format": "pattern"})}}),
			option("permission_mode", "string", object{"choices": []any{"strict", "permissive"},
				"dependsOn": []any{object{"option": "include_permissions", "values": []any{true}}}}),
		},
		"credentials":  []any{option("token", "string", object{"required": true, "sensitive": true})},
		"acceptsFiles": false, "enumerates": true, "permissions": true, "webhooks": false, "oauthProvider": nil, "database": false, "documentation": nil,
		"apiVersion": "v7", "feeds": true,
	}
	test := object{"ok": true, "message": "3 objects seen", "details": object{"Bucket": "docs"}, "tiers": []any{object{"name": "read", "ok": true, "message": nil}}}
	tokens := object{"accessToken": "access", "refreshToken": "refresh", "expiresAt": late}
	entry := object{
		"id": messageID, "createdAt": late, "actorKind": "PERSON", "actorId": documentID, "actorName": "ada@example.com", "sessionId": jobID, "tokenId": nil, "tokenName": "",
		"ip": "192.0.2.7", "requestId": "request-1", "action": "connector.update", "targetKind": "connector", "targetId": connectorID,
		"targetName": "=HYPERLINK(\"https://evil.example\")", "changes": []any{
			object{"field": "name", "old": "Uploads", "new": "=HYPERLINK(\"https://evil.example\")", "hidden": false},
			object{"field": "credentials", "old": nil, "new": nil, "hidden": true},
		},
	}
	run := object{
		"id": jobID, "agentId": connectorID, "conversationId": conversationID, "status": "COMPLETED", "message": "What are queues?", "answer": "Durable [1].", "model": "m-1",
		"iterations": 2, "toolCalls": 1, "promptTokens": 120, "completionTokens": 8, "error": nil, "createdAt": early, "finishedAt": late,
		"events": []any{object{"seq": 1, "type": "run_start", "data": object{"runId": jobID}, "createdAt": early}},
	}
	all := map[string]any{
		"passage":         object{"passage": passage, "document": document, "before": []any{}, "after": []any{passage}},
		"documentReaders": readers, "restrictDocument": readers, "unrestrictDocument": readers, "documentRestrictions": page("end+of/restrictions", restriction),
		"runs": page("end+of/runs", run), "run": run,
		"auditLog": page("", entry),
		"whyVisible": object{
			"documentId": documentID, "user": "ada@example.com", "visible": true, "rule": "MEMBER", "explanation": "A member of Staff.",
			"groups": []any{object{"id": "7", "name": "Staff"}}, "readersReadAt": early, "groupsReadAt": nil,
		},
		"searchWhyNot": object{
			"documentId": documentID, "title": "Queues", "found": false, "reason": "BELOW_MIN_SCORE", "explanation": "Its best passage has the score 0.250.",
			"change": "Ask for a lower minimum score.", "itemStatus": "INDEXED", "itemReason": nil, "itemHold": nil, "rank": nil, "place": 7,
			"score": 0.25, "minScore": 0.5, "filters": []any{}, "missingPhrases": []any{}, "excludedPhrases": []any{}, "passagesCut": 0,
			"visibility": nil, "bestPassage": explanation(),
		},
		"signInMethods":    object{"password": true, "oidc": object{"name": "Example ID", "issuer": "https://id.example.com"}, "saml": object{"name": "Company"}},
		"startSAMLSignIn":  object{"authorizationUrl": "https://id.example.com/sso?SAMLRequest=r&RelayState=s", "binding": "binding", "expiresAt": late},
		"finishSAMLSignIn": tokens,
		"startOIDCSignIn":  object{"authorizationUrl": "https://id.example.com/authorize?state=s", "binding": "binding", "expiresAt": late},
		"answerOIDCSignIn": object{"code": "code", "redirectUrl": nil}, "finishOIDCSignIn": tokens,
		"startOAuth":  object{"authorizationUrl": "https://accounts.example.com/authorize?state=s&code_challenge_method=S256", "binding": "b1nding"},
		"finishOAuth": object{"provider": "google", "grantId": messageID, "account": "ada@example.com", "connectorId": connectorID, "redirectUrl": nil},
		"signIn":      tokens, "refreshSession": tokens, "signOut": true,
		"collections": page("end+of/collections", collection), "createCollection": collection, "collection": collection,
		"updateCollection": collection, "deleteCollection": collectionID, "refreshCollectionStats": stats,
		"connectors": page("", connector), "createConnector": connector, "connector": connector, "updateConnector": connector,
		"pauseConnector": connector, "resumeConnector": connector,
		"deleteConnector": connectorID, "testConnector": test, "testConnection": test,
		"uploadFiles": []any{file}, "deleteFiles": []any{"guides/queues.md"},
		"documents": page("", document), "document": document, "deleteDocument": documentID,
		"planSync": job, "approveDeletion": job, "restoreDeletions": job, "restoreDocument": document,
		"dismissDeletion": object{"connectorId": connectorID, "documents": 13}, "quarantinedDocuments": page("end+of/documents", document),
		"syncPlan": object{
			"job": job, "counts": object{"added": 2, "modified": 1, "compared": 0, "unchanged": 40, "skipped": 1, "failed": 0, "deleted": 0, "quarantined": 60, "kept": 0},
			"guard": object{"blocked": true, "missing": 60, "existing": 101, "threshold": 50},
			"items": page("end+of/plan", object{"id": itemID, "path": "guides/queues.md", "sourceId": "guides/queues.md", "documentId": documentID,
				"action": "MODIFY", "reason": nil, "size": 5120, "version": "v2"}),
		},
		"startSync": job, "syncJob": job, "syncJobs": page("", job), "cancelSync": job, "refreshPermissions": job, "retryItems": job,
		"syncItems": page("", item), "allowItem": item, "connectorKinds": []any{kind}, "sourceFiles": page("end+of/files", file),
		"recordVisitorEvent": object{"accepted": 1, "duplicates": 0, "unknown": 0},
		"recordEvents":       object{"accepted": 2, "duplicates": 1, "unknown": 1},
	}
	maps.Copy(all, peopleRows(tokens))
	maps.Copy(all, inboundRows(kind))
	maps.Copy(all, automationRows())
	maps.Copy(all, toolRows(kind))
	maps.Copy(all, approvalRows())
	maps.Copy(all, databaseRows())
	return all
}
