package archtest_test

import (
	"slices"
	"strings"
	"testing"
)

// flow says which packages of Magpie a folder may import. An entry covers the
// folders below it; the longest entry that matches a folder counts. "ent" in a
// list covers ent's generated packages too. Tests may import more: the fixtures
// and whatever stands at either end of what they test.
func flow() map[string][]string {
	leaves := []string{"internal/gid", "internal/viewer", "internal/apierr", "internal/storedop", "internal/requestid"}
	with := func(more ...string) []string { return append(slices.Clone(leaves), more...) }
	return map[string][]string{
		"agents":                      {"agents", "internal/search", "internal/llm", "internal/apierr", "internal/viewer"},
		"agents/catalog":              with("internal/transaction", "ent"),
		"agents/memory":               with("ent", "internal/embed", "internal/search/analysis"),
		"agents/template":             with("internal/transaction", "ent", "agents/catalog"),
		"agents/calc":                 {},
		"agents/run":                  with("agents", "ent", "internal/chat", "internal/llm", "internal/search"),
		"agents/tools":                with("agents", "ent", "internal/search", "internal/attached", "connectors"),
		"cmd":                         {""},
		"connectors":                  {"connectors", "internal/httpx", "internal/blob"},
		"ent":                         {"ent", "internal/gid", "internal/viewer"},
		"ent/migrate/migrations":      {},
		"ent/rule":                    {"internal/viewer"},
		"ent/schema":                  {"ent/rule", "internal/gid", "internal/viewer"},
		"graph":                       with("internal/analytics", "internal/transaction", "ent", "graph", "connectors", "internal/authn", "internal/chat", "internal/embed", "internal/inbound", "internal/index", "internal/people", "internal/quota", "internal/ratelimit", "internal/search", "internal/secret", "internal/sourcefile", "internal/summary", "internal/syncjob", "agents", "internal/docwatch", "internal/replay", "internal/oauth", "internal/signon", "internal/audit", "internal/pace", "internal/principal"),
		"internal/analytics":          with(),
		"internal/apierr":             {},
		"internal/archtest":           {},
		"internal/authn":              with("internal/transaction", "internal/fresh", "internal/ratelimit", "ent"),
		"internal/attached":           with("ent", "connectors", "internal/audit", "internal/secret", "internal/search/analysis"),
		"internal/audit":              with("internal/ratelimit", "ent"),
		"internal/breaker":            {},
		"internal/blob":               {"internal/blob", "internal/httpx"},
		"internal/chat":               with("ent", "internal/search", "internal/llm"),
		"internal/config":             {"internal/apierr", "internal/namedfile"},
		"internal/namedfile":          {},
		"internal/devstack":           {"internal/devstack"},
		"internal/driverlog":          {},
		"internal/docwatch":           with("internal/index"),
		"internal/embed":              {"internal/breaker", "internal/embed", "internal/llm/provider", "internal/search/analysis"},
		"internal/eval":               with("internal/namedfile", "internal/embed", "internal/index", "internal/ingest", "internal/search"),
		"internal/fresh":              {},
		"internal/gid":                {},
		"internal/httpx":              {},
		"internal/index":              with("internal/ingest/chunk", "internal/search/analysis"),
		"internal/inbound":            with("ent", "connectors", "internal/secret", "internal/syncjob"),
		"internal/ingest":             {"internal/ingest", "internal/embed", "internal/search/analysis"},
		"internal/llm":                {"internal/breaker", "internal/llm"},
		"internal/member":             {},
		"internal/note":               with(),
		"internal/pace":               {"connectors"},
		"internal/principal":          with("internal/fresh"),
		"internal/people":             with("internal/authn", "internal/transaction", "ent"),
		"internal/oauth":              with("ent", "internal/secret"),
		"internal/quota":              with("internal/fresh", "internal/audit"),
		"internal/ratelimit":          {"internal/breaker"},
		"internal/replay":             {"internal/apierr"},
		"internal/requestid":          {},
		"internal/rerank":             {"internal/breaker", "internal/llm/provider"},
		"internal/search":             with("internal/embed", "internal/search", "internal/index", "internal/rerank"),
		"internal/search/postgres":    with("internal/search/rank", "internal/index"),
		"internal/search/quickselect": {},
		"internal/search/rank":        {"internal/search/analysis", "internal/search/quickselect", "internal/index"},
		"internal/search/resident":    with("internal/search/quickselect", "internal/search/rank", "internal/index"),
		"internal/search/analysis":    {},
		"internal/secret":             {},
		"internal/signon":             with("ent", "internal/authn", "internal/oauth", "internal/transaction"),
		"internal/sourcefile":         with("internal/transaction", "ent", "connectors", "internal/blob", "internal/index", "internal/member"),
		"internal/store":              with("ent", "internal/audit"),
		"internal/storedop":           {},
		"internal/summary":            {"internal/llm", "internal/search/analysis"},
		"internal/syncjob":            with("internal/transaction", "ent", "internal/member", "worker/tasks"),
		"internal/testkit":            {"internal/devstack", "ent/migrate/migrations"},
		"internal/tools":              {"ent", "internal/testkit"},
		"internal/tools/fitrank":      {"internal/embed", "internal/eval", "internal/ingest", "internal/search"},
		"internal/tools/trainembed":   {"internal/embed", "internal/search/analysis"},
		"internal/transaction":        {"ent"},
		"internal/viewer":             {},
		"rest":                        with("rest/openapi", "internal/authn", "internal/ratelimit"),
		"rest/openapi":                {},
		"internal/widget":             {},
		"worker":                      with("worker", "internal/driverlog", "internal/note", "ent", "connectors", "internal/ingest", "internal/inbound", "internal/index", "internal/member", "internal/secret", "internal/syncjob", "internal/embed", "internal/attached", "internal/pace", "internal/principal"),
		"worker/tasks":                {},
	}
}

// rule is the longest entry of the flow that covers a folder.
func rule(rules map[string][]string, pkg string) ([]string, bool) {
	for at := pkg; ; {
		if allowed, ok := rules[at]; ok {
			return allowed, true
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			return nil, false
		}
		at = at[:i]
	}
}

func covers(entry, pkg string) bool {
	return entry == "" || pkg == entry || strings.HasPrefix(pkg, entry+"/")
}

func TestDataFlowsOneWay(t *testing.T) {
	t.Parallel()
	rules := flow()
	used := map[string]bool{}
	for _, f := range files(t) {
		allowed, ok := rule(rules, f.pkg)
		if !ok {
			t.Errorf("%s: the folder %s has no entry in the flow: what may it import?", f.path, f.pkg)
			continue
		}
		used[f.pkg] = true
		if f.test() {
			continue
		}
		for _, i := range f.imports() {
			if i != f.pkg && !slices.ContainsFunc(allowed, func(entry string) bool { return covers(entry, i) }) {
				t.Errorf("%s imports %s, which is against the flow of data", f.path, i)
			}
		}
	}
	for entry := range rules {
		if !slices.ContainsFunc(keys(used), func(pkg string) bool { return covers(entry, pkg) }) {
			t.Errorf("the flow has an entry for %s, which does not exist", entry)
		}
	}
}

func keys(m map[string]bool) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// Vendor SDKs stay where they are used: nothing else learns their types.
func TestVendorPackagesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	homes := map[string][]string{
		"github.com/minio/minio-go":         {"connectors/s3", "internal/blob", "internal/testkit", "internal/devstack"},
		"github.com/sashabaranov/go-openai": {"internal/llm", "internal/embed"},
		"github.com/anthropics":             {"internal/llm"},
		"github.com/hibiken/asynq":          {"worker", "cmd/magpie"},
		"github.com/jackc/pgx":              {"internal/analytics", "internal/store", "internal/index", "internal/inbound", "internal/note", "internal/oauth", "internal/quota", "internal/signon", "internal/search", "internal/devstack", "internal/testkit", "internal/tools", "ent/migrate", "cmd/magpie", "worker", "connectors/postgresql", "internal/attached", "internal/principal"},
		"github.com/go-sql-driver/mysql":    {"connectors/mysql"},
		"vitess.io/vitess":                  {"connectors/mysql"},
		"github.com/pganalyze":              {"connectors/postgresql"},
		"github.com/99designs/gqlgen":       {"graph", "rest", "cmd/magpie", "ent", "internal/tools"},
	}
	for _, f := range files(t) {
		if f.test() {
			continue
		}
		for _, i := range f.syntax.Imports {
			imported := strings.Trim(i.Path.Value, `"`)
			for vendor, where := range homes {
				if strings.HasPrefix(imported, vendor) && !slices.ContainsFunc(where, func(entry string) bool { return covers(entry, f.pkg) }) {
					t.Errorf("%s imports %s, which belongs in %s", f.path, imported, strings.Join(where, ", "))
				}
			}
		}
	}
}
