package archtest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// flow returns the packages of Magpie that each folder may import. An entry
// covers the folders below it, in the keys as in the lists; the longest key that
// matches a folder counts. Test files may import any package.
func flow() map[string][]string {
	leaves := []string{"ent/gid", "internal/viewer", "internal/apierr", "internal/patch", "internal/request/storedop", "internal/request/requestid", "internal/safetext", "internal/tracing"}
	with := func(more ...string) []string { return append(slices.Clone(leaves), more...) }
	return map[string][]string{
		"agents":                        {"agents", "internal/search", "internal/model/llm", "internal/apierr", "internal/safetext", "internal/viewer", "internal/tracing"},
		"agents/approval":               with("agents/policy", "ent", "internal/store/lookup", "internal/store/transaction", "internal/apierr/check"),
		"agents/approval/slack":         with("agents/approval", "agents/slackapi", "connectors", "ent", "internal/audit", "internal/event"),
		"agents/automation":             with("agents/approval", "agents/policy", "agents/run", "ent", "internal/apierr/check", "internal/event", "internal/index", "internal/lease", "internal/secret", "internal/store/lookup", "internal/store/transaction"),
		"agents/automation/delivery":    with("agents/automation", "agents/integration", "agents/loop", "agents/policy", "agents/slackapi", "connectors", "ent", "internal/event/email", "internal/index", "internal/ingest", "internal/mailer", "internal/model/embed"),
		"agents/slackapi":               {"internal/httpx", "internal/tracing"},
		"internal/mailer":               {"internal/httpx", "internal/safetext", "internal/tracing"},
		"agents/catalog":                with("agents/policy", "internal/store/transaction", "ent"),
		"agents/memory":                 with("ent", "internal/store/transaction", "internal/model/embed", "internal/analysis"),
		"agents/template":               with("internal/store/transaction", "ent", "agents/catalog"),
		"agents/calc":                   {},
		"agents/integration":            {"agents/arguments", "agents/integration", "agents/loop", "agents/policy", "connectors", "internal/apierr", "internal/safetext"},
		"agents/integration/toolserver": {"agents/integration", "agents/loop", "agents/mcp", "agents/policy", "connectors", "internal/apierr", "internal/safetext"},
		"agents/mcp":                    {"agents/arguments", "agents/loop", "agents/policy", "internal/apierr", "internal/request/breaker", "internal/safetext", "internal/tracing"},
		"agents/integration/store":      with("agents", "connectors", "ent", "internal/apierr/check", "internal/audit", "internal/connector/oauth", "internal/secret", "internal/store/lookup", "internal/store/transaction"),
		"agents/policy":                 {"internal/apierr"},
		"agents/run":                    with("internal/analysis", "agents", "ent", "internal/store/transaction", "internal/chat", "internal/live/journal", "internal/model/llm", "internal/queue", "internal/search", "internal/secret"),
		"agents/tools":                  with("agents", "ent", "internal/search", "internal/connector/attached", "connectors"),
		"cmd":                           {""},
		"connectors":                    {"connectors", "internal/httpx", "internal/safetext", "internal/connector/blob"},
		"deploy":                        {},
		"ent":                           {"ent", "ent/gid", "internal/viewer"},
		"ent/migrate/migrations":        {},
		"ent/rule":                      {"internal/viewer"},
		"ent/schema":                    {"ent/rule", "ent/gid", "internal/viewer"},
		"graph":                         with("ent", "graph", "connectors", "agents", "internal/audit", "internal/chat", "internal/connector", "internal/event", "internal/identity", "internal/index", "internal/live/docwatch", "internal/model/embed", "internal/ratelimit", "internal/collection", "internal/search", "internal/store/lookup", "internal/store/transaction", "internal/queue", "internal/syncjob", "internal/system", "internal/usage", "internal/eval/traffic"),
		"internal/usage/analytics":      with(),
		"internal/system":               with("internal/queue", "internal/search/resident"),
		"internal/system/support":       {"ent/migrate/migrations", "internal/config", "internal/system/doctor"},
		"internal/system/doctor":        {"internal/config", "internal/connector/blob", "internal/humanize", "internal/secret", "internal/store", "internal/system"},
		"internal/event":                {"internal/event", "connectors", "internal/safetext", "internal/tracing"},
		"internal/event/email":          {"internal/event", "connectors", "internal/safetext", "internal/ingest/document", "internal/ingest/parse/htmldoc"},
		"internal/event/transcript":     with("ent", "internal/event", "internal/index", "internal/ingest", "internal/model/embed"),
		"internal/event/inbox":          with("ent", "connectors", "internal/apierr/check", "internal/audit", "internal/event", "internal/lease", "internal/queue", "internal/secret", "internal/store/lookup", "internal/store/transaction"),
		"internal/apierr":               {},
		"internal/archtest":             {},
		"internal/identity/authn":       with("internal/store/lookup", "internal/store/transaction", "internal/store/ttlcache", "internal/ratelimit", "ent"),
		"internal/connector/access":     with("ent", "connectors", "internal/connector/credential", "internal/connector/throttle", "internal/ingest/entryid", "internal/store/ttlcache"),
		"internal/connector/attached":   with("ent", "connectors", "internal/audit", "internal/connector/credential", "internal/secret", "internal/analysis"),
		"internal/audit":                with("internal/ratelimit", "ent"),
		"internal/backup":               {"ent/migrate/migrations", "internal/connector/blob", "internal/secret"},
		"internal/request/breaker":      {},
		"internal/request/fair":         {},
		"internal/connector/blob":       {"internal/connector/blob", "internal/httpx", "internal/tracing"},
		"internal/connector/credential": with("ent", "connectors", "internal/secret"),
		"internal/apierr/check":         {"internal/apierr"},
		"internal/patch":                {},
		"internal/chat":                 with("internal/analysis", "ent", "internal/store/transaction", "internal/search", "internal/model/llm", "internal/chat/quote"),
		"internal/chat/answer":          with("ent", "internal/chat", "internal/live/journal"),
		"internal/chat/conversation":    with("ent", "internal/usage/analytics", "internal/store/lookup", "internal/store/transaction"),
		"internal/collection":           with("ent", "internal/connector", "internal/index", "internal/model/embed", "internal/queue", "internal/store/lookup", "internal/store/transaction"),
		"internal/collection/document":  with("ent", "internal/audit", "internal/identity/authn", "internal/identity/principal", "internal/index", "internal/store/lookup", "internal/store/transaction"),
		"internal/collection/whynot":    with("ent", "internal/identity/authn", "internal/identity/principal", "internal/search", "internal/store/transaction"),
		"internal/connector":            with("ent", "connectors", "internal/audit", "internal/connector", "internal/store/lookup", "internal/store/transaction", "internal/syncjob"),
		"internal/store/lookup":         {"ent", "internal/apierr"},
		"internal/config":               {"internal/apierr", "internal/config/namedfile"},
		"internal/config/namedfile":     {},
		"internal/devstack":             {"internal/devstack"},
		"internal/store/driverlog":      {},
		"internal/live/connection":      with("internal/identity/authn", "internal/request/accesslog", "internal/request/body"),
		"client":                        {},
		"internal/client":               {"internal/apierr", "internal/config/namedfile", "internal/request/storedop"},
		"internal/eval/bench":           {"ent/gid", "internal/eval/bench", "internal/client", "internal/connector/blob", "internal/devstack", "internal/heap", "internal/humanize", "internal/index", "internal/ingest", "internal/model/embed", "internal/viewer"},
		"internal/eval/bench/netfault":  {"internal/devstack"},
		"internal/eval/bench/synth":     {},
		"internal/heap":                 {},
		"internal/humanize":             {},
		"internal/request/accesslog":    {"internal/safetext", "internal/viewer"},
		"internal/request/body":         {"internal/viewer"},
		"internal/live/docwatch":        with("internal/index"),
		"internal/model/embed":          {"internal/request/breaker", "internal/model/embed", "internal/model/llm/provider", "internal/model/bedrock", "internal/model/google", "internal/analysis"},
		"internal/model/bedrock":        {"internal/model/llm/provider"},
		"internal/model/google":         {"internal/model/llm/provider"},
		"internal/model/fingerprint":    {"internal/model/embed", "internal/model/llm/provider"},
		"internal/eval":                 with("internal/analysis", "internal/config/namedfile", "internal/model/embed", "internal/index", "internal/ingest", "internal/search", "internal/chat/quote"),
		"internal/eval/traffic":         with("internal/eval", "internal/search", "internal/usage/analytics"),
		"internal/store/replica":        {},
		"internal/store/ttlcache":       {},
		"ent/gid":                       {},
		"internal/httpx":                {"internal/tracing"},
		"internal/index":                with("internal/ingest/passage", "internal/store/replica", "internal/analysis"),
		"internal/connector/inbound":    with("ent", "connectors", "internal/connector/credential", "internal/secret", "internal/syncjob"),
		"internal/ingest":               {"internal/ingest", "internal/model/embed", "internal/analysis", "internal/safetext", "internal/tracing"},
		"internal/model/llm":            {"internal/request/breaker", "internal/model/llm", "internal/model/bedrock", "internal/model/google", "internal/tracing"},
		"internal/ingest/entryid":       {},
		"internal/connector/state":      with("connectors"),
		"internal/connector/throttle":   {"connectors"},
		"internal/identity/principal":   with("internal/store/ttlcache"),
		"internal/identity/people":      with("internal/audit", "internal/identity/authn", "internal/store/lookup", "internal/store/transaction", "ent"),
		"internal/connector/oauth":      with("ent", "internal/secret", "internal/store/transaction"),
		"internal/usage/quota":          with("internal/store/ttlcache", "internal/audit"),
		"internal/ratelimit":            {"internal/request/breaker"},
		"internal/lease":                {},
		"internal/live/journal":         {"internal/apierr"},
		"internal/request/compress":     {},
		"internal/request/requestid":    {},
		"internal/model/rerank":         {"internal/request/breaker", "internal/model/llm/provider", "internal/model/bedrock", "internal/model/google"},
		"internal/search":               with("internal/analysis", "internal/model/embed", "internal/search", "internal/index", "internal/ingest/document", "internal/ingest/passage", "internal/store/replica", "internal/model/rerank", "internal/request/fair"),
		"internal/search/engine":        with("internal/search/engine", "internal/search/rank", "internal/search/resident", "internal/index", "internal/request/breaker", "internal/store/ttlcache"),
		"internal/search/engine/memory": {"internal/search/engine", "internal/search/rank", "internal/index"},
		"internal/search/postgres":      with("internal/search/rank", "internal/search/spelling", "internal/store/replica", "internal/index"),
		"internal/search/quickselect":   {},
		"internal/search/rank":          {"internal/analysis", "internal/search/quickselect", "internal/search/spelling", "internal/index", "internal/tracing"},
		"internal/search/resident":      with("internal/search/quickselect", "internal/search/rank", "internal/search/spelling", "internal/index"),
		"internal/search/spelling":      {},
		"internal/analysis":             {"internal/analysis"},
		"internal/analysis/segment":     {},
		"internal/analysis/sentence":    {},
		"internal/analysis/stem":        {},
		"internal/analysis/stopword":    {},
		"internal/secret":               {},
		"internal/secret/reseal":        {"internal/secret"},
		"internal/safetext":             {},
		"internal/identity/signon":      with("ent", "internal/identity/authn", "internal/connector/oauth", "internal/ratelimit", "internal/store/transaction"),
		"internal/identity/application": with("ent", "internal/identity/authn", "internal/connector/oauth", "internal/ratelimit", "internal/secret"),
		"internal/connector/sourcefile": with("internal/store/transaction", "ent", "connectors", "internal/connector/blob", "internal/index", "internal/ingest/entryid"),
		"internal/store":                with("ent", "internal/audit", "internal/store/replica"),
		"internal/request/storedop":     {},
		"internal/chat/quote":           {"internal/analysis", "internal/search"},
		"internal/chat/summary":         {"internal/model/llm", "internal/analysis"},
		"internal/syncjob":              with("internal/store/transaction", "connectors", "ent", "internal/audit", "internal/ingest/entryid", "internal/queue"),
		"internal/testkit":              {"internal/devstack", "ent/migrate/migrations"},
		"internal/testkit/browser":      {},
		"internal/testkit/collector":    {"internal/tracing"},
		"internal/testkit/engineserver": {"internal/testkit"},
		"internal/testkit/githubserver": {"internal/testkit/gitserver"},
		"internal/testkit/gitlabserver": {"internal/testkit/gitserver"},
		"internal/testkit/injection":    {"internal/model/llm"},
		"internal/testkit/sample":       {"internal/testkit"},
		"internal/tools":                {"ent", "internal/testkit"},
		"internal/tools/generateclient": {},
		"internal/tools/fitrank":        {"internal/analysis", "internal/model/embed", "internal/eval", "internal/ingest", "internal/search"},
		"internal/tools/mcpprobe":       {"agents/mcp"},
		"internal/tools/npmpackage":     {"rest/widget"},
		"internal/tools/trainembed":     {"internal/model/embed", "internal/analysis"},
		"internal/store/transaction":    {"ent"},
		"internal/tracing":              {},
		"internal/tracing/export":       {"internal/tracing"},
		"internal/tracing/redistrace":   {"internal/tracing"},
		"internal/viewer":               {},
		"rest":                          with("rest/openapi", "internal/event", "internal/identity/authn", "internal/ratelimit", "internal/request/accesslog", "internal/search"),
		"rest/authorize":                with("internal/identity/application", "internal/identity/authn", "internal/ratelimit"),
		"rest/openapi":                  {},
		"rest/saml":                     with("internal/identity/authn", "internal/identity/signon", "internal/ratelimit"),
		"rest/scim":                     with("internal/identity/authn", "internal/identity/people", "internal/ratelimit"),
		"rest/widget":                   {"internal/request/compress"},
		"worker/project":                with("internal/index", "internal/search/engine"),
		"worker":                        with("internal/queue", "worker", "internal/store/driverlog", "internal/connector/state", "ent", "connectors", "internal/ingest", "internal/connector/credential", "internal/connector/inbound", "internal/index", "internal/ingest/entryid", "internal/secret", "internal/syncjob", "internal/model/embed", "internal/model/llm/provider", "internal/connector/attached", "internal/connector/throttle", "internal/identity/principal"),
		"internal/queue":                {"internal/tracing"},
	}
}

// allowedImports returns the longest entry of the flow that covers a package.
func allowedImports(rules map[string][]string, pkg string) ([]string, bool) {
	for folder := pkg; ; {
		if allowed, ok := rules[folder]; ok {
			return allowed, true
		}
		i := strings.LastIndexByte(folder, '/')
		if i < 0 {
			return nil, false
		}
		folder = folder[:i]
	}
}

// covers reports whether pkg is the folder entry or below it.
func covers(entry, pkg string) bool {
	return entry == "" || pkg == entry || strings.HasPrefix(pkg, entry+"/")
}

func TestDataFlowsOneWay(t *testing.T) {
	t.Parallel()
	rules := flow()
	used := map[string]bool{}
	for _, f := range files(t) {
		allowed, ok := allowedImports(rules, f.pkg)
		if !ok {
			t.Errorf("%s: folder %s has no entry in flow", f.path, f.pkg)
			continue
		}
		used[f.pkg] = true
		if f.test() {
			continue
		}
		for _, i := range f.imports() {
			if i != f.pkg && !slices.ContainsFunc(allowed, func(entry string) bool { return covers(entry, i) }) {
				t.Errorf("%s imports %s, which flow does not allow", f.path, i)
			}
		}
	}
	packages := slices.Collect(maps.Keys(used))
	for entry := range rules {
		if !slices.ContainsFunc(packages, func(pkg string) bool { return covers(entry, pkg) }) {
			t.Errorf("flow has an entry for %s, which does not exist", entry)
		}
	}
}

// Only the packages that use a vendor's SDK know its types.
func TestVendorPackagesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	homes := map[string][]string{
		"github.com/minio/minio-go":         {"connectors/s3", "internal/connector/blob", "internal/event/email", "internal/testkit", "internal/devstack"},
		"filippo.io/age":                    {"internal/backup"},
		"github.com/sashabaranov/go-openai": {"internal/model/llm", "internal/model/embed"},
		"github.com/anthropics":             {"internal/model/llm"},
		"google.golang.org/grpc":            {"internal/search/engine/weaviate"},
		"go.opentelemetry.io":               {"internal/tracing", "internal/testkit/collector"},
		"github.com/aws":                    {"internal/model/bedrock", "internal/model/llm"},
		"github.com/hibiken/asynq":          {"worker", "cmd/magpie", "internal/queue"},
		"github.com/jackc/pgx":              {"internal/secret/reseal", "internal/backup", "internal/usage/analytics", "internal/store", "internal/index", "internal/connector/inbound", "internal/event/inbox", "internal/connector/state", "internal/connector/oauth", "internal/usage/quota", "internal/identity/signon", "internal/search", "internal/devstack", "internal/testkit", "internal/tools", "ent/migrate", "cmd/magpie", "worker", "connectors/postgresql", "internal/connector/attached", "internal/identity/principal", "internal/eval/bench", "internal/eval/traffic", "internal/system", "internal/model/fingerprint"},
		"github.com/go-sql-driver/mysql":    {"connectors/mysql"},
		"vitess.io/vitess":                  {"connectors/mysql"},
		"github.com/pganalyze":              {"connectors/postgresql"},
		"github.com/AfterShip":              {"connectors/clickhouse"},
		"github.com/microsoft/go-mssqldb":   {"connectors/mssql"},
		"github.com/99designs/gqlgen":       {"graph", "rest", "cmd/magpie", "ent", "internal/tools", "internal/live/connection"},
	}
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		for _, i := range f.syntax.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			for vendor, allowed := range homes {
				if strings.HasPrefix(imported, vendor) && !slices.ContainsFunc(allowed, func(entry string) bool { return covers(entry, f.pkg) }) {
					t.Errorf("%s imports %s, which only %s may import", f.path, imported, strings.Join(allowed, ", "))
				}
			}
		}
	}
}
