package stack_test

import (
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/viewer"
)

// join adds a person to the owner's workspace, and returns the service as that person
// sees it. The addresses of both are verified, as permissions of a source need.
func (s *service) join(mail string) *service {
	s.t.Helper()
	var me struct {
		Me struct{ Workspace struct{ ID uuid.UUID } }
	}
	s.graphql(&me, `{ me { workspace { id } } }`, nil)
	if _, err := s.app.Accounts.AddMember(s.t.Context(), me.Me.Workspace.ID, mail, "Bob", password, membership.RoleEditor); err != nil {
		s.t.Fatal(err)
	}
	system := viewer.With(s.t.Context(), viewer.System(uuid.Nil))
	if _, err := s.app.DB.Ent.User.Update().Where(user.EmailIn(email, mail)).SetEmailVerified(true).Save(system); err != nil {
		s.t.Fatal(err)
	}
	guest := *s
	guest.token = s.signIn(mail)
	return &guest
}

// compareSurfaces checks that the owner sees secret.md, about a narwhal that swims
// below the ice, on every surface, and a guest only shared.md, about a walrus that
// sleeps.
func (s *service) compareSurfaces(guest *service, collection, agent string) {
	s.t.Helper()
	for name, surface := range s.surfaces(collection, agent) {
		all, some := surface(s), surface(guest)
		if !strings.Contains(all, "narwhal") && !strings.Contains(all, "secret.md") {
			s.t.Errorf("%s: the owner does not see the secret: %.500s", name, all)
		}
		if strings.Contains(some, "swims below") || strings.Contains(some, "secret.md") {
			s.t.Errorf("%s: the guest sees the secret: %.500s", name, some)
		}
		if !strings.Contains(some, "walrus sleeps") && !strings.Contains(some, "shared.md") {
			s.t.Errorf("%s: the guest does not see the shared file: %.500s", name, some)
		}
	}
}

// surfaces are the ways on which people see documents about a narwhal and a walrus in
// winter. Each one returns what a person gets.
func (s *service) surfaces(collection, agent string) map[string]func(who *service) string {
	text := func(who *service, path string, body any, headers ...string) string {
		s.t.Helper()
		response := who.request(http.MethodPost, path, "application/json", encode(s.t, body), headers...)
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		return string(content)
	}
	return map[string]func(who *service) string{
		"search": func(who *service) string {
			return text(who, "/graphql", map[string]any{"query": `{ search(input: {query: "what is in the ice in winter", minScore: 0}) { results { title snippet } } }`})
		},
		"chat": func(who *service) string {
			return text(who, "/graphql", map[string]any{
				"query":     `subscription($c: ID!) { chat(input: {message: "What does the narwhal or the walrus do in winter?", collection: $c}) { ... on ChatContent { delta } ... on ChatSources { sources { title } } } }`,
				"variables": map[string]any{"c": collection},
			}, "Accept", "text/event-stream")
		},
		"documents": func(who *service) string {
			return text(who, "/graphql", map[string]any{"query": `{ documents(first: 50) { edges { node { title path content } } } }`})
		},
		"agents": func(who *service) string {
			return text(who, "/api/v1/agents/"+agent+"/execute/stream", map[string]any{"message": "What does the narwhal or the walrus do in winter?"})
		},
		"assistants": func(who *service) string {
			session, err := who.assistant("Authorization", "Bearer "+who.connected())
			if err != nil {
				s.t.Fatal(err)
			}
			found, _ := who.tool(session, "search", map[string]any{"query": "what is in the ice in winter", "min_score": 0}, nil)
			said, _ := who.tool(session, "ask", map[string]any{"question": "What does the narwhal or the walrus do in winter?", "collection": collection}, nil)
			return found + said
		},
	}
}
