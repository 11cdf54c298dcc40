package wire

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/magpie-search/magpie/agents/approval"
	approvalslack "github.com/magpie-search/magpie/agents/approval/slack"
	"github.com/magpie-search/magpie/agents/automation"
	"github.com/magpie-search/magpie/agents/catalog"
	toolstore "github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/agents/run"
	"github.com/magpie-search/magpie/agents/slackapi"
	"github.com/magpie-search/magpie/agents/template"
	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/cmd/magpie/metrics"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/all"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/chat/answer"
	"github.com/magpie-search/magpie/internal/chat/conversation"
	"github.com/magpie-search/magpie/internal/chat/summary"
	"github.com/magpie-search/magpie/internal/collection"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/collection/whynot"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/access"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/connector/inbound"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/connector/throttle"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/event/inbox"
	"github.com/magpie-search/magpie/internal/event/provider"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/identity/application"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/live/docwatch"
	"github.com/magpie-search/magpie/internal/live/journal"
	"github.com/magpie-search/magpie/internal/mailer"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/fingerprint"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/tracing/export"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/usage/quota"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest"
	"github.com/magpie-search/magpie/rest/mcp"
)

// App has the connected parts of a process.
type App struct {
	Config     *config.Config
	Log        *slog.Logger
	Metrics    *metrics.Metrics
	DB         *store.DB
	Readers    *replica.Readers // of the database and its replicas
	Redis      redis.UniversalClient
	Accounts   *authn.Accounts
	People     *people.People
	Keys       *authn.Keys
	Quota      *quota.Quota
	Secrets    *secret.Box
	Kinds      *connectors.Registry
	Files      *sourcefile.Files
	Principals *principal.Store // the group memberships of the sources
	Index      *index.Store
	Parser     *parse.Parser
	Models     *embed.Registry
	// Fingerprints notices models that give other vectors than before.
	Fingerprints *fingerprint.Fingerprints
	Search       *search.Engine
	// Engine is the search engine of ENGINE_URL; nil without one.
	Engine    engine.Backend
	Chat      *chat.Chat
	Approvals *approval.Store
	Slack     *approvalslack.App // posts approvals
	slackAPI  *slackapi.Client
	mailAPI   *mailer.API
	Runs      *run.Runs
	Queries   *analytics.Log
	Queue     *queue.Asynq
	Bus       *syncjob.RedisBus
	Jobs      *syncjob.Jobs
	Grants    *oauth.Grants
	Limiters  *throttle.Limiters
	SignOn    *signon.SignOn
	// SAML signs people in by a SAML identity provider.
	SAML *signon.SAML
	// Directory lets directories manage people by SCIM.
	Directory *people.Directory
	// Applications are the programs that people connect.
	Applications *application.Server
	Inbox        *inbound.Inbox
	Events       *inbox.Inbox // of inbound integrations
	Automations  *automation.Store
	Integrations *toolstore.Store // with tools of agents
	Collections  *collection.Collections

	guard     *httpx.Guard
	guarded   []system.ConfiguredModel
	mailer    *mailer.Mailer // nil without SMTP_URL
	analytics *analytics.Store
	failures  *audit.SignIns
	schema    graphql.ExecutableSchema
	resolver  *graph.Resolver
	limiter   *ratelimit.Limiter
	clock     *store.Clock     // the clock of the database
	traces    *export.Exporter // nil without a collector
	closers   []func() error
}

// Open connects to the stores of the settings and creates all parts. The error of
// an unsupported schema is a *store.Mismatch. Redis may be unavailable: some parts
// have a fallback, others fail until Redis is available. The caller must close the
// App.
func Open(ctx context.Context, c *config.Config, log *slog.Logger) (*App, error) {
	a := &App{Config: c, Log: log, Metrics: metrics.New(system.Version())}
	if err := a.openTraces(ctx); err != nil {
		return nil, err
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open(ctx context.Context) error {
	if err := a.openStores(ctx); err != nil {
		return err
	}
	if err := a.openAccess(); err != nil {
		return err
	}
	analyzer := analysis.New()
	a.Index = index.New(a.DB.Pool, analyzer)
	a.Principals = principal.New(a.DB.Pool, principal.Options{MaxAge: a.Config.GroupsMaxAge, RefreshInterval: a.Config.GroupsRefresh})
	a.closers = append(a.closers, func() error { a.Principals.Close(); return nil })
	parser, err := Parser(a.Config)
	if err != nil {
		return err
	}
	a.Parser = parser
	a.closers = append(a.closers, a.Parser.Close)
	blobs, err := a.openBlobs(ctx)
	if err != nil {
		return err
	}
	a.Files = sourcefile.New(a.DB.Ent, blobs, a.deleteDocuments, sourcefile.Options{MaxBytes: int64(a.Config.UploadLimit), Log: a.Log})
	guard := httpx.NewGuard(a.Config.AllowedPrivateNetworks)
	a.guard = guard
	if a.Kinds, err = all.Registry(all.Deps{Files: a.Files, Dial: guard.DialContext}); err != nil {
		return fmt.Errorf("register connectors: %w", err)
	}
	models, err := a.models()
	if err != nil {
		return err
	}
	a.Keys = authn.NewKeys(a.DB.Ent, a.clock.Now, authn.WithKeyLog(a.Log), authn.WithChatModels(models.Names()))
	a.closers = append(a.closers, func() error { a.Keys.Close(); return nil })
	a.Quota = quota.New(ctx, a.DB.Pool, quota.Options{Limit: a.Config.QueryLimit, Now: a.now, Log: a.Log})
	a.closers = append(a.closers, func() error { a.Quota.Close(); return nil })
	budget := int64(a.Config.SearchMemory)
	if budget == 0 {
		budget = -1
	}
	if err := a.openSearchEngine(ctx); err != nil {
		return err
	}
	a.openQueryLog(ctx) // closed after its writers
	options := search.Options{Log: a.Log, Readers: a.Readers, Memory: budget, Questions: embed.QuestionOptions{Timeout: a.Config.EmbeddingQueryTimeout}}
	if a.Config.RerankBaseURL != "" || a.Config.RerankProvider != "" {
		if options.Reranker, err = a.newReranker(); err != nil {
			return err
		}
	}
	options.Distributed = a.distributedTier()
	a.Search = search.New(a.DB.Pool, analyzer, a.Models, options)
	a.closers = append(a.closers, func() error { a.Search.Close(); return nil })
	a.Chat = chat.New(a.DB.Ent, a.Search, models, chat.Options{Log: a.Log, Analyzer: analyzer, Now: a.now})
	a.closers = append(a.closers, func() error { a.Chat.Close(); return nil })
	summaries := summary.New(models, analyzer, a.Log)
	databases := a.databases(analyzer)
	kit := &tools.Kit{Ent: a.DB.Ent, Search: a.Search, Texts: a.Index, Summaries: summaries, Databases: databases, Now: a.now}
	a.openGrants()
	if a.Integrations, err = a.integrations(guard); err != nil {
		return err
	}
	agents := catalog.NewCatalog(a.DB.Ent, catalog.Options{Models: models.Names, Parameters: kit.Parameters, Integrations: a.Integrations})
	memories := memory.NewStore(a.DB.Ent, a.Models, memory.Options{Analyzer: analyzer, Now: a.now, Log: a.Log})
	a.Queue = queue.NewAsynq(a.Redis)
	if err := a.openAutomations(); err != nil {
		return err
	}
	a.Approvals = approval.New(approval.Options{
		Ent: a.DB.Ent, Now: a.now, Log: a.Log, Validate: a.checkArguments, Resume: func(ctx context.Context, id uuid.UUID) { a.Runs.Resume(ctx, id) },
	})
	a.closers = append(a.closers, func() error { a.Approvals.Close(); return nil })
	a.Runs, err = run.New(ctx, run.Options{
		Ent: a.DB.Ent, Models: models, Bus: journal.NewRedisBus(a.Redis, "magpie:agentruns", a.Log), Analyzer: analyzer, Log: a.Log, Now: a.now,
		Kit: kit, Memories: memories, Queue: a.Queue, Secrets: a.Secrets, Viewers: a.Accounts.Member, Approvals: a.Approvals, Integrations: a.Integrations, Oversight: a.Automations.Oversight,
		HeartbeatTimeout: a.Config.WorkerLostAfter,
	})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, func() error { a.Runs.Close(); return nil })
	answers := answer.New(ctx, answer.Options{Ent: a.DB.Ent, Bus: journal.NewRedisBus(a.Redis, "magpie:answers", a.Log), LostAfter: a.Config.WorkerLostAfter, Log: a.Log})
	a.closers = append(a.closers, func() error { answers.Close(); return nil })
	news := docwatch.New(a.Index, docwatch.Options{Log: a.Log})
	a.closers = append(a.closers, func() error { news.Close(); return nil })
	a.Bus = syncjob.NewRedisBus(ctx, a.Redis, a.Log)
	a.closers = append(a.closers, a.Bus.Close)
	a.Jobs = syncjob.New(a.DB.Ent, a.Queue, a.Bus, a.now, syncjob.WithLog(a.Log), syncjob.WithEnded(a.Metrics.JobEnded), syncjob.WithTracer(a.Tracer()))
	a.closers = append(a.closers, func() error { a.Jobs.Close(); return nil })
	a.failures = audit.NewSignIns(ctx, a.DB.Ent, a.Log)
	a.closers = append(a.closers, func() error { a.failures.Close(); return nil })
	a.People = people.New(a.DB.Ent, a.Accounts, people.Options{
		SignUp: a.Config.SignUp, InvitationLifetime: a.Config.InvitationLifetime.Duration(), Dashboard: a.Config.DashboardAddress(),
		Attempts: a.limiter, Uploads: a.Files, SignIns: a.failures, Now: a.now, Log: a.Log,
	})
	a.openSignOn()
	a.Directory = a.newDirectory()
	a.Inbox = inbound.New(a.DB.Pool, a.DB.Ent, a.Kinds, a.Secrets, inbound.Options{BaseURL: a.Config.PublicURL(), Now: a.now, Log: a.Log})
	a.mailAPI = mailer.NewAPI(mailer.APIOptions{Dial: guard.DialContext, Now: a.now})
	a.slackAPI = slackapi.New(slackapi.Options{Dial: guard.DialContext})
	a.Slack = approvalslack.New(approvalslack.Options{
		Ent: a.DB.Ent, Store: a.Approvals, API: a.slackAPI, Dashboard: a.Config.DashboardAddress(), Now: a.now, Log: a.Log,
	})
	a.Events = inbox.New(inbox.Options{
		Ent: a.DB.Ent, Pool: a.DB.Pool, Providers: append(provider.All(provider.Deps{Dial: guard.DialContext, Now: a.now}), a.Slack.Provider()),
		Box: a.Secrets, Queue: a.Queue, BaseURL: a.Config.PublicURL(), LostAfter: a.Config.WorkerLostAfter, Now: a.now, Log: a.Log,
	})
	a.Slack.Use(a.Events)
	a.Limiters = throttle.New(throttle.Options{Redis: a.Redis, Salt: a.throttleSalt(), Log: a.Log})
	sources := connector.New(connector.Options{
		Ent: a.DB.Ent, Kinds: a.Kinds, Vault: credential.NewVault(a.Secrets), Grants: a.Grants, Jobs: a.Jobs, Files: a.Files, Inbox: a.Inbox,
		Limiters: a.Limiters, GroupsMaxAge: a.Principals.MaxAge(), Now: a.now, Log: a.Log,
	})
	verifier := access.New(access.Options{
		Ent: a.DB.Ent, Kinds: a.Kinds, Vault: credential.NewVault(a.Secrets), Limiters: a.Limiters, Token: a.Grants.TokenSource, Now: a.now, Log: a.Log,
	})
	a.closers = append(a.closers, func() error { verifier.Close(); return nil })
	a.Principals.Use(verifier)
	limits := a.restLimits()
	a.Collections = collection.New(collection.Options{Ent: a.DB.Ent, Models: a.Models, Index: a.Index, Connectors: sources, Attempts: a.Queue, Probe: a.Fingerprints.Probe, QuoteServices: a.Config.SignUp != "open", Now: a.now})
	a.resolver = &graph.Resolver{
		Ent: a.DB.Ent, Accounts: a.Accounts, People: a.People, Keys: a.Keys, SignOn: a.SignOn,
		Collections: a.Collections,
		Documents:   document.New(document.Options{Ent: a.DB.Ent, Index: a.Index, Summaries: summaries, Principals: a.Principals}),
		SAML:        a.SAML, Applications: a.Applications,
		WhyNot:     whynot.New(whynot.Options{Ent: a.DB.Ent, Search: a.Search, Principals: a.Principals}),
		Connectors: sources, Kinds: a.Kinds, Databases: databases, Grants: a.Grants, Inbox: a.Inbox, Events: a.Events, Automations: a.Automations, Integrations: a.Integrations, Jobs: a.Jobs, Index: a.Index, Search: a.Search,
		Chat: a.Chat, Answers: answers,
		Conversations: conversation.New(conversation.Options{Ent: a.DB.Ent, Analytics: a.analytics, Log: a.Log}),
		Agents:        agents, Templates: template.NewStore(a.DB.Ent, agents), Memories: memories, Approvals: a.Approvals, Runs: a.Runs,
		Quality: traffic.New(traffic.Options{Pool: a.DB.Pool, Search: a.Search, Analytics: a.analytics, MinScore: a.Config.DefaultMinScore, Now: a.now}),
		System:  a.system(),
		News:    news, Principals: a.Principals, Quota: a.Quota, Analytics: a.analytics, Queries: a.Queries,
		Limits: model.Limits{UploadFileBytes: limits.File, UploadRequestBytes: limits.Upload, UploadFiles: limits.Files},
		Lists: func(ctx context.Context, read func(context.Context) error) error {
			return store.ReadCurrent(ctx, a.Readers, read)
		},
		Log: a.Log, MinScore: a.Config.DefaultMinScore, Now: a.now,
	}
	a.schema = graph.NewSchema(a.resolver)
	return nil
}

// databases returns the databases that connectors attach for agents.
func (a *App) databases(analyzer *analysis.Analyzer) *attached.Databases {
	builtin := embed.NewBuiltin()
	return attached.New(attached.Options{
		Ent: a.DB.Ent, Catalog: attached.NewCatalog(a.DB.Pool, a.now), Kinds: a.Kinds, Secrets: a.Secrets, Analyzer: analyzer, Log: a.Log,
		Embed: func(ctx context.Context, texts []string, query bool) ([][]float32, error) {
			purpose := embed.Passage
			if query {
				purpose = embed.Query
			}
			return builtin.Embed(ctx, texts, purpose)
		},
	})
}

// Warm loads the recently searched collections into memory, the latest first, up to
// SEARCH_MEMORY; none without SEARCH_PRELOAD. Failures are only logged, since searches
// load their collections.
func (a *App) Warm(ctx context.Context) {
	if !a.Config.SearchPreload {
		return
	}
	scopes, err := a.analytics.RecentScopes(ctx)
	if err == nil {
		err = a.Search.Warm(ctx, scopes)
	}
	if err != nil && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "preloading collections failed", slog.Any("error", err))
	}
}

// openQueryLog starts the query log and its statistics.
func (a *App) openQueryLog(ctx context.Context) {
	mode := analytics.Mode(a.Config.QueryLog)
	a.analytics = analytics.New(a.DB.Pool, analytics.StoreOptions{Mode: mode, Retention: a.Config.QueryLogRetention.Duration(), Now: a.now})
	a.Queries = analytics.NewLog(ctx, a.DB.Pool, analytics.LogOptions{Mode: mode, Log: a.Log})
	a.closers = append(a.closers, func() error { a.Queries.Close(); return nil })
}

func (a *App) openStores(ctx context.Context) (err error) {
	if a.DB, err = store.Open(ctx, a.Config.DatabaseURL.Reveal(), int32(a.Config.DatabaseMaxConnections)); err != nil { //nolint:gosec // the settings limit it
		return databaseError{err}
	}
	a.closers = append(a.closers, func() error { a.DB.Close(); return nil })
	if err := a.DB.CheckSchema(ctx); err != nil {
		return databaseError{fmt.Errorf("check the schema: %w", err)}
	}
	if a.Readers, err = a.DB.Readers(ctx, a.Config.ReadURLs(), int32(a.Config.DatabaseMaxConnections), a.Log); err != nil { //nolint:gosec // the settings limit it
		return databaseError{err}
	}
	a.closers = append(a.closers, func() error { a.Readers.Close(); return nil })
	if a.clock, err = store.NewClock(ctx, a.DB.Pool, store.ClockOptions{Log: a.Log}); err != nil {
		return databaseError{err}
	}
	a.closers = append(a.closers, func() error { a.clock.Close(); return nil })
	if a.Redis, err = Redis(a.Config.RedisURL.Reveal()); err != nil {
		return err
	}
	a.closers = append(a.closers, a.Redis.Close)
	return a.checkRedis(ctx)
}

// now returns the time of the database's clock with the precision of its columns.
func (a *App) now() time.Time { return a.clock.Now().Truncate(time.Microsecond) }

// openAccess creates authentication and encryption of secrets.
func (a *App) openAccess() (err error) {
	signing := a.Config.SigningKeys()
	if len(signing) == 0 {
		// A process without a server signs no sessions.
		signing = [][]byte{make([]byte, 32)}
		_, _ = rand.Read(signing[0]) // documented never to fail
	}
	a.limiter = ratelimit.New(ratelimit.Options{Redis: a.Redis, Log: a.Log})
	if a.Accounts, err = authn.NewAccounts(a.DB.Ent, authn.NewPasswords(), signing[0], a.clock.Now, authn.WithOlderKeys(signing[1:]),
		authn.WithAccountLog(a.Log), authn.WithTokenLimit(a.limiter, a.Config.TokenRateLimit)); err != nil {
		return fmt.Errorf("SESSION_KEY: %w", err)
	}
	a.closers = append(a.closers, func() error { a.Accounts.Close(); return nil })
	keys, current, err := a.Config.SealingKeys()
	if err != nil {
		return fmt.Errorf("SECRET_KEYS: %w", err)
	}
	if a.Secrets, err = secret.NewBox(keys, current); err != nil {
		return fmt.Errorf("SECRET_KEYS: %w", err)
	}
	return nil
}

// throttleSalt returns the same salt in all processes that have the same keys.
func (a *App) throttleSalt() []byte {
	keys, current, err := a.Config.SealingKeys()
	if err != nil {
		return nil // openAccess has returned the error
	}
	salt := sha256.Sum256(append([]byte("magpie pace "), keys[current]...))
	return salt[:]
}

func (a *App) openBlobs(ctx context.Context) (blob.Store, error) {
	blobs, err := blob.Open(ctx, a.Config.BlobURL, blob.Credentials{
		AccessKeyID: a.Config.BlobAccessKeyID, SecretAccessKey: a.Config.BlobSecretAccessKey.Reveal(),
	})
	if err != nil {
		return nil, fmt.Errorf("BLOB_URL: %w", err)
	}
	if closer, ok := blobs.(io.Closer); ok {
		a.closers = append(a.closers, closer.Close)
	}
	return blob.Traced(blobs), nil
}

func (a *App) deleteDocuments(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (int, error) {
	return a.Index.SoftDeleteIn(ctx, transaction.Client(ctx, a.DB.Ent), scope, documents)
}

// GraphQL returns a server of the schema. The caller must add transports.
func (a *App) GraphQL() *handler.Server {
	return graph.NewServer(a.resolver, a.schema, graph.Options{})
}

// REST returns the options of the REST transport.
func (a *App) REST() rest.Options {
	c := a.Config
	return rest.Options{
		Schema: a.schema.Schema(), Keys: a.Keys, Sessions: a.Accounts,
		Leaks: a.Keys, Limiter: a.limiter, AllowReplays: !c.RefuseReplays, Now: a.now, Secure: strings.HasPrefix(c.PublicURL(), "https://"), PublicURL: c.PublicURL(),
		Limits:         a.restLimits(),
		TrustedProxies: c.TrustedProxies, Origins: c.DashboardOrigins, Log: a.Log,
	}
}

func (a *App) restLimits() rest.Limits {
	c := a.Config
	return rest.Limits{
		File: int64(c.UploadLimit), Publishable: unlimitedWhenZero(c.PublishableRateLimit), Secret: unlimitedWhenZero(c.SecretRateLimit),
	}.WithDefaults()
}

// MCP returns the options of the transport of the Model Context Protocol.
func (a *App) MCP(keys mcp.Keys, metadata, version string) mcp.Options {
	return mcp.Options{
		Schema: a.schema.Schema(), Keys: keys, Applications: a.Applications, URL: a.Config.PublicURL(), Metadata: metadata, Version: version,
		RunAgents: a.Config.MCPRunAgents, DatabaseTools: a.Config.MCPDatabaseTools, Log: a.Log,
	}
}

// Webhooks returns the options of the webhook handler.
func (a *App) Webhooks() rest.WebhookOptions {
	return rest.WebhookOptions{
		Inbox: a.Inbox, Events: a.Events, Approvals: a.Slack, BaseURL: a.Config.PublicURL(), Limiter: a.limiter, TrustedProxies: a.Config.TrustedProxies, Log: a.Log,
	}
}

// unlimitedWhenZero converts "no limit" from 0 in settings to -1 in rest.Limits.
func unlimitedWhenZero(perMinute int) int {
	if perMinute == 0 {
		return -1
	}
	return perMinute
}

// Close closes all parts in reverse order.
func (a *App) Close() error {
	var failures []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		failures = append(failures, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(failures...)
}
