package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

const keyID = "018f0000-0000-8000-8000-00000000c4e7"

// talkRows returns the results of the root fields of searches, conversations,
// analytics and API keys.
func talkRows() map[string]any {
	hit := object{
		"id": messageID, "documentId": documentID, "title": "Queues", "url": nil, "snippet": "<mark>Durable</mark> &amp; ordered", "score": 0.75,
		"section": "Guides", "version": "2.0", "tags": []any{"queue"}, "docType": nil, "language": "en", "collection": "Handbook",
		"source": "file_upload", "headingPath": []any{"Queues", "Durability"}, "updatedAt": late, "metadata": object{"Level": "INDEXED"}, "duplicates": object{"count": 2, "versions": []any{"1.9", "1.8"}},
		"explanation": explanation(),
	}
	value := func(value, label string, count int, selected bool) object {
		return object{"value": value, "label": label, "count": count, "selected": selected, "from": nil, "until": nil}
	}
	week := value("last_7d", "last_7d", 2, false)
	week["from"] = early
	facets := []any{
		object{"name": "DOC_TYPE", "documents": 9, "missing": 1, "distinct": 3, "otherCount": 2, "values": []any{value("GUIDE", "GUIDE", 5, true), value("page", "page", 1, false)}},
		object{"name": "COLLECTION", "documents": 9, "missing": 0, "distinct": 1, "otherCount": 0, "values": []any{value(collectionID, "Handbook", 9, false)}},
		object{"name": "DATE", "documents": 9, "missing": 4, "distinct": 1, "otherCount": 0, "values": []any{week}},
	}
	opinion := object{"rating": "NEGATIVE", "reason": "OUTDATED", "comment": "Old.", "createdAt": early, "updatedAt": late}
	question := object{"id": missingID, "role": "USER", "content": "What are queues?", "sources": nil, "runId": nil, "promptTokens": 0, "completionTokens": 0, "feedback": nil, "createdAt": early}
	answer := object{
		"id": messageID, "role": "ASSISTANT", "content": "Durable [1].", "sources": []any{object{"id": documentID}}, "runId": jobID,
		"promptTokens": 120, "completionTokens": 8, "feedback": opinion, "createdAt": late,
	}
	conversation := object{
		"id": conversationID, "title": "Queues", "kind": "AGENT", "collectionId": nil, "agentId": connectorID, "messageCount": 2,
		"createdAt": early, "updatedAt": late, "messages": page("", question, answer),
	}
	asked := []any{object{"query": "queues", "count": 3, "zeroResults": 1, "clicks": 0, "averageScore": nil, "collectionId": collectionID, "lastAt": late}}
	key := object{
		"id": keyID, "name": "Site", "status": "ACTIVE", "publishableHint": "svc_pk_ab", "secretHint": "svc_sk_cd", "allowAllCollections": false,
		"allowedCollections": []any{collectionID}, "defaultCollection": nil, "allowedHosts": []any{"docs.example.com"}, "allowedReferers": []any{},
		"widgetModelId": nil, "widgetContext": nil, "requireSignature": false, "databaseTools": false, "rateLimitPerMinute": nil, "expiresAt": nil, "revokedAt": nil,
		"lastUsedAt": late, "rotatedAt": nil, "previousExpiresAt": nil, "leakedAt": nil, "leakedOrigin": nil, "createdAt": early, "updatedAt": late,
	}
	token := object{
		"id": keyID, "kind": "PERSONAL", "name": "CI", "status": "ACTIVE", "hint": "mgp_pat_abcd", "role": "EDITOR", "groups": []any{"CONNECTORS"}, "userId": otherID, "createdBy": otherID,
		"expiresAt": late, "revokedAt": nil, "lastUsedAt": late, "lastAddress": "192.0.2.7", "createdAt": early,
	}
	pair := object{"publishableKey": "svc_pk_abcdef", "secretKey": "svc_sk_cdefgh", "apiKey": key}
	return map[string]any{
		"search":          object{"results": []any{hit}, "total": 1, "limit": 10, "offset": 0, "tookMs": 1.25, "didYouMean": nil, "corrected": []any{}, "warnings": []any{}, "facets": facets, "counts": nil},
		"embeddingModels": []any{object{"name": "builtin-static-256-2", "dimensions": 256, "isDefault": true, "failing": false}},
		"searchQuality":   []any{quality()}, "measureSearchQuality": quality(),
		"completions":  object{"completions": []any{"queues"}, "titles": []any{object{"title": "Queues", "documentId": documentID, "url": nil}}},
		"searchFacets": facets, "searchSuggestions": []any{object{"text": "Queues", "documentId": documentID, "collectionId": collectionID}},
		"conversations": page("end+of/conversations", conversation), "conversation": conversation, "renameConversation": conversation,
		"deleteConversation": conversationID, "deleteConversations": 3, "setFeedback": opinion, "removeFeedback": messageID,
		"exportConversation": object{"fileName": "conversation-20261120-080000.md", "mediaType": "text/markdown; charset=utf-8", "content": "# Queues\n"},
		"usage":              object{"periodStart": early, "periodEnd": late, "queries": 41, "limit": nil, "remaining": nil},
		"queryAnalytics": object{
			"from": early, "to": late,
			"totals": object{"searches": 3, "chats": 1, "zeroResults": 1, "zeroResultRate": 0.25, "clicks": 2, "clickThroughRate": 0.5,
				"meanReciprocalClickRank": 0.75, "positiveFeedback": 1, "negativeFeedback": 0, "p50Ms": 1.5, "p95Ms": 9.5},
			"daily":      []any{object{"date": "2026-11-20", "searches": 3, "chats": 1, "zeroResults": 1, "clicks": 2, "positiveFeedback": 1, "negativeFeedback": 0}},
			"topQueries": asked, "zeroResultQueries": asked, "lowScoreQueries": []any{}, "unclickedQueries": []any{},
		},
		"tokens": page("end+of/tokens", token), "myTokens": []any{token}, "createPersonalToken": object{"secret": "mgp_pat_abcdef", "token": token},
		"createServiceToken": object{"secret": "mgp_svc_abcdef", "token": token}, "revokeToken": token,
		"apiKeys": page("end+of/keys", key), "apiKey": key, "createAPIKey": pair, "updateAPIKey": key, "rotateAPIKey": pair, "revokeAPIKey": key,
	}
}

// quality returns a measurement of search quality.
func quality() object {
	return object{
		"id": jobID, "collectionId": collectionID, "measuredAt": late, "days": 30, "questionCount": 2, "judged": 1, "ndcg10": 0.75, "mrr10": 1.0,
		"zeroResultRate": 0.5, "lowScoreRate": 0.0, "note": "Only 1 questions are judged.",
		"questions": []any{
			object{"query": "queues", "asked": 5, "clicks": 3, "relevant": 2, "ndcg10": 0.75, "mrr10": 1.0, "results": 7, "topScore": 0.9, "change": "BETTER",
				"previousNdcg10": 0.5, "previousTopScore": 0.8},
			object{"query": "topics", "asked": 3, "clicks": 0, "relevant": 0, "ndcg10": nil, "mrr10": nil, "results": 0, "topScore": nil, "change": "NEW",
				"previousNdcg10": nil, "previousTopScore": nil},
		},
	}
}

// explanation returns the explanation of a search result.
func explanation() object {
	sum := object{"total": 0.5, "terms": []any{object{"name": "title", "value": 0.25, "weight": 2.0, "contribution": 0.5}}}
	return object{
		"tier": "RESIDENT", "collectionId": collectionID, "change": 7,
		"words": []any{object{
			"text": "queues", "terms": []any{"queue"}, "fields": []any{object{"field": "TITLE", "occurrences": 1, "weight": 3.0}},
			"documentFrequency": 2, "queryFrequency": 1.0, "idf": 5.5, "weight": 5.5, "score": 3.4,
		}},
		"bm25f":      3.4,
		"similarity": object{"cosine": 0.5, "backgroundMean": 0.1, "backgroundDeviation": 0.1, "zScore": 4.0, "known": 1.0},
		"secondPass": object{"gate": 0.5, "terms": []any{object{"term": "durabl", "idf": 6.5, "weight": 0.1, "matches": true, "score": 0.05}}},
		"evidence": object{
			"lexical": 0.6, "relative": 1.0, "feedback": 1.0, "coverage": 1.0, "proximity": 0.0, "title": 1.0, "heading": 0.0,
			"firstPassage": true, "freshness": 0.9,
		},
		"order": sum, "logOdds": sum, "confidence": 0.75, "rating": nil,
	}
}

func talkExamples() map[string][]example {
	const (
		conversation = "/api/v1/conversations/" + conversationID
		feedback     = conversation + "/messages/" + messageID + "/feedback"
		key          = "/api/v1/api-keys/" + keyID
		settings     = `{"name":"Site","allowedHosts":["docs.example.com"],"allowedCollections":["` + collectionID + `"],"allowAllCollections":false,
 "defaultCollection":"` + collectionID + `","allowedReferers":[],"widgetModelId":"small","widgetContext":"Be brief.","requireSignature":true,"databaseTools":true,"rateLimitPerMinute":0,"expiresAt":"2027-01-01T00:00:00Z"}`
	)
	return map[string][]example{
		"GET /api/v1/search": {
			{target: "/api/v1/search?query=queues"}, {target: "/api/v1/search?query=queues", bare: true},
			{target: "/api/v1/search?query=qu&prefix=true&facets=section,tags,doc_type,date&facet_limit=5&ranges=2026-01-01/..&ranges=2025-01-01/2026-01-01T00:00:00Z" +
				"&filters[section]=a&filters[sections]=b,c&filters[sources]=s3&filters[connectors]=" + connectorID + "&filters[collections]=" + collectionID + "&filters[collections]=" + otherID +
				"&filters[changed_from]=2026-01-01T00:00:00Z&filters[changed_until]=2026-02-01T00:00:00%2B01:00&filters[versions]=2&filters[languages]=de"},
			{target: "/api/v1/search?query=queues&facets=tags&facets=date"},
			{target: "/api/v1/search?query=queues&explain=true"},
			{target: "/api/v1/search?query=queues&explain=please"},
			{target: "/api/v1/search?query=slow+queues&collapse=false&distinct=metadata.product"},
			{target: "/api/v1/search?query=queues&collapse=no"}, {target: "/api/v1/search?query=queues&distinct=path"},
			{target: "/api/v1/search?query=queues&facets=author"},
			{target: "/api/v1/search?query=queues&facets=tags&facet_limit=101"},
			{target: "/api/v1/search?query=queues&facets=date&ranges=yesterday"},
			{target: "/api/v1/search?query=queues&filters[connectors]=files"},
		},
		"GET /api/v1/search/facets": {
			{target: "/api/v1/search/facets"},
			{target: "/api/v1/search/facets?query=queues&min_score=0.3&collection=" + collectionID + "&facets=collection"},
			{target: "/api/v1/search/facets?query=+"},
			{target: "/api/v1/search/facets?collection=x"},
			{target: "/api/v1/search/facets", bare: true},
		},
		"GET /api/v1/embedding-models": {{target: "/api/v1/embedding-models"}, {target: "/api/v1/embedding-models", bare: true}},
		"GET /api/v1/collections/{id}/model-change": {
			{target: "/api/v1/collections/" + collectionID + "/model-change"},
			{target: "/api/v1/collections/" + collectionID + "/model-change", bare: true},
		},
		"GET /api/v1/collections/{id}/search-quality": {
			{target: "/api/v1/collections/" + collectionID + "/search-quality?first=1"},
			{target: "/api/v1/collections/" + collectionID + "/search-quality?first=101"},
			{target: "/api/v1/collections/" + collectionID + "/search-quality", bare: true},
		},
		"POST /api/v1/collections/{id}/search-quality": {
			{target: "/api/v1/collections/" + collectionID + "/search-quality", body: `{"days":90}`},
			{target: "/api/v1/collections/" + collectionID + "/search-quality", body: `{"days":0}`},
		},
		"GET /api/v1/search/why-not": {
			{target: "/api/v1/search/why-not?query=queues&document=guides/queues.md&min_score=0.5&as_user=ada@example.com&filters[section]=a&collection=" + collectionID},
			{target: "/api/v1/search/why-not?query=queues"},
			{target: "/api/v1/search/why-not?document=" + documentID},
			{target: "/api/v1/search/why-not?query=queues&document=" + documentID, bare: true},
		},
		"GET /api/v1/search/suggestions": {
			{target: "/api/v1/search/suggestions?prefix=que&limit=3"},
			{target: "/api/v1/search/suggestions"},
			{target: "/api/v1/search/suggestions?prefix=que&limit=21"},
			{target: "/api/v1/search/suggestions?prefix=" + strings.Repeat("q", 201)},
		},
		"GET /api/v1/conversations": {
			{target: "/api/v1/conversations?limit=10"},
			{target: "/api/v1/conversations?q=queues&kind=agent&agent=" + connectorID},
			{target: "/api/v1/conversations?kind=AGENT"},
			{target: "/api/v1/conversations?limit=0"},
			{target: "/api/v1/conversations", bare: true},
		},
		"DELETE /api/v1/conversations": {{target: "/api/v1/conversations"}, {target: "/api/v1/conversations?kind=chat"}, {target: "/api/v1/conversations", bare: true}},
		"GET /api/v1/conversations/{id}": {
			{target: conversation}, {target: "/api/v1/conversations/" + missingID}, {target: "/api/v1/conversations/7"},
		},
		"PUT /api/v1/conversations/{id}": {
			{target: conversation, body: `{"title":"About queues"}`}, {target: conversation, body: `{"title":" "}`}, {target: conversation},
			{target: conversation, body: `{"title":"` + strings.Repeat("ä", 301) + `"}`}, {target: "/api/v1/conversations/" + missingID, body: `{"title":"x"}`},
		},
		"DELETE /api/v1/conversations/{id}": {{target: conversation}, {target: "/api/v1/conversations/" + missingID}, {target: conversation, bare: true}},
		"GET /api/v1/conversations/{id}/export": {
			{target: conversation + "/export"}, {target: conversation + "/export?format=json"}, {target: conversation + "/export?format=pdf"},
		},
		"PUT /api/v1/conversations/{id}/messages/{messageId}/feedback": {
			{target: feedback, body: `{"rating":"negative","reason":"outdated","comment":"Old."}`},
			{target: feedback, body: `{"rating":"positive","reason":null}`},
			{target: feedback, body: `{"rating":"good"}`}, {target: feedback, body: `{"comment":"x"}`},
			{target: feedback, body: `{"rating":"positive","comment":"` + strings.Repeat("ä", 501) + `"}`},
			{target: conversation + "/messages/7/feedback", body: `{"rating":"positive"}`},
		},
		"DELETE /api/v1/conversations/{id}/messages/{messageId}/feedback": {{target: feedback}, {target: "/api/v1/conversations/7/messages/" + messageID + "/feedback"}},
		"GET /api/v1/usage": {{target: "/api/v1/usage"}, {target: "/api/v1/usage", bare: true}},
		"GET /api/v1/analytics/queries": {
			{target: "/api/v1/analytics/queries"},
			{target: "/api/v1/analytics/queries?from=2026-11-01T00:00:00Z&to=2026-11-20T00:00:00Z&collection=" + collectionID + "&apiKey=" + keyID + "&kind=chat&first=5"},
			{target: "/api/v1/analytics/queries?from=2026-11-01"}, {target: "/api/v1/analytics/queries?first=0"}, {target: "/api/v1/analytics/queries?kind=events"},
		},
		"GET /api/v1/tokens":      {{target: "/api/v1/tokens?limit=1&kind=service"}, {target: "/api/v1/tokens?kind=other"}, {target: "/api/v1/tokens", bare: true}},
		"GET /api/v1/tokens/mine": {{target: "/api/v1/tokens/mine"}},
		"POST /api/v1/tokens/mine": {
			{target: "/api/v1/tokens/mine", body: `{"name":"CI","role":"editor","groups":["connectors","documents"],"expiresAt":"2026-12-24T00:00:00Z"}`},
			{target: "/api/v1/tokens/mine", body: `{"name":"CI","groups":[]}`}, {target: "/api/v1/tokens/mine", body: `{"groups":["everything"],"name":"CI"}`},
		},
		"POST /api/v1/tokens": {
			{target: "/api/v1/tokens", body: `{"name":"CI","role":"admin","groups":["search"]}`}, {target: "/api/v1/tokens", body: `{"name":"CI","role":"admin"}`},
		},
		"DELETE /api/v1/tokens/{id}": {{target: "/api/v1/tokens/" + keyID}, {target: "/api/v1/tokens/" + missingID}, {target: "/api/v1/tokens/x"}},
		"GET /api/v1/api-keys":       {{target: "/api/v1/api-keys?limit=1"}, {target: "/api/v1/api-keys", bare: true}},
		"POST /api/v1/api-keys": {
			{target: "/api/v1/api-keys", body: settings},
			{target: "/api/v1/api-keys", body: `{"name":"Site"}`}, {target: "/api/v1/api-keys", body: `{"allowedHosts":["*"]}`},
			{target: "/api/v1/api-keys", body: `{"name":"Site","allowedHosts":["*"],"allowedCollections":["docs"]}`},
			{target: "/api/v1/api-keys", body: `{"name":"Site","allowedHosts":["*"],"rateLimitPerMinute":-1}`},
		},
		"GET /api/v1/api-keys/{id}": {{target: key}, {target: "/api/v1/api-keys/" + missingID}, {target: "/api/v1/api-keys/x"}},
		"PUT /api/v1/api-keys/{id}": {
			{target: key, body: `{"name":"Other","defaultCollection":null,"widgetModelId":null,"widgetContext":null,"rateLimitPerMinute":null,"expiresAt":null}`},
			{target: key, body: `{"name":null}`}, {target: key, body: `{"expiresAt":"tomorrow"}`}, {target: "/api/v1/api-keys/" + missingID, body: `{}`},
		},
		"POST /api/v1/api-keys/{id}/rotate": {
			{target: key + "/rotate"}, {target: key + "/rotate", body: `{"overlapMinutes":0,"expiresAt":"2027-01-01T00:00:00Z"}`}, {target: key + "/rotate", body: `{"overlapMinutes":43201}`},
		},
		"DELETE /api/v1/api-keys/{id}": {{target: key}, {target: "/api/v1/api-keys/" + missingID}},
	}
}

func TestATokenMayHaveAnyGroupOfTheSchema(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	groups := realSchema(t).Types["OperationGroup"].EnumValues
	if len(groups) < 2 {
		t.Fatalf("the schema has %d groups", len(groups))
	}
	for _, path := range []string{"/api/v1/tokens", "/api/v1/tokens/mine"} {
		for _, group := range groups {
			body := `{"name":"CI","role":"editor","groups":["` + strings.ToLower(group.Name) + `"]}`
			if answer := h.send(request(http.MethodPost, path, body, "Authorization", "Bearer session")); answer.Code != http.StatusCreated {
				t.Errorf("%s %s: %d %s", path, body, answer.Code, answer.Body)
			}
		}
	}
}
