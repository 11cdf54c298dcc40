package rest

import (
	"strings"
	"unicode"
)

// id returns the operation ID of a route: a verb and what it is about. Most are the
// names of the stored operations. Those of operations that serve several routes, or
// that are named after what GraphQL calls them, stand here.
func (r *route) id() string {
	switch r.Method + " " + r.Pattern {
	case "POST /v1/docs/search":
		return "searchDocs"
	case "GET /v1/docs/search":
		return "searchDocsByQuery"
	case "GET /v1/docs/suggest":
		return "suggestDocs"
	case "POST /v1/chat/stream":
		return "streamChat"
	case "PATCH /api/v1/connectors/{id}":
		return "scheduleConnector"
	case "POST /api/v1/auth/sign-up":
		return "signUp"
	case "GET /api/v1/auth/sign-up":
		return "getSignUpPolicy"
	case "GET /api/v1/auth/methods":
		return "listSignInMethods"
	case "POST /api/v1/invitations/accept":
		return "joinWorkspace"
	case "GET /api/v1/agents/{id}/runs":
		return "listAgentRuns"
	case "GET /api/v1/agents/{id}/runs/{runId}":
		return "getAgentRun"
	case "GET /api/v1/search":
		return "searchDocuments"
	case "GET /api/v1/search/facets":
		return "searchDocumentFacets"
	case "GET /api/v1/search/suggestions":
		return "suggestQueries"
	case "GET /api/v1/search/why-not":
		return "explainMissingDocument"
	case "GET /api/v1/documents/{id}/why":
		return "explainDocumentAccess"
	case "PUT /api/v1/conversations/{id}/messages/{messageId}/feedback":
		return "setMessageFeedback"
	case "DELETE /api/v1/conversations/{id}/messages/{messageId}/feedback":
		return "removeMessageFeedback"
	case "GET /api/v1/audit-log.csv":
		return "exportAuditLogCSV"
	case "GET /api/v1/audit-log.jsonl":
		return "exportAuditLogJSONL"
	case "GET /api/v1/connectors/{id}/items":
		return "listConnectorItems"
	case "POST /api/v1/connectors/{id}/items/retry":
		return "retryConnectorItems"
	case "POST /api/v1/connectors/{id}/items/{itemId}/allow":
		return "allowConnectorItem"
	default:
		return strings.ToLower(r.Operation[:1]) + r.Operation[1:]
	}
}

// summary returns an operation ID in words: "Search docs", "List API keys".
func summary(id string) string {
	letters := []rune(title(id))
	var words strings.Builder
	for i, c := range letters {
		if i > 0 && unicode.IsUpper(c) {
			last := i == len(letters)-1
			acronym := unicode.IsUpper(letters[i-1]) && (last || unicode.IsUpper(letters[i+1]))
			begins := last || !unicode.IsUpper(letters[i+1])
			if !acronym {
				words.WriteByte(' ')
			}
			if !acronym && begins {
				c = unicode.ToLower(c)
			}
		}
		words.WriteRune(c)
	}
	return words.String()
}

// bodyName returns the component name of the response body of a route's operation,
// which all its routes share. It does not end in Response: generated clients have types
// of that name, for the response with its status and headers.
func (d *describer) bodyName(r *route) string {
	if d.bodies[r.Operation] == "" {
		d.bodies[r.Operation] = title(r.id()) + "ResponseBody"
	}
	return d.bodies[r.Operation]
}

// title returns a name with an upper case first letter.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
