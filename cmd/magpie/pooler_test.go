package main_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/testkit"
)

// Everything leads through PgBouncer, which has fewer connections than one process would open, and a replica is read. The worker is
// killed in the middle of a sync, and then the replica is.
func TestASyncAndSearchesBehindAPoolerWithAReplica(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute or more; internal/search tests searches through a pooler in short runs, too")
	}
	t.Parallel()
	stack := testkit.MigratedCluster(t)
	admin, err := pgx.Connect(t.Context(), stack.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = admin.Exec(t.Context(), "alter role "+testkit.ClusterLogin+" set role = magpie_app")
	if closed := admin.Close(context.WithoutCancel(t.Context())); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	copied := testkit.Replica(t, stack)
	const mode = "&default_query_exec_mode=cache_describe"
	pooled := testkit.PgBouncer(t, stack, 6).DatabaseURL + mode
	i := install(t, adminOf(stack.AdminURL), stack.OwnerURL, pooled, testkit.Redis(t), "DATABASE_READ_URL="+copied.DatabaseURL, "SEARCH_MEMORY=0")
	const files = 150
	connector := i.uploadFiles(files)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections", "--rate-per-minute", "100000")
	var person struct{ Password string }
	i.runJSON(&person, "users", "create", "second@example.com", "--role", "admin")
	_, address := i.serve()
	data, _ := graphQL(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": person.Password}})
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	reads := func(place string) (n int) {
		t.Helper()
		_, metrics := get(t, address+"/metrics", "")
		for _, found := range regexp.MustCompile(`magpie_database_reads_total\{place="`+place+`"[^}]*\} (\d+)`).FindAllStringSubmatch(metrics, -1) {
			one, err := strconv.Atoi(found[1])
			if err != nil {
				t.Fatal(err)
			}
			n += one
		}
		return n
	}

	searches := startSearches(t, address, keys.SecretKey)
	worker := i.start("worker")
	j := i.startSync(connector)
	i.waitStored(files / 5)
	worker.kill()
	i.start("worker")
	if j = i.waitJob(j.ID, 3*time.Minute, finished); j.Status != "COMPLETED" || j.Stats.Errors != 0 {
		t.Errorf("%+v", j)
	}
	i.checkComplete(files)
	list := func() {
		t.Helper()
		data, _ := graphQL(t, address, token, `{ documents(first: 5) { totalCount } }`, nil)
		if n, _ := data["documents"].(map[string]any)["totalCount"].(float64); n != files {
			t.Errorf("the list has %v documents", n)
		}
	}
	testkit.WaitFor(t, "searches and lists on the replica", func() bool {
		list()
		return reads("replica") > 20
	})
	if err := copied.Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := reads("primary")
	testkit.WaitFor(t, "searches and lists on the primary", func() bool {
		list()
		return reads("primary") > from+20
	})
	searches.check(t)
}
