package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The lengths of keys in bytes.
const (
	minSessionKey = 32
	secretKey     = 32
)

// maxDimensions is the most dimensions of an index over half-precision vectors.
const maxDimensions = 4000

// The bounds of a limited retention.
const (
	minRetention = 24 * time.Hour
	maxRetention = 36_500 * 24 * time.Hour
)

// minLostAfter is twice the interval of heartbeats.
const minLostAfter = 10 * time.Second

// Validate checks every setting that is set. The error begins with the name of the
// first wrong setting and says how to write it. Require checks that settings are
// set.
func (c *Config) Validate() error {
	checks := []struct {
		name  string
		check func() error
	}{
		{"DATABASE_URL", func() error { return checkDatabaseURL(c.DatabaseURL) }},
		{"MIGRATE_DATABASE_URL", func() error { return checkDatabaseURL(c.MigrateDatabaseURL) }},
		{"DATABASE_READ_URL", func() error {
			for _, address := range c.ReadURLs() {
				if err := checkDatabaseURL(Secret(address)); err != nil || address == "" {
					return errors.New("must be a comma-separated list of postgres://user:password@host:5432/name")
				}
			}
			return nil
		}},
		{"DATABASE_MAX_CONNECTIONS", func() error {
			if c.DatabaseMaxConnections == 1 {
				return errors.New("must be 0, or at least 2: a search that holds a connection reads texts with another")
			}
			return checkRange(c.DatabaseMaxConnections, 0, 10_000)
		}},
		{"ENGINE_URL", func() error { return checkEngineURLs(c.EngineURLs()) }},
		{"REDIS_URL", func() error { return checkRedisURL(c.RedisURL) }},
		{"LISTEN_ADDR", func() error { return checkListenAddr(c.ListenAddr) }},
		{"PPROF_ADDR", func() error {
			if c.PprofAddr == "" {
				return nil
			}
			return checkListenAddr(c.PprofAddr)
		}},
		{"WORKER_LISTEN_ADDR", func() error {
			if c.WorkerListenAddr == "" {
				return nil
			}
			return checkListenAddr(c.WorkerListenAddr)
		}},
		{"BASE_URL", func() error { return checkWebURL(c.BaseURL) }},
		{"DASHBOARD_URL", func() error { return checkWebURL(c.DashboardURL) }},
		{"DASHBOARD_ORIGINS", func() error { return checkOrigins(c.DashboardOrigins) }},
		{"DRAIN_TIME", func() error { return checkDuration(c.DrainTime, 0, time.Hour) }},
		{"SHUTDOWN_TIMEOUT", func() error { return checkPositive(c.ShutdownTimeout >= 0) }},
		{"BLOB_URL", func() error { return checkBlobURL(c.BlobURL) }},
		{"BACKUP_DATABASE_URL", func() error { return checkDatabaseURL(c.BackupDatabaseURL) }},
		{"BACKUP_RECIPIENTS", func() error { return checkRecipients(c.BackupRecipientList()) }},
		{"BACKUP_KEEP", func() error { return checkRange(c.BackupKeep, 0, 100_000) }},
		{"UPLOAD_LIMIT", func() error { return checkPositive(c.UploadLimit > 0) }},
		{"SESSION_KEY", func() error { _, err := c.sessionKeys(); return err }},
		{"SIGN_UP", func() error { return checkOneOf(c.SignUp, "first", "open", "off") }},
		{"INVITATION_LIFETIME", func() error { return checkDuration(c.InvitationLifetime.Duration(), time.Hour, 365*24*time.Hour) }},
		{"SECRET_KEYS", func() error { _, _, err := c.SealingKeys(); return err }},
		{"MCP_STDIO_COMMANDS", func() error { _, err := c.ToolCommands(); return err }},
		{"OIDC_ISSUER", func() error { return checkWebURL(c.OIDCIssuer) }},
		{"OIDC_CLIENT_ID", func() error { return checkTogether(c.OIDCIssuer, c.OIDCClientID, "OIDC_ISSUER") }},
		{"OIDC_SCOPES", func() error { return checkScopes(c.OIDCScopes) }},
		{"OIDC_AUTO_JOIN", func() error { return checkDomains(c.OIDCAutoJoin) }},
		{"OIDC_AUTO_JOIN_WORKSPACE", func() error { return checkWorkspace("OIDC_AUTO_JOIN", c.OIDCAutoJoin, c.OIDCAutoJoinWorkspace) }},
		{"OIDC_AUTO_JOIN_ROLE", func() error { return checkOneOf(c.OIDCAutoJoinRole, "viewer", "editor", "admin") }},
		{"SAML_METADATA_URL", c.checkSAMLMetadata},
		{"SAML_ENTITY_ID", func() error { return checkEntityID(c.SAMLEntityID) }},
		{"SAML_CERTIFICATE", func() error { _, err := c.SAMLKeyPair(); return err }},
		{"SAML_AUTO_JOIN", func() error { return checkDomains(c.SAMLAutoJoin) }},
		{"SAML_AUTO_JOIN_WORKSPACE", func() error { return checkWorkspace("SAML_AUTO_JOIN", c.SAMLAutoJoin, c.SAMLAutoJoinWorkspace) }},
		{"SAML_AUTO_JOIN_ROLE", func() error { return checkOneOf(c.SAMLAutoJoinRole, "viewer", "editor", "admin") }},
		{"SAML_ROLE_GROUPS", func() error { _, err := RoleGroups(c.SAMLRoleGroups); return err }},
		{"SCIM_DEFAULT_ROLE", func() error { return checkOneOf(c.SCIMDefaultRole, "viewer", "editor", "admin") }},
		{"SCIM_ROLE_GROUPS", func() error { _, err := RoleGroups(c.SCIMRoleGroups); return err }},
		{"EMBEDDING_BASE_URL", func() error { return checkWebURL(c.EmbeddingBaseURL) }},
		{"EMBEDDING_MODEL", func() error { return checkTogether(c.EmbeddingBaseURL, c.EmbeddingModel, "EMBEDDING_BASE_URL") }},
		{"EMBEDDING_DIMENSIONS", func() error {
			if c.EmbeddingBaseURL == "" {
				return nil
			}
			return checkRange(c.EmbeddingDimensions, 1, maxDimensions)
		}},
		{"SMTP_URL", func() error { return checkSMTP(c.SMTPURL, c.SMTPFrom) }},
		{"RERANK_PROVIDER", c.checkReranker},
		{"RERANK_BASE_URL", func() error { return checkWebURL(c.RerankBaseURL) }},
		{"RERANK_REGION", func() error { return checkRegion(c.RerankRegion) }},
		{"EMBEDDING_QUERY_TIMEOUT", func() error { return checkPositive(c.EmbeddingQueryTimeout > 0) }},
		{"RERANK_TIMEOUT", func() error { return checkPositive(c.RerankTimeout > 0) }},
		{"LLM_BASE_URL", func() error { return checkWebURL(c.LLMBaseURL) }},
		{"LLM_MODEL", func() error { return checkTogether(c.LLMBaseURL, c.LLMModel, "LLM_BASE_URL") }},
		{"ANTHROPIC_BASE_URL", func() error { return checkWebURL(c.AnthropicBaseURL) }},
		{"DEFAULT_MIN_SCORE", func() error { return checkShare(c.DefaultMinScore) }},
		{"IDEMPOTENCY_WINDOW", func() error { return checkPositive(c.IdempotencyWindow >= 0) }},
		{"GROUPS_REFRESH", func() error { return checkDuration(c.GroupsRefresh, time.Minute, 365*24*time.Hour) }},
		{"GROUPS_MAX_AGE", func() error { return checkDuration(c.GroupsMaxAge, c.GroupsRefresh, 365*24*time.Hour) }},
		{"PERMISSIONS_REFRESH", func() error { return checkDuration(c.PermissionsRefresh, time.Minute, 365*24*time.Hour) }},
		{"PUBLISHABLE_RATE_LIMIT", func() error { return checkRange(c.PublishableRateLimit, 0, 1_000_000) }},
		{"SUBSCRIPTIONS_PER_CONNECTION", func() error { return checkRange(c.SubscriptionsPerConnection, 0, 1_000_000) }},
		{"SUBSCRIPTIONS_PER_PERSON", func() error { return checkRange(c.SubscriptionsPerPerson, 0, 1_000_000) }},
		{"SUBSCRIPTIONS_PER_PROCESS", func() error { return checkRange(c.SubscriptionsPerProcess, 0, 1_000_000) }},
		{"SECRET_RATE_LIMIT", func() error { return checkRange(c.SecretRateLimit, 0, 1_000_000) }},
		{"TOKEN_RATE_LIMIT", func() error { return checkRange(c.TokenRateLimit, 0, 1_000_000) }},
		{"QUERY_LIMIT", func() error { return checkRange(c.QueryLimit, 0, 1_000_000_000_000) }},
		{"QUERY_LOG", func() error { return checkOneOf(c.QueryLog, "full", "counts", "off") }},
		{"QUERY_LOG_RETENTION", func() error { return checkRetention(c.QueryLogRetention.Duration()) }},
		{"CONVERSATION_RETENTION", func() error { return checkRetention(c.ConversationRetention.Duration()) }},
		{"DELETED_RETENTION", func() error { return checkRetention(c.DeletedRetention.Duration()) }},
		{"SYNC_HISTORY_RETENTION", func() error { return checkRetention(c.SyncHistoryRetention.Duration()) }},
		{"AUDIT_RETENTION", func() error { return checkRetention(c.AuditRetention.Duration()) }},
		{"WORKER_CONCURRENCY", func() error { return checkRange(c.WorkerConcurrency, 0, 1000) }},
		{"WORKER_LOST_AFTER", func() error { return checkMin(c.WorkerLostAfter, minLostAfter) }},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", func() error { return checkWebURL(c.OTLPEndpoint) }},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", func() error { return checkWebURL(c.OTLPTracesEndpoint) }},
		{"OTEL_EXPORTER_OTLP_HEADERS", func() error { _, err := c.TraceHeaders(); return err }},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", func() error { return checkProtocol(c.OTLPProtocol, c.TracesURL()) }},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", func() error { return checkRange(c.OTLPTimeout, 1, 600_000) }},
		{"OTEL_TRACES_EXPORTER", func() error { return checkOneOf(c.TracesExporter, "otlp", "none") }},
		{"OTEL_TRACES_SAMPLER", func() error {
			return checkOneOf(c.TracesSampler, SamplerAlwaysOn, SamplerAlwaysOff, SamplerRatio, parentBased+SamplerAlwaysOn, parentBased+SamplerAlwaysOff, parentBased+SamplerRatio)
		}},
		{"OTEL_TRACES_SAMPLER_ARG", func() error { _, err := c.samplerRatio(); return err }},
		{"OTEL_RESOURCE_ATTRIBUTES", func() error { _, err := pairs(c.ResourceAttributes); return err }},
		{"TRACEPARENT_HOSTS", func() error { return checkHosts(c.TraceparentHosts) }},
		{"LOG_FORMAT", func() error { return checkOneOf(c.LogFormat, "text", "json") }},
	}
	for _, field := range checks {
		if err := field.check(); err != nil {
			return fmt.Errorf("%s: %w", field.name, err)
		}
	}
	return nil
}

// Require returns an error for the first of the settings that is not set.
func (c *Config) Require(names ...string) error {
	values := reflect.ValueOf(c).Elem()
	for _, field := range reflect.VisibleFields(values.Type()) {
		for _, name := range names {
			if field.Tag.Get("env") == name && values.FieldByIndex(field.Index).IsZero() {
				return fmt.Errorf("%s is not set; docs/configuration.md says how to write it", name)
			}
		}
	}
	return nil
}

// SigningKeys returns the keys of SESSION_KEY, the one that signs first, or nil.
func (c *Config) SigningKeys() [][]byte {
	keys, _ := c.sessionKeys() // Validate has checked them
	return keys
}

func (c *Config) sessionKeys() (keys [][]byte, err error) {
	if c.SessionKey == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(c.SessionKey.Reveal(), ",") {
		key, ok := decode(text)
		if !ok || len(key) < minSessionKey {
			return nil, errors.New("must be base64 of at least 32 random bytes (openssl rand -base64 32), or several of them separated by commas, the one that signs first")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// SealingKeys returns the keys of SECRET_KEYS by id, and the id of the current key.
func (c *Config) SealingKeys() (keys map[string][]byte, current string, err error) {
	if c.SecretKeys == "" {
		return nil, "", nil
	}
	keys = map[string][]byte{}
	for entry := range strings.SplitSeq(c.SecretKeys.Reveal(), ",") {
		id, text, found := strings.Cut(strings.TrimSpace(entry), ":")
		key, ok := decode(text)
		switch {
		case !found || id == "" || len(id) > 64:
			return nil, "", errors.New("must be a list of id:key, the current one first")
		case !ok || len(key) != secretKey:
			return nil, "", fmt.Errorf("the key %q must be base64 of 32 random bytes (openssl rand -base64 32)", id)
		case keys[id] != nil:
			return nil, "", fmt.Errorf("the key id %q occurs twice", id)
		}
		keys[id] = key
		if current == "" {
			current = id
		}
	}
	return keys, current, nil
}

func decode(text string) ([]byte, bool) {
	text = strings.TrimSpace(text)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if key, err := encoding.DecodeString(text); err == nil {
			return key, true
		}
	}
	return nil, false
}

// The checks drop the messages of parsers that would repeat a password.

func checkDatabaseURL(s Secret) error {
	if s == "" {
		return nil
	}
	text := s.Reveal()
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		if _, err := url.Parse(text); err == nil {
			return nil
		}
	}
	return errors.New("must be postgres://user:password@host:5432/name")
}

// checkEngineURLs checks the nodes of a search engine. Messages repeat nothing of an address,
// which may have a password by mistake.
func checkEngineURLs(list []string) error {
	for _, address := range list {
		parsed, err := url.Parse(address)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" && parsed.Scheme != "weaviate" || parsed.Hostname() == "" ||
			parsed.User != nil || strings.Trim(parsed.Path, "/") != "" || parsed.Fragment != "" {
			return errors.New("must be a comma-separated list of http://host:8080?grpc=50051, without user and path; the key is ENGINE_API_KEY")
		}
		for name, values := range parsed.Query() {
			if port, err := strconv.ParseUint(values[0], 10, 16); name != "grpc" || len(values) != 1 || err != nil || port == 0 {
				return errors.New("must have no parameter but grpc, which is a port")
			}
		}
	}
	return nil
}

func checkRedisURL(s Secret) error {
	if s == "" {
		return nil
	}
	scheme, rest, _ := strings.Cut(s.Reveal(), "://")
	switch scheme {
	case "redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster":
		if rest != "" {
			return nil // the rest is checked when it is used
		}
	}
	return errors.New("must be redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")
}

func checkListenAddr(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		if number, portErr := strconv.Atoi(port); portErr == nil && number >= 0 && number <= 65535 {
			return nil
		}
	}
	return fmt.Errorf("%q is not an address; write it as 127.0.0.1:8080 or :8080", address)
}

func checkWebURL(address string) error {
	if address == "" {
		return nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.User != nil ||
		parsed.RawQuery != "" || parsed.Fragment != "" {
		return errors.New("must be an address such as https://magpie.example.com, without user, query or fragment")
	}
	return nil
}

func checkOrigins(list []string) error {
	for _, origin := range list {
		if origin == "*" {
			continue // safe: a page needs the session token, which is a header
		}
		parsed, err := url.Parse(strings.TrimSuffix(origin, ":*"))
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" || parsed.Path != "" {
			return fmt.Errorf("%q is not an origin; write it as https://app.example.com", origin)
		}
	}
	return nil
}

func checkBlobURL(address string) error {
	if address == "" {
		return nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "file" && parsed.Scheme != "s3" || parsed.User != nil {
		return errors.New("must be file:///absolute/folder or s3://bucket/prefix?endpoint=https://host:port&region=name")
	}
	return nil
}

// checkRecipients refuses secret keys that were written where the public ones belong.
func checkRecipients(list []string) error {
	for _, key := range list {
		if !strings.HasPrefix(key, "age1") {
			return errors.New("must be public keys of age (age1…), separated by commas")
		}
	}
	return nil
}

func checkDuration(length, least, most time.Duration) error {
	if length < least || length > most {
		return fmt.Errorf("must be %s to %s", least, most)
	}
	return nil
}

func checkTogether(address, model, other string) error {
	if address != "" && model == "" {
		return fmt.Errorf("must be set together with %s", other)
	}
	return nil
}

// uuidForm is the canonical form of a UUID.
var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func checkWorkspace(setting string, joining []string, id string) error {
	if len(joining) > 0 && id == "" {
		return errors.New("must be set together with " + setting)
	}
	if id != "" && !uuidForm.MatchString(id) {
		return errors.New("must be the id of a workspace, a UUID")
	}
	return nil
}

func checkDomains(list []string) error {
	for _, domain := range unique(list) {
		if domain != strings.ToLower(domain) || !strings.Contains(domain, ".") || strings.ContainsAny(domain, "@*/: \t") || strings.Trim(domain, ".") != domain {
			return fmt.Errorf("%q is not a domain; write it as example.com, in lower case", domain)
		}
	}
	return nil
}

func checkScopes(scopes []string) error {
	if !contains(unique(scopes), "openid") {
		return errors.New("must contain openid")
	}
	return nil
}

func checkRange[T int | int64](value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("must be %d to %d", least, most)
	}
	return nil
}

func checkShare(value float64) error {
	if !(value >= 0 && value <= 1) {
		return errors.New("must be 0 to 1")
	}
	return nil
}

func checkPositive(ok bool) error {
	if !ok {
		return errors.New("is too small")
	}
	return nil
}

func checkMin(value, least time.Duration) error {
	if value < least {
		return fmt.Errorf("must be %s or more", least)
	}
	return nil
}

// checkRetention checks that a retention is unlimited or at least a day: counts are
// of whole days.
func checkRetention(d time.Duration) error {
	if d != 0 && (d < minRetention || d > maxRetention) {
		return errors.New("must be 0 to keep everything, or 1d to 36500d")
	}
	return nil
}

func checkOneOf(value string, allowed ...string) error {
	if contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("must be %s", strings.Join(allowed, " or "))
}

// checkSMTP checks the server of mails and their sender.
func checkSMTP(server Secret, from string) error {
	if server == "" {
		return nil
	}
	u, err := url.Parse(server.Reveal())
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return errors.New("must be smtp://host:port or smtps://host:port, with user:password@ where the server asks for it")
	}
	if _, err := mail.ParseAddress(from); err != nil {
		return errors.New("needs SMTP_FROM, the sender of mails, such as Support <support@example.com>")
	}
	return nil
}
