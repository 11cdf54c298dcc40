package config

import (
	"log/slog"
	"time"
)

// Config is every setting of a process. The tag of a field is its name in the
// environment and in the settings file.
type Config struct {
	// DatabaseURL is the PostgreSQL database, with the application's login.
	DatabaseURL Secret `env:"DATABASE_URL"`
	// MigrateDatabaseURL has the login that owns the schema; DatabaseURL when empty.
	MigrateDatabaseURL Secret `env:"MIGRATE_DATABASE_URL"`
	// DatabaseMaxConnections bounds the connections of one process; 0 keeps the driver's default.
	DatabaseMaxConnections int `env:"DATABASE_MAX_CONNECTIONS" envDefault:"0"`
	// RedisURL is one server, a Sentinel group or a Cluster.
	RedisURL Secret `env:"REDIS_URL"`

	// ListenAddr is where HTTP is served: host:port.
	ListenAddr string `env:"LISTEN_ADDR" envDefault:"127.0.0.1:8080"`
	// BaseURL is the address at which clients reach the service; http:// and ListenAddr when empty.
	BaseURL string `env:"BASE_URL"`
	// DashboardURL is the address of the front end, which links to people lead to; BaseURL when empty.
	DashboardURL string `env:"DASHBOARD_URL"`
	// DashboardOrigins may call /graphql and /api/v1 from a browser: https://app.example.com.
	DashboardOrigins []string `env:"DASHBOARD_ORIGINS"`
	// TrustedProxies are the reverse proxies whose X-Forwarded-For is believed.
	TrustedProxies Networks `env:"TRUSTED_PROXIES"`
	// MetricsNetworks may read /metrics.
	MetricsNetworks Networks `env:"METRICS_NETWORKS" envDefault:"127.0.0.0/8,::1"`
	// DrainTime is how long a server that is told to stop goes on to serve, as not ready, so that balancers send nobody any more.
	DrainTime time.Duration `env:"DRAIN_TIME" envDefault:"10s"`
	// ShutdownTimeout is how long running requests and jobs get to end.
	ShutdownTimeout time.Duration `env:"SHUTDOWN_TIMEOUT" envDefault:"30s"`

	// BlobURL is where uploaded files are kept: file:///folder or s3://bucket/prefix?endpoint=…&region=….
	BlobURL string `env:"BLOB_URL"`
	// BlobAccessKeyID and BlobSecretAccessKey sign the requests to an s3 blob store.
	BlobAccessKeyID     string `env:"BLOB_ACCESS_KEY_ID"`
	BlobSecretAccessKey Secret `env:"BLOB_SECRET_ACCESS_KEY"`
	// UploadLimit bounds one uploaded file.
	UploadLimit Bytes `env:"UPLOAD_LIMIT" envDefault:"100MiB"`

	// SessionKey signs session tokens: base64 of at least 32 bytes, the same on every node.
	SessionKey Secret `env:"SESSION_KEY"`
	// SignUp says who may make a workspace: first (while there is nobody), open (everybody) or off.
	SignUp string `env:"SIGN_UP" envDefault:"first"`
	// InvitationLifetime is how long an invitation is open.
	InvitationLifetime Days `env:"INVITATION_LIFETIME" envDefault:"7d"`
	// SecretKeys seal stored credentials: id:base64 of 32 bytes, comma separated, the current one first.
	SecretKeys Secret `env:"SECRET_KEYS"`
	// AllowedPrivateNetworks may be connected to although a user chose the address.
	AllowedPrivateNetworks Networks `env:"ALLOWED_PRIVATE_NETWORKS"`

	// OIDCIssuer is the OpenID provider that people sign in by; empty is none.
	OIDCIssuer       string `env:"OIDC_ISSUER"`
	OIDCClientID     string `env:"OIDC_CLIENT_ID"`
	OIDCClientSecret Secret `env:"OIDC_CLIENT_SECRET"`
	// OIDCName is what it is called on a button; the issuer's host when empty.
	OIDCName   string   `env:"OIDC_NAME"`
	OIDCScopes []string `env:"OIDC_SCOPES" envDefault:"openid,email,profile"`
	// OIDCAutoJoin are the domains of email addresses whose people are let in
	// without an invitation, into the workspace OIDCAutoJoinWorkspace, a UUID.
	OIDCAutoJoin          []string `env:"OIDC_AUTO_JOIN"`
	OIDCAutoJoinWorkspace string   `env:"OIDC_AUTO_JOIN_WORKSPACE"`
	OIDCAutoJoinRole      string   `env:"OIDC_AUTO_JOIN_ROLE" envDefault:"viewer"`
	// OAuthClients are those of the services that connectors are connected to,
	// by name. Load fills it from the settings that OAuthNames lists.
	OAuthClients map[string]OAuthClient `env:"-"`

	// EmbeddingBaseURL is an OpenAI-compatible service, /v1 included; empty uses the builtin embedder.
	EmbeddingBaseURL string `env:"EMBEDDING_BASE_URL"`
	EmbeddingAPIKey  Secret `env:"EMBEDDING_API_KEY"`
	EmbeddingModel   string `env:"EMBEDDING_MODEL"`
	// EmbeddingDimensions is the length of the model's vectors.
	EmbeddingDimensions int `env:"EMBEDDING_DIMENSIONS" envDefault:"0"`
	// The prefixes stand before every question and passage, for models trained so.
	EmbeddingQueryPrefix   string `env:"EMBEDDING_QUERY_PREFIX"`
	EmbeddingPassagePrefix string `env:"EMBEDDING_PASSAGE_PREFIX"`
	// EmbeddingQueryTimeout is how long a search waits for its question's vector.
	EmbeddingQueryTimeout time.Duration `env:"EMBEDDING_QUERY_TIMEOUT" envDefault:"1s"`

	// RerankBaseURL is a reranking service, /rerank is added; empty reranks nothing.
	RerankBaseURL string `env:"RERANK_BASE_URL"`
	RerankAPIKey  Secret `env:"RERANK_API_KEY"`
	// RerankModel is empty for text-embeddings-inference, which serves one model without a name.
	RerankModel string `env:"RERANK_MODEL"`
	// RerankTimeout is how long a search waits for it.
	RerankTimeout time.Duration `env:"RERANK_TIMEOUT" envDefault:"2s"`

	// LLMBaseURL is an OpenAI-compatible service, /v1 included; empty answers without a model.
	LLMBaseURL string `env:"LLM_BASE_URL"`
	LLMAPIKey  Secret `env:"LLM_API_KEY"`
	// LLMModel is the default chat model, LLMModels further ones of the same service.
	LLMModel  string   `env:"LLM_MODEL"`
	LLMModels []string `env:"LLM_MODELS"`
	// AnthropicAPIKey, AnthropicBaseURL and AnthropicModels add models of Anthropic's Messages API.
	AnthropicAPIKey  Secret   `env:"ANTHROPIC_API_KEY"`
	AnthropicBaseURL string   `env:"ANTHROPIC_BASE_URL" envDefault:"https://api.anthropic.com"`
	AnthropicModels  []string `env:"ANTHROPIC_MODELS"`
	// LLMConfig is a file that describes further chat models.
	LLMConfig string `env:"LLM_CONFIG"`
	// LLMFallback are the models to ask when one fails before its first word.
	LLMFallback []string `env:"LLM_FALLBACK"`
	// ChatModels are all the chat models that these settings describe, the default first. Load fills it.
	ChatModels []ChatModel `env:"-"`

	// SearchMemory bounds the bytes of collections that a process keeps in memory; 0 answers every search out of PostgreSQL.
	SearchMemory Bytes `env:"SEARCH_MEMORY" envDefault:"1GiB"`
	// DefaultMinScore is min_score where a search names none.
	DefaultMinScore float64 `env:"DEFAULT_MIN_SCORE" envDefault:"0.5"`
	// IdempotencyWindow is how long the auto mode leaves a processed document alone.
	IdempotencyWindow time.Duration `env:"IDEMPOTENCY_WINDOW" envDefault:"30m"`
	// GroupsRefresh is how often it is read who belongs to which group at the sources whose permissions are kept to;
	// GroupsMaxAge is how long what was read counts where that fails.
	GroupsRefresh time.Duration `env:"GROUPS_REFRESH" envDefault:"1h"`
	GroupsMaxAge  time.Duration `env:"GROUPS_MAX_AGE" envDefault:"24h"`
	// PermissionsRefresh is how often it is read anew who may see which document there.
	PermissionsRefresh time.Duration `env:"PERMISSIONS_REFRESH" envDefault:"24h"`
	// PublishableRateLimit and SecretRateLimit are requests a minute; 0 is no limit.
	PublishableRateLimit int `env:"PUBLISHABLE_RATE_LIMIT" envDefault:"60"`
	SecretRateLimit      int `env:"SECRET_RATE_LIMIT" envDefault:"600"`
	// RefuseReplays takes each signature once of keys that ask for signatures.
	RefuseReplays bool `env:"REFUSE_REPLAYS" envDefault:"true"`
	// QueryLimit is how many queries a month a workspace has that was given no limit of its own; 0 is no limit.
	QueryLimit int64 `env:"QUERY_LIMIT" envDefault:"0"`

	// SubscriptionsPerConnection, SubscriptionsPerPerson and SubscriptionsPerProcess bound the GraphQL operations
	// that are open at once, the last two the WebSockets, too; 0 is no limit.
	SubscriptionsPerConnection int `env:"SUBSCRIPTIONS_PER_CONNECTION" envDefault:"100"`
	SubscriptionsPerPerson     int `env:"SUBSCRIPTIONS_PER_PERSON" envDefault:"200"`
	SubscriptionsPerProcess    int `env:"SUBSCRIPTIONS_PER_PROCESS" envDefault:"10000"`

	// QueryLog says what of searches and questions is kept: full, counts (no texts) or off.
	QueryLog string `env:"QUERY_LOG" envDefault:"full"`
	// QueryLogRetention is how long it is kept; 0 is for good.
	QueryLogRetention Days `env:"QUERY_LOG_RETENTION" envDefault:"90d"`

	// ConversationRetention is how long a conversation is kept after its last question; 0 is for good.
	ConversationRetention Days `env:"CONVERSATION_RETENTION" envDefault:"0"`
	// AuditRetention is how long the audit log is kept; 0 is for good.
	AuditRetention Days `env:"AUDIT_RETENTION" envDefault:"0"`

	// DeletedRetention is how long a deleted document can be restored; 0 is for good.
	DeletedRetention Days `env:"DELETED_RETENTION" envDefault:"30d"`
	// SyncHistoryRetention is how long the rows of jobs are kept that are not among the newest of their connector; 0 is for good.
	SyncHistoryRetention Days `env:"SYNC_HISTORY_RETENTION" envDefault:"90d"`

	// WorkerConcurrency is how many tasks a worker runs at once; 0 is one a core, at least two.
	WorkerConcurrency int `env:"WORKER_CONCURRENCY" envDefault:"0"`
	// WorkerLostAfter is the silence after which a worker counts as dead and
	// others take its syncs over.
	WorkerLostAfter time.Duration `env:"WORKER_LOST_AFTER" envDefault:"45s"`

	// CacheDir is where compiled code of the PDF reader is kept; empty is magpie in the user's cache folder.
	CacheDir string `env:"CACHE_DIR"`
	// Tesseract is the program that reads text in images; empty looks it up, "off" leaves images unread.
	Tesseract string `env:"TESSERACT"`

	// LogLevel is debug, info, warn or error; LogFormat text or json.
	LogLevel  slog.Level `env:"LOG_LEVEL" envDefault:"info"`
	LogFormat string     `env:"LOG_FORMAT" envDefault:"text"`

	// DataDir is where `magpie dev` keeps what it makes; empty is .magpie here or above.
	DataDir string `env:"MAGPIE_DATA"`
	// NoColor and Terminal are the usual variables that say what a terminal can show.
	NoColor  string `env:"NO_COLOR"`
	Terminal string `env:"TERM"`
}

// OwnerURL is the database with the login that may change the schema.
func (c *Config) OwnerURL() string {
	if c.MigrateDatabaseURL != "" {
		return c.MigrateDatabaseURL.Reveal()
	}
	return c.DatabaseURL.Reveal()
}

// OIDCJoins lists the domains of OIDC_AUTO_JOIN.
func (c *Config) OIDCJoins() []string { return unique(c.OIDCAutoJoin) }

// OIDCAsks lists the scopes of OIDC_SCOPES.
func (c *Config) OIDCAsks() []string { return unique(c.OIDCScopes) }

// PublicURL is the address at which clients reach the service, without a slash at its end.
func (c *Config) PublicURL() string {
	if c.BaseURL != "" {
		return trimSlash(c.BaseURL)
	}
	return "http://" + c.ListenAddr
}

// DashboardAddress is where the front end is, without a slash at its end.
func (c *Config) DashboardAddress() string {
	if c.DashboardURL != "" {
		return trimSlash(c.DashboardURL)
	}
	return c.PublicURL()
}
