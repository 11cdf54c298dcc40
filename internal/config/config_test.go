package config_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/config"
)

const databaseURL = "postgres://someone:hunter2@db.example.com:5432/magpie"

func key(fill byte) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(fill), 32)))
}

func load(environment ...string) (*config.Config, error) {
	if environment == nil {
		environment = []string{}
	}
	return config.Load(config.Source{Environment: environment})
}

func TestAnEmptyEnvironmentGivesTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if c.ListenAddr != "127.0.0.1:8080" || c.PublicURL() != "http://127.0.0.1:8080" || c.DefaultMinScore != 0.5 ||
		c.IdempotencyWindow != 30*time.Minute || c.PublishableRateLimit != 60 || c.SecretRateLimit != 600 ||
		c.UploadLimit != 100<<20 || c.LogFormat != "text" || c.QueryLog != "full" || c.QueryLogRetention.Duration() != 90*24*time.Hour {
		t.Errorf("defaults: %+v", c)
	}
	if !c.MetricsNetworks.Contain(netip.MustParseAddr("127.0.0.1")) || c.MetricsNetworks.Contain(netip.MustParseAddr("10.0.0.1")) {
		t.Errorf("metrics networks: %v", c.MetricsNetworks)
	}
}

func TestFlagsWinOverTheEnvironmentAndTheFileCountsLeast(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings")
	content := "# comment\n\nLISTEN_ADDR=127.0.0.1:1\nexport BASE_URL=\"https://file.example.com/\"\nLOG_FORMAT='json'\nLOG_LEVEL=debug\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{
		File:        file,
		Defaults:    map[string]string{"LOG_FORMAT": "text", "SHUTDOWN_TIMEOUT": "1s"},
		Environment: []string{"LISTEN_ADDR=127.0.0.1:2", "LOG_LEVEL=warn", "LOG_FORMAT="},
		Flags:       map[string]string{"LISTEN_ADDR": "127.0.0.1:3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.ListenAddr != "127.0.0.1:3" || c.LogLevel.String() != "WARN" || c.LogFormat != "json" || c.ShutdownTimeout != time.Second || c.PublicURL() != "https://file.example.com" {
		t.Errorf("%q %v %q %q", c.ListenAddr, c.LogLevel, c.LogFormat, c.PublicURL())
	}
}

func TestTheSettingsFileNamesItsMistakes(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"LISTEN_ADDR":                "line 1: write NAME=value",
		"LOG_LEVEL=info\nLISTEN=:80": `line 2: there is no setting "LISTEN"`,
	} {
		file := filepath.Join(t.TempDir(), "settings")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Source{File: file, Environment: []string{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", content, err, want)
		}
	}
	if _, err := config.Load(config.Source{File: filepath.Join(t.TempDir(), "none"), Environment: []string{}}); err == nil {
		t.Error("a missing file was accepted")
	}
}

func TestRetentionIsInDaysOrHours(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "0d": 0, "30d": 720 * time.Hour, "48h": 48 * time.Hour, "1d": 24 * time.Hour} {
		c, err := load("QUERY_LOG_RETENTION=" + text)
		if err != nil || c.QueryLogRetention.Duration() != want {
			t.Errorf("%s: %v %v", text, c, err)
		}
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"DATABASE_URL=mysql://x", "DATABASE_URL=host=x password=hunter2", "DATABASE_URL=postgres://a:hunter2@[::1/x",
		"MIGRATE_DATABASE_URL=x", "DATABASE_READ_URL=x", "DATABASE_READ_URL=postgres://a:hunter2@b/c,,mysql://x", "DATABASE_MAX_CONNECTIONS=-1", "DATABASE_MAX_CONNECTIONS=1", "DATABASE_MAX_CONNECTIONS=many",
		"ENGINE_URL=search:8080", "ENGINE_URL=weaviate://", "ENGINE_URL=weaviate://:hunter2@a:8080", "ENGINE_URL=http://a:8080,postgres://b", "ENGINE_URL=http://a:8080?grpc=0", "ENGINE_URL=http://a?key=hunter2", "ENGINE_URL=http://a:8080?grpc=1&grpc=2",
		"ENGINE_URL=http://:hunter2@[::1", "ENGINE_URL=http://a/hunter2",
		"REDIS_URL=localhost:6379", "REDIS_URL=redis://", "REDIS_URL=unix://",
		"LISTEN_ADDR=8080", "WORKER_LISTEN_ADDR=9090", "PPROF_ADDR=6060", "ACCESS_LOG=some", "LISTEN_ADDR=localhost:http", "LISTEN_ADDR=:70000",
		"BASE_URL=magpie.example.com", "BASE_URL=https://user:hunter2@x", "BASE_URL=https://x/?a=b",
		"DASHBOARD_ORIGINS=app.example.com", "DASHBOARD_ORIGINS=https://a.example.com/,*", "TRUSTED_PROXIES=10.0.0.0/33",
		"METRICS_NETWORKS=everyone", "ALLOWED_PRIVATE_NETWORKS=10.0.0", "SHUTDOWN_TIMEOUT=soon", "SHUTDOWN_TIMEOUT=-1s", "DRAIN_TIME=-1s", "DRAIN_TIME=61m", "DRAIN_TIME=10",
		"BLOB_URL=/var/lib", "BLOB_URL=ftp://x", "UPLOAD_LIMIT=0", "UPLOAD_LIMIT=-1", "UPLOAD_LIMIT=64 potatoes", "UPLOAD_LIMIT=99999999999GiB",
		"SESSION_KEY=hunter2", "SESSION_KEY=aHVudGVyMg==",
		"SECRET_KEYS=hunter2", "SECRET_KEYS=a:hunter2", "SECRET_KEYS=:" + key('a'), "SECRET_KEYS=a:" + key('a') + ",a:" + key('b'),
		"MCP_STDIO_COMMANDS=files", "MCP_STDIO_COMMANDS=files=mcp-files", "MCP_STDIO_COMMANDS=a=/bin/a;a=/bin/b", "MCP_STDIO_COMMANDS=A B=/bin/a",
		"OIDC_ISSUER=accounts.example.com", "OIDC_ISSUER=https://user:hunter2@x", "OIDC_SCOPES=email,profile", "OIDC_AUTO_JOIN=@example.com",
		"OIDC_AUTO_JOIN=Example.com", "OIDC_AUTO_JOIN_WORKSPACE=first", "OIDC_AUTO_JOIN_ROLE=owner", "OAUTH_GOOGLE_URL=accounts.example.com",
		"OAUTH_GITHUB_CLIENT_ID=hunter2", "OAUTH_SLACK_TOKEN_URL=https://user:hunter2@x",
		"EMBEDDING_BASE_URL=x", "EMBEDDING_DIMENSIONS=x", "LLM_BASE_URL=file:///etc/passwd",
		"RERANK_BASE_URL=https://user:hunter2@x", "EMBEDDING_QUERY_TIMEOUT=0s", "RERANK_TIMEOUT=0s", "RERANK_TIMEOUT=fast",
		"DEFAULT_MIN_SCORE=1.5", "DEFAULT_MIN_SCORE=NaN", "IDEMPOTENCY_WINDOW=-1m", "PUBLISHABLE_RATE_LIMIT=-1", "SECRET_RATE_LIMIT=x",
		"QUERY_LOG=some", "QUERY_LOG_RETENTION=12h", "QUERY_LOG_RETENTION=-1d", "QUERY_LOG_RETENTION=90", "QUERY_LOG_RETENTION=40000d",
		"QUERY_LOG_RETENTION=999999999999d", "CONVERSATION_RETENTION=1h", "CONVERSATION_RETENTION=-1d", "QUERY_LOG_RETENTION=d",
		"WORKER_CONCURRENCY=5000", "WORKER_LOST_AFTER=1s", "LOG_LEVEL=loud", "LOG_FORMAT=xml",
	} {
		name, _, _ := strings.Cut(entry, "=")
		_, err := load(entry)
		if err == nil {
			t.Errorf("%s: was taken", entry)
			continue
		}
		if !strings.HasPrefix(err.Error(), name+": ") || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the message must begin with the name, be one line and repeat no password: %v", entry, err)
		}
	}
}

func TestAnAddressOfAModelNeedsItsName(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"LLM", "EMBEDDING"} {
		if _, err := load(kind + "_BASE_URL=http://127.0.0.1:1/v1"); err == nil || !strings.HasPrefix(err.Error(), kind+"_MODEL: ") {
			t.Errorf("%s: got %v", kind, err)
		}
	}
	for _, dimensions := range []string{"", "0", "4001"} {
		_, err := load("EMBEDDING_BASE_URL=http://127.0.0.1:1/v1", "EMBEDDING_MODEL=m", "EMBEDDING_DIMENSIONS="+dimensions)
		if err == nil || !strings.HasPrefix(err.Error(), "EMBEDDING_DIMENSIONS: ") {
			t.Errorf("%q dimensions: got %v", dimensions, err)
		}
	}
	c, err := load("LLM_BASE_URL=http://127.0.0.1:1/v1", "LLM_MODEL=small", "LLM_MODELS=large,small")
	if err != nil || names(c) != "small large" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestRedisURLForms(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://user:pass@host:6379/2", "rediss://host", "unix:///run/redis.sock?db=1",
		"redis+sentinel://one:26379,two:26379/0?master=mymaster", "redis+cluster://one:6379,two:6379", "rediss+cluster://one:6379",
	} {
		if _, err := load("REDIS_URL=" + address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestKeysAreRead(t *testing.T) {
	t.Parallel()
	c, err := load("SESSION_KEY="+key('s')+", "+key('t'), "SECRET_KEYS=new:"+key('n')+", old:"+key('o'))
	if err != nil {
		t.Fatal(err)
	}
	if signing := c.SigningKeys(); len(signing) != 2 || string(signing[0]) != strings.Repeat("s", 32) || string(signing[1]) != strings.Repeat("t", 32) {
		t.Errorf("signing keys %q", signing)
	}
	if _, err := load("SESSION_KEY=" + key('s') + ","); err == nil {
		t.Error("an empty second key was accepted")
	}
	keys, current, err := c.SealingKeys()
	if err != nil || current != "new" || string(keys["old"]) != strings.Repeat("o", 32) || len(keys) != 2 {
		t.Errorf("%v %q %v", keys, current, err)
	}
}

func TestRequireNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	c, err := load("REDIS_URL=redis://x")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Require("REDIS_URL"); err != nil {
		t.Error(err)
	}
	if err := c.Require("REDIS_URL", "DATABASE_URL"); err == nil || !strings.HasPrefix(err.Error(), "DATABASE_URL is not set") {
		t.Errorf("got %v", err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	c, err := load("DATABASE_URL="+databaseURL, "REDIS_URL=redis://:hunter2@x", "LLM_API_KEY=hunter2")
	if err != nil {
		t.Fatal(err)
	}
	marshalled, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", *c), fmt.Sprintf("%v %s %q", c.DatabaseURL, c.RedisURL, c.LLMAPIKey),
		string(marshalled), c.DatabaseURL.LogValue().String(),
	} {
		if strings.Contains(text, "hunter2") {
			t.Errorf("a secret was printed: %s", text)
		}
	}
	if c.DatabaseURL.Reveal() != databaseURL || c.OwnerURL() != databaseURL {
		t.Error("the secret is gone")
	}
}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "docs", "configuration*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var pages []byte
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page...)
	}
	for _, name := range config.Names() {
		if rest, ok := strings.CutPrefix(name, "OAUTH_"); ok && !strings.Contains(rest, "_CLIENT_") {
			_, field, _ := strings.Cut(rest, "_")
			name = "OAUTH_…_" + field // documented once for all providers
		}
		if !strings.Contains(string(pages), "`"+name+"`") {
			t.Errorf("docs/configuration*.md do not mention %s", name)
		}
	}
}

func TestOAuthClientsAreRead(t *testing.T) {
	t.Parallel()
	c, err := load("OAUTH_GOOGLE_CLIENT_ID=id", "OAUTH_GOOGLE_CLIENT_SECRET=hunter2", "OAUTH_GOOGLE_SCOPES=openid, email", "OAUTH_SERVICENOW_URL=https://x.service-now.com",
		"OIDC_ISSUER=https://id.example.com", "OIDC_CLIENT_ID=magpie", "OIDC_AUTO_JOIN=example.com, example.org", "OIDC_AUTO_JOIN_WORKSPACE=018f0000-0000-8000-8000-00000000c011")
	if err != nil {
		t.Fatal(err)
	}
	google := c.OAuthClients["google"]
	if google.ID != "id" || google.Secret.Reveal() != "hunter2" || len(google.Scopes) != 2 || google.Scopes[1] != "email" || c.OAuthClients["servicenow"].URL != "https://x.service-now.com" {
		t.Errorf("%+v", c.OAuthClients)
	}
	if joins := c.OIDCJoinDomains(); len(joins) != 2 || joins[1] != "example.org" || len(c.OIDCScopeList()) != 3 {
		t.Errorf("%v %v", joins, c.OIDCScopeList())
	}
	if text := fmt.Sprintf("%+v %#v", c, *c); strings.Contains(text, "hunter2") {
		t.Errorf("a secret was printed: %s", text)
	}
	for wrong, name := range map[string]string{"OIDC_ISSUER=https://id.example.com": "OIDC_CLIENT_ID", "OIDC_AUTO_JOIN=example.com": "OIDC_AUTO_JOIN_WORKSPACE"} {
		if _, err := load(wrong); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

func FuzzValuesNeverPanic(f *testing.F) {
	f.Add("10.0.0.0/8,::1", "64MiB", "a:"+key('a'))
	f.Add("fe80::1%eth0", "-1GiB", "a:,b:,:")
	f.Fuzz(func(t *testing.T, networks, size, keys string) {
		var n config.Networks
		if err := n.UnmarshalText([]byte(networks)); err == nil {
			for _, prefix := range n {
				if !prefix.IsValid() || !n.Contain(prefix.Addr()) {
					t.Errorf("%q gives %v", networks, n)
				}
			}
		}
		var b config.Bytes
		if err := b.UnmarshalText([]byte(size)); err == nil && b < 0 {
			t.Errorf("%q gives %d", size, b)
		}
		c := config.Config{SecretKeys: config.Secret(keys)}
		if sealing, current, err := c.SealingKeys(); err == nil && keys != "" && sealing[current] == nil {
			t.Errorf("%q gives no current key", keys)
		}
	})
}
