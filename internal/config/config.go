package config

import (
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Config has every setting of a process. The tag of a field is its name in the
// environment and in the settings file.
type Config struct {
	// DatabaseURL is the PostgreSQL database with the login of the application.
	DatabaseURL Secret `env:"DATABASE_URL"`
	// MigrateDatabaseURL is the database with the login of the schema owner; DatabaseURL when empty.
	MigrateDatabaseURL Secret `env:"MIGRATE_DATABASE_URL"`
	// DatabaseReadURL are streaming replicas of the database, comma separated, with the login of the application; empty
	// reads all from DatabaseURL.
	DatabaseReadURL Secret `env:"DATABASE_READ_URL"`
	// DatabaseMaxConnections bounds the connections of a process; 0 is the default of the driver.
	DatabaseMaxConnections int `env:"DATABASE_MAX_CONNECTIONS" envDefault:"0"`
	// EngineURL are all nodes of a search engine for collections that outgrow PostgreSQL; empty for none. EngineAPIKey is
	// the key that it asks for.
	EngineURL    []string `env:"ENGINE_URL"`
	EngineAPIKey Secret   `env:"ENGINE_API_KEY"`
	// RedisURL is one server, a Sentinel group or a Cluster.
	RedisURL Secret `env:"REDIS_URL"`

	// ListenAddr is the host:port of the HTTP server.
	ListenAddr string `env:"LISTEN_ADDR" envDefault:"127.0.0.1:8080"`
	// WorkerListenAddr is the host:port at which a worker serves health and metrics; empty for nowhere.
	WorkerListenAddr string `env:"WORKER_LISTEN_ADDR"`
	// PprofAddr is the host:port at which profiles of the process are served; empty for nowhere. Without a host it
	// is the loopback interface.
	PprofAddr string `env:"PPROF_ADDR"`
	// BaseURL is the address of the service for clients; http:// and ListenAddr when empty.
	BaseURL string `env:"BASE_URL"`
	// DashboardURL is the address of the front end in links to people; BaseURL when empty.
	DashboardURL string `env:"DASHBOARD_URL"`
	// DashboardOrigins are the origins that may call /graphql and /api/v1 from a browser: https://app.example.com, or
	// http://localhost:* with any port.
	DashboardOrigins []string `env:"DASHBOARD_ORIGINS"`
	// TrustedProxies are the reverse proxies whose X-Forwarded-For is used.
	TrustedProxies Networks `env:"TRUSTED_PROXIES"`
	// MetricsNetworks are the networks that may read /metrics.
	MetricsNetworks Networks `env:"METRICS_NETWORKS" envDefault:"127.0.0.0/8,::1"`
	// DrainTime is the time that a stopping server serves as not ready, so that load balancers stop sending requests.
	DrainTime time.Duration `env:"DRAIN_TIME" envDefault:"10s"`
	// ShutdownTimeout is the time for running requests and jobs to end.
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"30s"`

	// BlobURL is the store of uploaded files: file:///folder or s3://bucket/prefix?endpoint=…&region=….
	BlobURL string `env:"BLOB_URL"`
	// BlobAccessKeyID and BlobSecretAccessKey sign the requests to an s3 blob store.
	BlobAccessKeyID     string `env:"BLOB_ACCESS_KEY_ID"`
	BlobSecretAccessKey Secret `env:"BLOB_SECRET_ACCESS_KEY"`
	// UploadLimit bounds one uploaded file.
	UploadLimit Bytes `env:"UPLOAD_LIMIT" envDefault:"100MiB"`

	// BackupDatabaseURL is the database with a login that sees all rows; OwnerURL when empty.
	BackupDatabaseURL Secret `env:"BACKUP_DATABASE_URL"`
	// BackupURL is where backups go: a folder, file:///folder or s3://bucket/prefix.
	BackupURL string `env:"BACKUP_URL"`
	// BackupAccessKeyID and BackupSecretAccessKey sign the requests to an s3 store of backups; those of the blob
	// store when empty.
	BackupAccessKeyID     string `env:"BACKUP_ACCESS_KEY_ID"`
	BackupSecretAccessKey Secret `env:"BACKUP_SECRET_ACCESS_KEY"`
	// BackupRecipients are the public keys of age for which backups are encrypted. BackupPassphraseFile is a file
	// with a passphrase instead.
	BackupRecipients     []string `env:"BACKUP_RECIPIENTS"`
	BackupPassphraseFile string   `env:"BACKUP_PASSPHRASE_FILE"`
	// BackupKeep is the number of backups that stay; 0 keeps all.
	BackupKeep int `env:"BACKUP_KEEP" envDefault:"0"`

	// SessionKey signs session tokens: base64 of at least 32 bytes, the same on every node. Further ones after commas
	// verify older tokens.
	SessionKey Secret `env:"SESSION_KEY"`
	// SignUp says who may create a workspace: first (while there is no person), open (everybody) or off.
	SignUp string `env:"SIGN_UP" envDefault:"first"`
	// InvitationLifetime is the lifetime of an invitation.
	InvitationLifetime Days `env:"INVITATION_LIFETIME" envDefault:"7d"`
	// SecretKeys seal stored credentials: id:base64 of 32 bytes, comma separated, the current one first.
	SecretKeys Secret `env:"SECRET_KEYS"`
	// AllowedPrivateNetworks are private networks that users may choose addresses in.
	AllowedPrivateNetworks Networks `env:"ALLOWED_PRIVATE_NETWORKS"`

	// OIDCIssuer is the OpenID provider for sign-in; empty is none.
	OIDCIssuer       string `env:"OIDC_ISSUER"`
	OIDCClientID     string `env:"OIDC_CLIENT_ID"`
	OIDCClientSecret Secret `env:"OIDC_CLIENT_SECRET"`
	// OIDCName is the name of the provider on a button; the host of the issuer when empty.
	OIDCName   string   `env:"OIDC_NAME"`
	OIDCScopes []string `env:"OIDC_SCOPES" envDefault:"openid,email,profile"`
	// OIDCAutoJoin are the domains of email addresses that may join the workspace
	// OIDCAutoJoinWorkspace, a UUID, without an invitation.
	OIDCAutoJoin          []string `env:"OIDC_AUTO_JOIN"`
	OIDCAutoJoinWorkspace string   `env:"OIDC_AUTO_JOIN_WORKSPACE"`
	OIDCAutoJoinRole      string   `env:"OIDC_AUTO_JOIN_ROLE" envDefault:"viewer"`
	// SAMLMetadataURL or SAMLMetadataFile has the metadata of the SAML identity provider for sign-in; both empty is none.
	SAMLMetadataURL  string `env:"SAML_METADATA_URL"`
	SAMLMetadataFile string `env:"SAML_METADATA_FILE"`
	// SAMLEntityID identifies this service at the provider; the address of its metadata when empty.
	SAMLEntityID string `env:"SAML_ENTITY_ID"`
	SAMLName     string `env:"SAML_NAME"`
	// SAMLCertificate and SAMLKey are PEM, or the paths of PEM files. They sign requests and decrypt assertions.
	SAMLCertificate string `env:"SAML_CERTIFICATE"`
	SAMLKey         Secret `env:"SAML_KEY"`
	// The names of the attributes with the address, the name and the groups of a person; those of the usual providers
	// when empty.
	SAMLEmailAttribute  string `env:"SAML_EMAIL_ATTRIBUTE"`
	SAMLNameAttribute   string `env:"SAML_NAME_ATTRIBUTE"`
	SAMLGroupsAttribute string `env:"SAML_GROUPS_ATTRIBUTE"`
	// SAMLAutoJoin, SAMLAutoJoinWorkspace and SAMLAutoJoinRole are as those of OpenID. SAMLRoleGroups gives people of a
	// group another role when they join: admin:Search admins,editor:Authors.
	SAMLAutoJoin          []string `env:"SAML_AUTO_JOIN"`
	SAMLAutoJoinWorkspace string   `env:"SAML_AUTO_JOIN_WORKSPACE"`
	SAMLAutoJoinRole      string   `env:"SAML_AUTO_JOIN_ROLE" envDefault:"viewer"`
	SAMLRoleGroups        []string `env:"SAML_ROLE_GROUPS"`
	// SCIMDefaultRole is the role of people whom a directory makes. SCIMRoleGroups gives the people of its groups other
	// roles, as SAMLRoleGroups.
	SCIMDefaultRole string   `env:"SCIM_DEFAULT_ROLE" envDefault:"viewer"`
	SCIMRoleGroups  []string `env:"SCIM_ROLE_GROUPS"`
	// OAuthClients are the OAuth clients of connectors by service. Load fills it.
	OAuthClients map[string]OAuthClient `env:"-"`

	// EmbeddingBaseURL is an OpenAI-compatible service, /v1 included; empty uses the builtin embedder.
	EmbeddingBaseURL string `env:"EMBEDDING_BASE_URL"`
	EmbeddingAPIKey  Secret `env:"EMBEDDING_API_KEY"`
	EmbeddingModel   string `env:"EMBEDDING_MODEL"`
	// EmbeddingDimensions is the length of the model's vectors.
	EmbeddingDimensions int `env:"EMBEDDING_DIMENSIONS" envDefault:"0"`
	// The prefixes are prepended to questions and passages, for models that expect them.
	EmbeddingQueryPrefix   string `env:"EMBEDDING_QUERY_PREFIX"`
	EmbeddingPassagePrefix string `env:"EMBEDDING_PASSAGE_PREFIX"`
	// EmbeddingConfig is a file with more embedding models.
	EmbeddingConfig string `env:"EMBEDDING_CONFIG"`
	// EmbeddingModels are all embedding models but the builtin one, the default first. Load fills it.
	EmbeddingModels []EmbeddingModel `env:"-"`
	// EmbeddingQueryTimeout is the time that a search waits for the vector of its question.
	EmbeddingQueryTimeout time.Duration `env:"EMBEDDING_QUERY_TIMEOUT" envDefault:"1s"`

	// RerankProvider says which service reranks; empty tells it from the other settings, and without RerankBaseURL is none.
	RerankProvider string `env:"RERANK_PROVIDER"`
	// RerankBaseURL is a reranking service without /rerank; empty is the address of the provider.
	RerankBaseURL string `env:"RERANK_BASE_URL"`
	// RerankRegion is that of Bedrock, and RerankProject that of Vertex AI.
	RerankRegion  string `env:"RERANK_REGION"`
	RerankProject string `env:"RERANK_PROJECT"`
	RerankAPIKey  Secret `env:"RERANK_API_KEY"`
	// RerankModel is empty for text-embeddings-inference, which serves one model without a name.
	RerankModel string `env:"RERANK_MODEL"`
	// RerankTimeout is the time that a search waits for the reranker.
	RerankTimeout time.Duration `env:"RERANK_TIMEOUT" envDefault:"2s"`

	// LLMBaseURL is an OpenAI-compatible service, /v1 included; empty answers without a model.
	LLMBaseURL string `env:"LLM_BASE_URL"`
	LLMAPIKey  Secret `env:"LLM_API_KEY"`
	// LLMModel is the default chat model, LLMModels are more models of the same service.
	LLMModel  string   `env:"LLM_MODEL"`
	LLMModels []string `env:"LLM_MODELS"`
	// AnthropicAPIKey, AnthropicBaseURL and AnthropicModels add models of Anthropic's Messages API.
	AnthropicAPIKey  Secret   `env:"ANTHROPIC_API_KEY"`
	AnthropicBaseURL string   `env:"ANTHROPIC_BASE_URL" envDefault:"https://api.anthropic.com"`
	AnthropicModels  []string `env:"ANTHROPIC_MODELS"`
	// LLMConfig is a file with more chat models.
	LLMConfig string `env:"LLM_CONFIG"`
	// LLMFallback are the models to ask when a model fails before its first token.
	LLMFallback []string `env:"LLM_FALLBACK"`
	// ChatModels are all chat models, the default first. Load fills it.
	ChatModels []ChatModel `env:"-"`

	// SearchMemory bounds the bytes of collections that a process keeps in memory; 0 answers every search from PostgreSQL.
	SearchMemory Bytes `env:"SEARCH_MEMORY" envDefault:"1GiB"`
	// SearchPreload loads the most recently searched collections when the process starts.
	SearchPreload bool `env:"SEARCH_PRELOAD" envDefault:"true"`
	// DefaultMinScore is the default of min_score.
	DefaultMinScore float64 `env:"DEFAULT_MIN_SCORE" envDefault:"0.5"`
	// IdempotencyWindow is the time in which an auto sync does not process a document again.
	IdempotencyWindow time.Duration `env:"IDEMPOTENCY_WINDOW" envDefault:"30m"`
	// GroupsRefresh is the time between two readings of a source's groups. GroupsMaxAge is the age up to which groups
	// count when readings fail.
	GroupsRefresh time.Duration `env:"GROUPS_REFRESH" envDefault:"1h"`
	GroupsMaxAge  time.Duration `env:"GROUPS_MAX_AGE" envDefault:"24h"`
	// PermissionsRefresh is the time between two refreshes of the readers of all documents of a source.
	PermissionsRefresh time.Duration `env:"PERMISSIONS_REFRESH" envDefault:"24h"`
	// PublishableRateLimit and SecretRateLimit are requests per minute; 0 is no limit.
	PublishableRateLimit int `env:"PUBLISHABLE_RATE_LIMIT" envDefault:"60"`
	SecretRateLimit      int `env:"SECRET_RATE_LIMIT" envDefault:"600"`
	// TokenRateLimit is the requests per minute of a personal or service token; 0 is no limit.
	TokenRateLimit int `env:"TOKEN_RATE_LIMIT" envDefault:"600"`
	// RefuseReplays accepts each signature once, for keys that require signatures.
	RefuseReplays bool `env:"REFUSE_REPLAYS" envDefault:"true"`
	// MCPRunAgents offers people who are connected by /mcp the tool run_agent.
	MCPRunAgents bool `env:"MCP_RUN_AGENTS" envDefault:"false"`
	// MCPDatabaseTools lets people who are connected by /mcp query attached
	// databases.
	MCPDatabaseTools bool `env:"MCP_DATABASE_TOOLS" envDefault:"false"`
	// SMTPURL is the server that sends mails, smtp:// or smtps://; empty sends none. SMTPFrom is their sender.
	SMTPURL  Secret `env:"SMTP_URL"`
	SMTPFrom string `env:"SMTP_FROM"`
	// MCPStdioCommands are tool servers that are started as commands. See ToolCommands.
	MCPStdioCommands string `env:"MCP_STDIO_COMMANDS"`
	// QueryLimit is the default limit of queries per month of a workspace; 0 is no limit.
	QueryLimit int64 `env:"QUERY_LIMIT" envDefault:"0"`

	// SubscriptionsPerConnection, SubscriptionsPerPerson and SubscriptionsPerProcess bound open GraphQL
	// operations, and the last two also WebSockets; 0 is no limit.
	SubscriptionsPerConnection int `env:"SUBSCRIPTIONS_PER_CONNECTION" envDefault:"100"`
	SubscriptionsPerPerson     int `env:"SUBSCRIPTIONS_PER_PERSON" envDefault:"200"`
	SubscriptionsPerProcess    int `env:"SUBSCRIPTIONS_PER_PROCESS" envDefault:"10000"`

	// QueryLog says what is stored of searches and questions: full, counts (no texts) or off.
	QueryLog string `env:"QUERY_LOG" envDefault:"full"`
	// QueryLogRetention is the retention of the query log; 0 is unlimited.
	QueryLogRetention Days `env:"QUERY_LOG_RETENTION" envDefault:"90d"`

	// ConversationRetention is the retention of a conversation after its last question; 0 is unlimited.
	ConversationRetention Days `env:"CONVERSATION_RETENTION" envDefault:"0"`
	// AuditRetention is the retention of the audit log; 0 is unlimited.
	AuditRetention Days `env:"AUDIT_RETENTION" envDefault:"0"`

	// DeletedRetention is the time in which a deleted document can be restored; 0 is unlimited.
	DeletedRetention Days `env:"DELETED_RETENTION" envDefault:"30d"`
	// SyncHistoryRetention is the retention of jobs that are not among the newest of their connector; 0 is unlimited.
	SyncHistoryRetention Days `env:"SYNC_HISTORY_RETENTION" envDefault:"90d"`

	// WorkerConcurrency is the number of tasks that a worker runs at a time; 0 is one per core, at least two.
	WorkerConcurrency int `env:"WORKER_CONCURRENCY" envDefault:"0"`
	// WorkerLostAfter is the time without a heartbeat after which other workers take
	// over the syncs, events, runs and automations of a process.
	WorkerLostAfter time.Duration `env:"WORKER_LOST_AFTER" envDefault:"45s"`

	// CacheDir is the folder for compiled code of the PDF reader; empty is magpie in the user's cache folder.
	CacheDir string `env:"CACHE_DIR"`
	// Tesseract is the OCR program; empty looks it up, "off" does not read images.
	Tesseract string `env:"TESSERACT"`

	// AccessLog logs each finished request of the HTTP server.
	AccessLog bool `env:"ACCESS_LOG" envDefault:"true"`
	// LogLevel is debug, info, warn or error; LogFormat text or json.
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`
	LogFormat string     `env:"LOG_FORMAT" envDefault:"text"`

	// OTLPEndpoint is a collector of OpenTelemetry for traces; empty records none. OTLPTracesEndpoint is its whole
	// address for traces, instead. The other variables are those of OpenTelemetry's specification.
	OTLPEndpoint       string   `env:"OTEL_EXPORTER_OTLP_ENDPOINT"`
	OTLPTracesEndpoint string   `env:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"`
	OTLPHeaders        Secret   `env:"OTEL_EXPORTER_OTLP_HEADERS"`
	OTLPProtocol       string   `env:"OTEL_EXPORTER_OTLP_PROTOCOL" envDefault:"http/protobuf"`
	OTLPTimeout        int      `env:"OTEL_EXPORTER_OTLP_TIMEOUT" envDefault:"10000"` // milliseconds
	TracesExporter     string   `env:"OTEL_TRACES_EXPORTER" envDefault:"otlp"`
	TracesSampler      string   `env:"OTEL_TRACES_SAMPLER" envDefault:"parentbased_always_on"`
	TracesSamplerArg   string   `env:"OTEL_TRACES_SAMPLER_ARG"`
	ServiceName        string   `env:"OTEL_SERVICE_NAME" envDefault:"magpie"`
	ResourceAttributes []string `env:"OTEL_RESOURCE_ATTRIBUTES"`
	TelemetryDisabled  bool     `env:"OTEL_SDK_DISABLED" envDefault:"false"`
	// TraceparentNetworks are networks whose requests continue the trace of their traceparent.
	TraceparentNetworks Networks `env:"TRACEPARENT_NETWORKS"`
	// TraceparentHosts are hosts that get a traceparent with requests: name, or *.name for all below it.
	TraceparentHosts []string `env:"TRACEPARENT_HOSTS"`

	// DataDir is the data folder of `magpie dev`; empty is .magpie in this folder or above.
	DataDir string `env:"MAGPIE_DATA"`
	// NoColor, Terminal and TerminalColumns are the common variables about the abilities of a terminal.
	NoColor         string `env:"NO_COLOR"`
	Terminal        string `env:"TERM"`
	TerminalColumns string `env:"COLUMNS"`
	// SSHConnection is set in sessions of SSH, where the person's browser is on another machine.
	SSHConnection string `env:"SSH_CONNECTION"`

	// URL and Token are the Magpie that commands operate over HTTP.
	URL   string `env:"MAGPIE_URL"`
	Token Secret `env:"MAGPIE_TOKEN"`
	// Profile is the name of a profile of ProfilesFile that commands use.
	Profile string `env:"MAGPIE_PROFILE"`
	// ProfilesFile has the profiles that `magpie login` makes; empty is magpie/profiles.json in the user's folder of
	// settings.
	ProfilesFile string `env:"MAGPIE_PROFILES"`
}

// Columns returns the width of the terminal by COLUMNS, or 0 if it says none.
func (c *Config) Columns() int {
	n, err := strconv.Atoi(c.TerminalColumns)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// OwnerURL returns the database with the login of the schema owner.
func (c *Config) OwnerURL() string {
	if c.MigrateDatabaseURL != "" {
		return c.MigrateDatabaseURL.Reveal()
	}
	return c.DatabaseURL.Reveal()
}

// ReadURLs returns the addresses of DATABASE_READ_URL.
func (c *Config) ReadURLs() []string {
	if c.DatabaseReadURL == "" {
		return nil
	}
	return addresses(c.DatabaseReadURL.Reveal())
}

// EngineURLs returns the addresses of ENGINE_URL.
func (c *Config) EngineURLs() []string { return unique(c.EngineURL) }

// addresses splits a list of addresses at commas. A part without a scheme belongs to the
// address before it: an address of PostgreSQL may name several hosts.
func addresses(list string) []string {
	var all []string
	for part := range strings.SplitSeq(list, ",") {
		if len(all) > 0 && !strings.Contains(part, "://") {
			all[len(all)-1] += "," + part
			continue
		}
		all = append(all, strings.TrimSpace(part))
	}
	return all
}

// BackupSource returns the database with the login that backups use.
func (c *Config) BackupSource() string {
	if c.BackupDatabaseURL != "" {
		return c.BackupDatabaseURL.Reveal()
	}
	return c.OwnerURL()
}

// BackupRecipientList returns the keys of BACKUP_RECIPIENTS.
func (c *Config) BackupRecipientList() []string { return unique(c.BackupRecipients) }

// OIDCJoinDomains returns the domains of OIDC_AUTO_JOIN.
func (c *Config) OIDCJoinDomains() []string { return unique(c.OIDCAutoJoin) }

// OIDCScopeList returns the scopes of OIDC_SCOPES.
func (c *Config) OIDCScopeList() []string { return unique(c.OIDCScopes) }

// PublicURL returns the address of the service for clients, without a trailing slash.
func (c *Config) PublicURL() string {
	if c.BaseURL != "" {
		return trimSlash(c.BaseURL)
	}
	return "http://" + c.ListenAddr
}

// ProfilesAddress returns the address of PPROF_ADDR, or "". Without a host it is the
// loopback interface, so that only a host that is written out opens profiles to others.
func (c *Config) ProfilesAddress() string {
	if strings.HasPrefix(c.PprofAddr, ":") {
		return "127.0.0.1" + c.PprofAddr
	}
	return c.PprofAddr
}

// DashboardAddress returns the address of the front end, without a trailing slash.
func (c *Config) DashboardAddress() string {
	if c.DashboardURL != "" {
		return trimSlash(c.DashboardURL)
	}
	return c.PublicURL()
}
