package graph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/agents/approval"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/catalog"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/connectors/all"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/chat"
	chatanswer "github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/chat/conversation"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/collection/whynot"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	eventinbox "github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/provider"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/usage/quota"
	"github.com/magpie-search/magpie/internal/viewer"
)

// fakeQueue records the enqueued tasks.
type fakeQueue struct{ tasks chan queue.Task }

func (q *fakeQueue) Enqueue(_ context.Context, t queue.Task) error {
	q.tasks <- t
	return nil
}

// A fixture is the API with all domain packages, without workers.
type fixture struct {
	db       *store.DB
	redis    *redis.Client
	box      *secret.Box
	files    *sourcefile.Files
	models   *embed.Registry
	sources  connector.Options // of resolver.Connectors
	resolver *graph.Resolver
	queue    *fakeQueue
	server   http.Handler
	provider *authserver.Server // of newOpenFixture
	idp      *samlserver.Server // of newOpenFixture
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 8)
	must(err)
	t.Cleanup(db.Close)
	options, err := redis.ParseURL(testkit.Redis(t))
	must(err)
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	bus := syncjob.NewRedisBus(t.Context(), client, log)
	t.Cleanup(func() { _ = bus.Close() })
	q := &fakeQueue{tasks: make(chan queue.Task, 1000)}
	jobs := syncjob.New(db.Ent, q, bus, time.Now)
	t.Cleanup(jobs.Close)
	analyzer := analysis.New()
	embedders, err := embed.NewRegistry(embed.NewBuiltin())
	must(err)
	models, err := llm.NewModels()
	must(err)
	blobs, err := blob.NewDir(t.TempDir())
	must(err)
	documents := index.New(db.Pool, analyzer)
	files := sourcefile.New(db.Ent, blobs, func(ctx context.Context, scope viewer.Scope, ids []uuid.UUID) (int, error) {
		return documents.SoftDeleteIn(ctx, ent.TxFromContext(ctx).Client(), scope, ids)
	}, sourcefile.Options{})
	kinds, err := all.Registry(all.Deps{Files: files, Dial: httpx.NewGuard(nil).DialContext})
	must(err)
	box, err := secret.NewBox(map[string][]byte{"k1": bytes.Repeat([]byte{1}, 32)}, "k1")
	must(err)
	accounts, err := authn.NewAccounts(db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), nil)
	must(err)
	t.Cleanup(accounts.Close)
	engine := search.New(db.Pool, analyzer, embedders, search.Options{})
	t.Cleanup(engine.Close)
	talk := chat.New(db.Ent, engine, models, chat.Options{})
	t.Cleanup(talk.Close)
	answers := chatanswer.New(t.Context(), chatanswer.Options{Ent: db.Ent, Bus: journal.NewRedisBus(client, "magpie:answers", log), Log: log})
	t.Cleanup(answers.Close)
	news := docwatch.New(documents, docwatch.Options{Poll: 20 * time.Millisecond, Log: log})
	t.Cleanup(news.Close)
	summaries := summary.New(models, analyzer, log)
	runs, err := run.New(t.Context(), run.Options{
		Ent: db.Ent, Models: models, Bus: journal.NewRedisBus(client, "magpie:agentruns", log), Analyzer: analyzer, Log: log,
		Kit:   &tools.Kit{Ent: db.Ent, Search: engine, Texts: documents, Summaries: summaries, Now: time.Now},
		Queue: queue.NewAsynq(client), Secrets: box, Viewers: accounts.Member, Approvals: approval.New(approval.Options{Ent: db.Ent}),
	})
	must(err)
	t.Cleanup(runs.Close)
	keys := authn.NewKeys(db.Ent, nil)
	t.Cleanup(keys.Close)
	principals := principal.New(db.Pool, principal.Options{CacheFor: time.Nanosecond})
	t.Cleanup(principals.Close)
	queries := quota.New(t.Context(), db.Pool, quota.Options{Log: log})
	t.Cleanup(queries.Close)
	flows := oauth.NewFlows(db.Pool, box, nil)
	grants := oauth.New(db.Ent, oauth.Options{Flows: flows, Secrets: box, BaseURL: "https://magpie.example.com", Clients: map[string]oauth.Client{
		"google": {ID: "magpie", Secret: "s3cret"},
	}, Log: log})
	t.Cleanup(grants.Close)
	signOn := signon.New(db.Ent, db.Pool, flows, accounts, signon.Options{
		BaseURL: "https://magpie.example.com", Attempts: ratelimit.New(ratelimit.Options{}), Log: log,
	})
	integrations := toolStore(t, db, box, grants)
	agents := catalog.NewCatalog(db.Ent, catalog.Options{Models: func() []string { return []string{"large", "small"} }, Integrations: integrations})
	limiter := ratelimit.New(ratelimit.Options{})
	inbox := inbound.New(db.Pool, db.Ent, kinds, box, inbound.Options{BaseURL: "https://magpie.example.com"})
	received := eventinbox.New(eventinbox.Options{
		Ent: db.Ent, Pool: db.Pool, Providers: provider.All(provider.Deps{Dial: httpx.NewGuard(nil).DialContext}), Box: box, Queue: q,
		BaseURL: "https://magpie.example.com", Log: log,
	})
	databases := attached.New(attached.Options{Ent: db.Ent, Catalog: attached.NewCatalog(db.Pool, time.Now), Kinds: kinds, Secrets: box, Analyzer: analyzer, Log: log})
	automations := automation.NewStore(automation.Options{Ent: db.Ent, Box: box, Index: documents, Deliveries: []string{automation.Document}, Log: log})
	events := analytics.New(db.Pool, analytics.StoreOptions{})
	approvals := approval.New(approval.Options{Ent: db.Ent, Poll: 20 * time.Millisecond, Log: log})
	t.Cleanup(approvals.Close)
	h := &fixture{db: db, redis: client, box: box, queue: q, files: files, models: embedders, sources: connector.Options{
		Ent: db.Ent, Kinds: kinds, Vault: credential.NewVault(box), Grants: grants, Jobs: jobs, Files: files, Inbox: inbox,
		GroupsMaxAge: principal.MaxAge, Now: time.Now, Log: log,
	}}
	sources := connector.New(h.sources)
	h.resolver = &graph.Resolver{
		Ent: db.Ent, Accounts: accounts, Keys: keys, SignOn: signOn, SAML: signon.NewSAML(db.Ent, db.Pool, oauth.NewFlows(db.Pool, box, nil), accounts, signon.SAMLOptions{Attempts: limiter}),
		Applications: application.New(application.Options{
			Ent: db.Ent, Accounts: accounts, Flows: flows, Secrets: box, Attempts: limiter, Issuer: "https://magpie.example.com", Dashboard: "https://app.example.com",
		}),
		People: people.New(db.Ent, accounts, people.Options{Attempts: limiter, Uploads: files, Dashboard: "https://app.example.com"}),
		Collections: collection.New(collection.Options{
			Ent: db.Ent, Models: embedders, Index: documents, Connectors: sources, Attempts: queue.NewAsynq(client), Now: time.Now,
		}),
		Documents:  document.New(document.Options{Ent: db.Ent, Index: documents, Summaries: summaries, Principals: principals}),
		WhyNot:     whynot.New(whynot.Options{Ent: db.Ent, Search: engine, Principals: principals}),
		Connectors: sources, Kinds: kinds, Databases: databases, Grants: grants, Inbox: inbox, Events: received, Automations: automations, Integrations: integrations, Jobs: jobs, Index: documents, Search: engine, Chat: talk, Answers: answers,
		Conversations: conversation.New(conversation.Options{Ent: db.Ent, Analytics: events, Log: log}),
		Agents:        agents, Templates: template.NewStore(db.Ent, agents),
		Memories: memory.NewStore(db.Ent, embedders, memory.Options{Analyzer: analyzer}), Runs: runs, Approvals: approvals,
		Quality: traffic.New(traffic.Options{Pool: db.Pool, Search: engine, Analytics: events, MinScore: 0.5, Now: time.Now}),
		System: system.New(system.Options{
			Pool: db.Pool, Redis: client, Queue: queue.NewAsynq(client), Loaded: engine.Loaded, Now: time.Now,
			Models: []system.ConfiguredModel{{Kind: "embedding", Name: embedders.Default().Model()}},
		}),
		News: news, Principals: principals, Quota: queries, Analytics: events, Log: log, MinScore: 0.5, Now: time.Now,
	}
	server := graph.NewServer(h.resolver, graph.NewSchema(h.resolver), graph.Options{})
	addTransports(server)
	h.server = server
	return h
}

// changeConnectors changes the options of the resolver's connectors.
func (h *fixture) changeConnectors(change func(*connector.Options)) {
	change(&h.sources)
	h.resolver.Connectors = connector.New(h.sources)
}

func addTransports(server *handler.Server) {
	server.AddTransport(transport.SSE{})
	server.AddTransport(transport.MultipartForm{})
	server.AddTransport(transport.POST{})
}

// A tenant is a workspace with one row of every kind, and its owner.
type tenant struct {
	viewer                   viewer.Viewer
	collection, connector    uuid.UUID
	document, job, key, talk uuid.UUID
	passage                  uuid.UUID // of the document
	member, invitation       uuid.UUID
	agent, template, memory  uuid.UUID
	answer                   uuid.UUID
	message                  uuid.UUID // an answer in the talk
	grant                    uuid.UUID
	item                     uuid.UUID
	run                      uuid.UUID
	plan                     uuid.UUID
	integration, inbound     uuid.UUID // an inbound integration and an event of it
	automation, automated    uuid.UUID // an automation and a run of it
	tools, tool              uuid.UUID // an integration with tools and a tool of it
	database                 uuid.UUID // an attached database, for some tests
	token                    uuid.UUID // a personal one of the owner
	approval, allowed        uuid.UUID // a pending approval and a grant for an agent
	email                    string
}

const password = "correct horse battery"

func (h *fixture) tenant(t *testing.T, name string) *tenant {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	email := name + "@example.com"
	_, err := h.resolver.Accounts.CreateOwner(t.Context(), name, email, name, password)
	must(err)
	n := &tenant{viewer: h.signIn(t, email), email: email}
	ctx := viewer.With(t.Context(), n.viewer)
	c, err := h.db.Ent.Collection.Create().SetName("Docs of " + name).SetEmbeddingModel(h.models.Default().Model()).Save(ctx)
	must(err)
	connector, err := h.db.Ent.Connector.Create().SetName("Files").SetType("file_upload").SetCollectionID(c.ID).Save(ctx)
	must(err)
	n.collection, n.connector = c.ID, connector.ID
	n.document = h.put(t, n, "guide.md", "Guide of "+name, "The secret word of "+name+" is xylophone, and everything turns around the xylophone.")
	n.passage = h.passageOf(t, n, n.document)
	_, err = h.files.Upload(ctx, n.connector, sourcefile.Upload{Path: "guide.md", MediaType: "text/markdown", Content: strings.NewReader("x"), Size: 1})
	must(err)
	job, err := h.resolver.Jobs.Start(ctx, n.connector, syncjob.StartOptions{})
	must(err)
	key, err := h.resolver.Keys.Create(ctx, authn.KeyDraft{Name: "Site", Collections: []uuid.UUID{n.collection}, Hosts: []string{"*"}})
	must(err)
	talk, err := h.db.Ent.Conversation.Create().SetTitle("Talk of " + name).Save(ctx)
	must(err)
	item, err := h.db.Ent.SyncItem.Create().SetConnectorID(n.connector).SetJobID(job.ID).SetSourceID("guide.md").SetPath("guide.md of " + name).
		SetDocumentID(n.document).SetStatus("INDEXED").Save(ctx)
	must(err)
	n.member, err = h.db.Ent.Membership.Query().OnlyID(ctx)
	must(err)
	invited, err := h.resolver.People.Invite(ctx, "guest-of-"+name+"@example.com", membership.RoleEditor)
	must(err)
	n.invitation = invited.Row.ID
	h.furnishAgents(t, n, name)
	n.job, n.key, n.talk, n.item, n.answer = job.ID, key.Row.ID, talk.ID, item.ID, uuid.New()
	must(h.resolver.Answers.Start(ctx, chatanswer.Owner{Workspace: n.viewer.Workspace, Subject: n.viewer.Subject}, n.answer,
		func(ctx context.Context) (<-chan chat.Event, error) {
			events := make(chan chat.Event, 1)
			events <- chat.Content{Delta: "the answer of " + name}
			context.AfterFunc(ctx, func() { close(events) })
			return events, nil
		}))
	said, err := h.db.Ent.Message.Create().SetConversationID(talk.ID).SetRole(message.RoleAssistant).SetContent("An answer to " + name).Save(ctx)
	must(err)
	n.message = said.ID
	grant, err := h.db.Ent.OAuthGrant.Create().SetProvider("google").SetAccount(email).SetPersonID(n.viewer.Subject).SetTokens([]byte("sealed")).Save(ctx)
	must(err)
	n.grant = grant.ID
	ran, err := h.db.Ent.AgentRun.Create().SetAgentID(n.agent).SetConversationID(talk.ID).SetMessage("What is the word of " + name + "?").
		SetStatus(agentrun.StatusCompleted).Save(ctx)
	must(err)
	n.run = ran.ID
	plan, err := h.db.Ent.SyncJob.Create().SetConnectorID(n.connector).SetMode("PLAN").SetPlannedMode("AUTO").SetStatus("COMPLETED").Save(ctx)
	must(err)
	n.plan = plan.ID
	n.integration = anIntegration(t, h, n)
	n.inbound = anEvent(t, h, n)
	n.token = aToken(t, h, n, n.viewer)
	n.automation = anAutomation(t, h, n)
	n.automated = aRun(t, h, n)
	n.tools = aToolIntegration(t, h, n)
	n.tool = aTool(t, h, n)
	n.approval, n.allowed = anApproval(t, h, n), aToolGrant(t, h, n, uuid.Nil)
	must(h.db.Ent.PlanItem.Create().SetConnectorID(n.connector).SetJobID(plan.ID).SetSourceID("guide.md").SetPath("guide.md of " + name).SetAction("UNCHANGED").Exec(ctx))
	return n
}

// put indexes a document of one passage.
// passageOf returns the first passage of a document.
func (h *fixture) passageOf(t *testing.T, n *tenant, document uuid.UUID) uuid.UUID {
	t.Helper()
	system := viewer.System(n.viewer.Workspace)
	scope, err := system.Scope()
	if err != nil {
		t.Fatal(err)
	}
	passages, err := h.resolver.Index.Passages(viewer.With(t.Context(), system), scope, []uuid.UUID{document}, index.PassageRange{After: -1, First: 1})
	if err != nil || len(passages[document]) != 1 {
		t.Fatalf("passages of %s: %v, %v", document, passages, err)
	}
	return passages[document][0].ID
}

func (h *fixture) put(t *testing.T, n *tenant, path, title, text string) uuid.UUID {
	t.Helper()
	scope, err := viewer.System(n.viewer.Workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := h.models.Default().Embed(t.Context(), []string{title + "\n" + text}, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	made, err := h.resolver.Index.Put(t.Context(), scope, index.Fence{}, &index.Record{
		Connector: n.connector, Collection: n.collection, SourceID: path, Path: path, Title: title, Text: text,
		Language: "en", Hash: []byte(path), Passages: []passage.Passage{{Text: text, End: len(text)}},
		Vectors: vectors, Model: h.models.Default().Model(), Bytes: int64(len(text)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Document
}

func (h *fixture) signIn(t *testing.T, email string) viewer.Viewer {
	t.Helper()
	tokens, err := h.resolver.Accounts.SignIn(t.Context(), email, password)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.resolver.Accounts.Authenticate(t.Context(), tokens.Access)
	if err != nil {
		t.Fatal(err)
	}
	v.Surface = viewer.SurfaceDashboard
	return v
}

// member adds a person with a role and signs them in.
func (h *fixture) member(t *testing.T, n *tenant, email string, role membership.Role) viewer.Viewer {
	t.Helper()
	if _, err := h.resolver.Accounts.AddMember(t.Context(), n.viewer.Workspace, email, "", password, role); err != nil {
		t.Fatal(err)
	}
	return h.signIn(t, email)
}

// An answer is the response of an operation.
type answer struct {
	Data   map[string]any
	Errors []struct {
		Message    string
		Extensions map[string]any
	}
	body string
}

func (a answer) code() string {
	if len(a.Errors) == 0 {
		return ""
	}
	code, _ := a.Errors[0].Extensions["code"].(string)
	return code
}

// at returns the value at a path of the data.
func (a answer) at(path string) any {
	var v any = a.Data
	for key := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

// ask runs an operation as v. The zero viewer is a caller without credentials.
func (h *fixture) ask(t *testing.T, v viewer.Viewer, query string, variables map[string]any) answer {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	stream := strings.HasPrefix(strings.TrimSpace(query), "subscription")
	if stream {
		r.Header.Set("Accept", "text/event-stream")
	}
	if v.Kind != "" {
		r = r.WithContext(viewer.With(r.Context(), v))
	}
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{body: string(text)}
	if stream {
		return h.streamed(t, a)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return a
}

// streamed returns the last event of a stream as the answer.
func (h *fixture) streamed(t *testing.T, a answer) answer {
	t.Helper()
	for line := range strings.Lines(a.body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			last := answer{body: a.body}
			if err := json.Unmarshal([]byte(data), &last); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			a = last
		}
	}
	return a
}
