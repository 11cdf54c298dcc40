package stack_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit/authserver"
)

// startBeside serves beside a provider, at which people sign in and connectors
// are connected.
func startBeside(t *testing.T) (*service, *authserver.Server) {
	t.Helper()
	const base = "http://magpie.example.com"
	provider := authserver.Start(t)
	provider.Register(authserver.Client{ID: "magpie", Secret: "s3cret", Redirects: []string{
		base + "/api/v1/oauth/callback/google", base + "/api/v1/auth/oidc/callback",
	}})
	provider.SignIn(authserver.Account{Subject: "owner-1", Email: email, Name: "Owner", Verified: true})
	return start(t, map[string]string{
		"BASE_URL": base, "OIDC_ISSUER": provider.URL, "OIDC_CLIENT_ID": "magpie", "OIDC_CLIENT_SECRET": "s3cret",
		"OAUTH_GOOGLE_CLIENT_ID": "magpie", "OAUTH_GOOGLE_CLIENT_SECRET": "s3cret", "OAUTH_GOOGLE_AUTH_URL": provider.URL + authserver.AuthorizePath,
		"OAUTH_GOOGLE_TOKEN_URL": provider.URL + authserver.TokenPath, "OAUTH_GOOGLE_ACCOUNT_URL": provider.URL + authserver.UserinfoPath,
	}), provider
}

// journey is what somebody has begun at a provider and not ended: the states of
// a connection and of a sign-in, and the code of a sign-in that was answered.
type journey struct{ connecting, signingIn, code string }

func (s *service) depart(provider *authserver.Server) journey {
	s.t.Helper()
	begin := func(path, field string, body any) string {
		s.t.Helper()
		begun := s.call(http.MethodPost, path, body)
		address, _ := begun.data[field].(string)
		if address == "" {
			s.t.Fatalf("%s: %d %s", path, begun.status, begun.body)
		}
		return address
	}
	state := func(address string) string {
		s.t.Helper()
		to, err := url.Parse(address)
		if err != nil || to.Query().Get("state") == "" {
			s.t.Fatal(address, err)
		}
		return to.Query().Get("state")
	}
	const start, link = "/api/v1/auth/oidc/start", "authorization_url"
	out := journey{
		connecting: state(begin("/api/v1/oauth/init", "authorizationUrl", map[string]any{"provider": "google"})),
		signingIn:  state(begin(start, link, map[string]any{})),
	}
	answered := s.call(http.MethodGet, provider.Browse(s.t, begin(start, link, map[string]any{})).RequestURI(), nil)
	if out.code, _ = answered.data["code"].(string); out.code == "" {
		s.t.Fatalf("%d %s", answered.status, answered.body)
	}
	return out
}

// signOnIntrusions has one case for each route of providers.
func signOnIntrusions(ada belongings) map[string]intrusion {
	const oidc, oauth = "/api/v1/auth/oidc", "/api/v1/oauth"
	return map[string]intrusion{
		"GET /api/v1/auth/methods":              {"/api/v1/auth/methods", nil, 200},
		"POST /api/v1/auth/oidc/start":          {oidc + "/start", map[string]any{}, 200},
		"GET /api/v1/auth/oidc/callback":        {oidc + "/callback?code=guess&state=" + url.QueryEscape(ada.signingIn), nil, 401},
		"POST /api/v1/auth/oidc/finish":         {oidc + "/finish", map[string]any{"code": ada.code, "binding": "guess"}, 400},
		"POST /api/v1/auth/saml/start":          {"/api/v1/auth/saml/start", map[string]any{}, 400}, // none is set up
		"POST /api/v1/auth/saml/finish":         {"/api/v1/auth/saml/finish", map[string]any{"code": ada.code, "binding": "guess"}, 400},
		"POST /api/v1/oauth/init":               {oauth + "/init", map[string]any{"provider": "google", "connectorId": ada.connector}, 404},
		"GET /api/v1/oauth/callback/{provider}": {oauth + "/callback/google?code=mine&state=" + url.QueryEscape(ada.connecting), nil, 403},
	}
}

// runIntrusions has one case for each route of runs.
func runIntrusions(ada belongings) map[string]intrusion {
	agent := "/api/v1/agents/" + ada.agent
	return map[string]intrusion{
		"POST /api/v1/agents/{id}/execute/stream": {agent + "/execute/stream", map[string]any{"message": canary, "conversationId": ada.dialogue}, 404},
		"GET /api/v1/agents/{id}/runs":            {agent + "/runs", nil, 404},
		"GET /api/v1/agents/{id}/runs/{runId}":    {agent + "/runs/" + ada.run, nil, 404},
	}
}

// talkIntrusions has one case for each route of facets and conversations.
func talkIntrusions(ada belongings) map[string]intrusion {
	const conversations = "/api/v1/conversations"
	conversation := conversations + "/" + ada.conversation
	feedback := conversation + "/messages/" + ada.message + "/feedback"
	return map[string]intrusion{
		"GET /api/v1/search/facets":      {"/api/v1/search/facets?query=" + canary + "&collection=" + ada.collection, nil, 404},
		"GET /api/v1/search/suggestions": {"/api/v1/search/suggestions?prefix=canary&collection=" + ada.collection, nil, 404},
		"GET /api/v1/search/why-not":     {"/api/v1/search/why-not?query=" + canary + "&document=" + ada.document + "&collection=" + ada.collection, nil, 200},

		"GET /api/v1/embedding-models":                 {"/api/v1/embedding-models", nil, 200},
		"GET /api/v1/collections/{id}/model-change":    {"/api/v1/collections/" + ada.collection + "/model-change", nil, 404},
		"GET /api/v1/collections/{id}/search-quality":  {"/api/v1/collections/" + ada.collection + "/search-quality", nil, 404},
		"POST /api/v1/collections/{id}/search-quality": {"/api/v1/collections/" + ada.collection + "/search-quality", map[string]any{"days": 30}, 404},

		"GET /api/v1/conversations":             {conversations + "?agent=" + ada.agent, nil, 200},
		"DELETE /api/v1/conversations":          {conversations + "?agent=" + ada.agent, nil, 204},
		"GET /api/v1/conversations/{id}":        {conversation, nil, 404},
		"PUT /api/v1/conversations/{id}":        {conversation, map[string]any{"title": "Mine"}, 404},
		"DELETE /api/v1/conversations/{id}":     {conversation, nil, 404},
		"GET /api/v1/conversations/{id}/export": {conversation + "/export?format=json", nil, 404},
		"GET /api/v1/usage":                     {"/api/v1/usage", nil, 200},
		"GET /api/v1/analytics/queries":         {"/api/v1/analytics/queries?collection=" + ada.collection + "&apiKey=" + ada.key, nil, 404},
		"PUT " + feedbackRoute:                  {feedback, map[string]any{"rating": "negative"}, 404},
		"DELETE " + feedbackRoute:               {feedback, nil, 404},
	}
}

const feedbackRoute = "/api/v1/conversations/{id}/messages/{messageId}/feedback"

// keyIntrusions has one case for each route of API keys and tokens.
func keyIntrusions(ada belongings) map[string]intrusion {
	const keys = "/api/v1/api-keys"
	key, reach := keys+"/"+ada.key, []string{ada.collection}
	return map[string]intrusion{
		"GET /api/v1/tokens":                {"/api/v1/tokens", nil, 200},
		"POST /api/v1/tokens":               {"/api/v1/tokens", map[string]any{"name": "Mine", "role": "viewer", "groups": []string{"search"}}, 201},
		"GET /api/v1/tokens/mine":           {"/api/v1/tokens/mine", nil, 200},
		"POST /api/v1/tokens/mine":          {"/api/v1/tokens/mine", map[string]any{"name": "Mine"}, 201},
		"DELETE /api/v1/tokens/{id}":        {"/api/v1/tokens/" + ada.minted, nil, 404},
		"GET /api/v1/api-keys":              {keys, nil, 200},
		"POST /api/v1/api-keys":             {keys, map[string]any{"name": "Mine", "allowedHosts": []string{"*"}, "allowedCollections": reach}, 404},
		"GET /api/v1/api-keys/{id}":         {key, nil, 404},
		"PUT /api/v1/api-keys/{id}":         {key, map[string]any{"name": "Mine", "allowedCollections": reach}, 404},
		"POST /api/v1/api-keys/{id}/rotate": {key + "/rotate", map[string]any{"overlapMinutes": 0}, 404},
		"DELETE /api/v1/api-keys/{id}":      {key, nil, 404},
	}
}

// sourceIntrusions has one case for each route of the ledger and of syncs.
func sourceIntrusions(ada belongings) map[string]intrusion {
	connector := "/api/v1/connectors/" + ada.connector
	job := connector + "/sync/" + ada.job
	return map[string]intrusion{
		"GET /api/v1/connectors/kinds":                                {"/api/v1/connectors/kinds", nil, 200},
		"POST /api/v1/connectors/{id}/refresh-permissions":            {connector + "/refresh-permissions", nil, 404},
		"GET /api/v1/connectors/{id}/sync":                            {connector + "/sync", nil, 404},
		"POST /api/v1/connectors/{id}/sync/{jobId}/cancel":            {job + "/cancel", nil, 404},
		"GET /api/v1/connectors/{id}/sync/{jobId}/items":              {job + "/items", nil, 404},
		"GET /api/v1/connectors/{id}/items":                           {connector + "/items", nil, 404},
		"POST /api/v1/connectors/{id}/items/retry":                    {connector + "/items/retry", map[string]any{"ids": []string{ada.item}}, 404},
		"POST /api/v1/connectors/{id}/items/{itemId}/allow":           {connector + "/items/" + ada.item + "/allow", nil, 404},
		"POST /api/v1/connectors/{id}/pause":                          {connector + "/pause", nil, 404},
		"POST /api/v1/connectors/{id}/resume":                         {connector + "/resume", nil, 404},
		"GET /api/v1/connectors/{id}/stats":                           {connector + "/stats", nil, 404},
		"POST /api/v1/connectors/{id}/plan":                           {connector + "/plan", nil, 404},
		"GET /api/v1/connectors/{id}/plan/{jobId}":                    {connector + "/plan/" + ada.plan, nil, 404},
		"GET /api/v1/connectors/{id}/plan/{jobId}/items":              {connector + "/plan/" + ada.plan + "/items", nil, 404},
		"GET /api/v1/connectors/{id}/quarantine":                      {connector + "/quarantine", nil, 404},
		"POST /api/v1/connectors/{id}/quarantine/approve":             {connector + "/quarantine/approve", nil, 404},
		"POST /api/v1/connectors/{id}/quarantine/dismiss":             {connector + "/quarantine/dismiss", nil, 404},
		"POST /api/v1/connectors/{id}/sync/{jobId}/restore":           {job + "/restore", nil, 404},
		"POST /api/v1/connectors/{id}/documents/{documentId}/restore": {connector + "/documents/" + ada.document + "/restore", nil, 404},
	}
}
