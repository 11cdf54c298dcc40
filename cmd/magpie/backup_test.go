package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

// installRoles is what the guide has an administrator run before anything else.
const installRoles = `
	create role magpie_owner login createrole;
	create role magpie_login login;`

// cluster is a PostgreSQL that a test administers.
type cluster struct {
	t     *testing.T
	stack *devstack.Stack
}

// bareCluster is one without any role or database of Magpie's.
func bareCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{t, testkit.Cluster(t)}
	c.execute("postgres", "drop database magpie", "drop role magpie_login", "drop role magpie_owner")
	return c
}

// as is the address of a database with a login.
func (c cluster) as(login, database string) string {
	c.t.Helper()
	u, err := url.Parse(c.stack.AdminURL)
	if err != nil {
		c.t.Fatal(err)
	}
	u.User, u.Path = url.User(login), "/"+database
	return u.String()
}

func (c cluster) connect(database string) *pgx.Conn {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	connection, err := pgx.Connect(ctx, c.as("postgres", database))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

// execute runs statements as the superuser.
func (c cluster) execute(database string, statements ...string) {
	c.t.Helper()
	connection := c.connect(database)
	for _, statement := range statements {
		if _, err := connection.Exec(c.t.Context(), statement); err != nil {
			c.t.Fatalf("%s: %v", statement, err)
		}
	}
	_ = connection.Close(c.t.Context())
}

// program runs a program of PostgreSQL's; its output is the standard one, the rest is the problem.
func (c cluster) program(name string, arguments ...string) (out []byte, problem string, err error) {
	c.t.Helper()
	path, err := c.stack.Program(c.t.Context(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	var o, e bytes.Buffer
	command := commandOf(path, arguments...)
	command.Stdout, command.Stderr = &o, &e
	err = command.Run()
	return o.Bytes(), e.String(), err
}

func (c cluster) must(name string, arguments ...string) []byte {
	c.t.Helper()
	out, problem, err := c.program(name, arguments...)
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, problem)
	}
	return out
}

// contents are the rows of each table: how many, and a hash of them all, vectors and texts included.
func (c cluster) contents(database string) map[string]string {
	c.t.Helper()
	connection := c.connect(database)
	rows, err := connection.Query(c.t.Context(), "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'")
	if err != nil {
		c.t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		c.t.Fatal(err)
	}
	all := map[string]string{}
	for _, table := range tables {
		var n int
		var hash *string
		if err := connection.QueryRow(c.t.Context(), "select count(*), md5(string_agg(h, '' order by h)) from (select md5(t::text) as h from "+pgx.Identifier{table}.Sanitize()+" t) r").
			Scan(&n, &hash); err != nil {
			c.t.Fatal(err)
		}
		all[table] = fmt.Sprint(n)
		if hash != nil {
			all[table] += " " + *hash
		}
	}
	_ = connection.Close(c.t.Context())
	return all
}

// installation is a Magpie on the cluster's database, with the blobs of a folder.
func (c cluster) installation(blobs string) *installation {
	c.t.Helper()
	return configure(c.t, c.as("postgres", "magpie"), c.as("magpie_owner", "magpie"), c.as(testkit.ClusterLogin, "magpie"), testkit.Redis(c.t), blobs)
}

// found is what is found by an operator and with a key, without what differs from search to search.
func found(t *testing.T, i *installation, address, key string) []any {
	t.Helper()
	var all []any
	for _, workspace := range []string{"Test", "Other"} {
		for _, query := range []string{"what does part 3 say about topic5", "page7", "more words"} {
			var answer map[string]any
			i.read(&answer, "--workspace", workspace, "search", query, "--limit", "50", "--min-score", "0")
			delete(answer, "tookMs")
			if answer["total"].(float64) == 0 {
				t.Errorf("%s finds nothing for %q", workspace, query)
			}
			all = append(all, answer)
		}
	}
	status, body := get(t, address+"/v1/docs/search?min_score=0&limit=50&query=page", key)
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("a search with a key: %d %s", status, body)
	}
	data, _ := answer["data"].(map[string]any)
	delete(data, "took_ms")
	return append(all, data)
}

// works serves the restored database: the same is found as before, and uploaded files are read again from the blobs.
func (c cluster) works(blobs string, want []any, key string) {
	c.t.Helper()
	copied := filepath.Join(c.t.TempDir(), "blobs")
	if err := os.CopyFS(copied, os.DirFS(blobs)); err != nil {
		c.t.Fatal(err)
	}
	i := c.installation(copied)
	address := i.start("serve", "--listen", "127.0.0.1:0").address(c.t)
	if status, body := get(c.t, address+"/readyz", ""); status != http.StatusOK || !strings.Contains(body, `"schema":"ok"`) {
		c.t.Errorf("/readyz: %d %s", status, body)
	}
	if diff := cmp.Diff(want, found(c.t, i, address, key)); diff != "" {
		c.t.Errorf("the restored database finds something else:\n%s", diff)
	}
	i.start("worker")
	var synced job
	i.read(&synced, "--workspace", "Test", "sync", "start", "Files", "--mode", "incremental", "--file", "part-03/page-0003.md")
	if synced.Status != "COMPLETED" || synced.Progress.Collected != 1 || synced.Stats.Errors != 0 {
		c.t.Errorf("a sync of an uploaded file: %+v", synced)
	}
	// A full sync reads every blob and makes every document anew.
	i.read(&synced, "--workspace", "Test", "sync", "start", "Files", "--mode", "full")
	if synced.Status != "COMPLETED" || synced.Stats.Errors != 0 || synced.Stats.Modified != 12 || synced.Stats.Deleted != 0 {
		c.t.Errorf("a full sync: %+v", synced)
	}
}

func TestABackupIsRestoredIntoAnotherCluster(t *testing.T) {
	t.Parallel()
	source := bareCluster(t)
	source.execute("postgres", installRoles, "create database magpie owner magpie_owner")
	source.execute("magpie", "create extension if not exists vector")
	blobs := filepath.Join(t.TempDir(), "blobs")
	i := source.installation(blobs)
	i.ok("migrate", "up")
	source.execute("magpie", "grant magpie_app to magpie_login")
	i.ok("users", "create", "owner@example.com", "--new-workspace", "Test")
	i.start("worker")
	i.corpus(12)
	i.ok("sync", "start", "Files")
	i.ok("users", "create", "other@example.com", "--new-workspace", "Other")
	other := *i
	other.flags = append(append([]string{}, i.flags...), "--workspace", "Other")
	other.corpus(9)
	other.ok("sync", "start", "Files")
	var keys struct{ SecretKey string }
	i.read(&keys, "--workspace", "Test", "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	// Some documents are not for everyone.
	source.execute("magpie", "update documents set readers = array['group:few'] where path = 'part-05/page-0005.md'",
		`insert into principal_groups (workspace_id, connector_id, generation, principal, name) select workspace_id, id, 1, 'group:few', 'The few' from connectors`,
		`insert into principal_members (workspace_id, connector_id, generation, principal, member) select workspace_id, id, 1, 'group:few', 'user:ada@example.com' from connectors`)
	want := found(t, i, i.start("serve", "--listen", "127.0.0.1:0").address(t), keys.SecretKey)
	i.stopAll()
	contents := source.contents("magpie")
	for _, table := range []string{"passages", "document_texts", "passage_index", "collection_state", "principal_members", "source_files", "workspaces"} {
		if strings.HasPrefix(contents[table], "0") || contents[table] == "" {
			t.Errorf("the table %s is empty, and so proves nothing", table)
		}
	}

	// The owner is bound by row-level security, and pg_dump says so.
	if out, problem, err := source.program("pg_dump", "-Fc", "-d", source.as("magpie_owner", "magpie")); err == nil || !strings.Contains(problem, "row-level security") {
		t.Errorf("a dump by the owner: %v, %d bytes, %s", err, len(out), problem)
	}
	source.execute("postgres", "create role magpie_backup login bypassrls", "grant pg_read_all_data to magpie_backup")
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dump, roles := filepath.Join(folder, "magpie.dump"), filepath.Join(folder, "roles.sql")
	source.must("pg_dump", "-Fc", "-f", dump, "-d", source.as("magpie_backup", "magpie"))
	source.must("pg_dumpall", "--roles-only", "-f", roles, "-d", source.as("postgres", "postgres"))

	t.Run("roles first", func(t *testing.T) {
		t.Parallel()
		target := bareCluster(t)
		// Only the role of the superuser is there already.
		if _, problem, _ := target.program("psql", "-X", "-q", "-f", roles, "-d", target.as("postgres", "postgres")); strings.Count(problem, "ERROR") > 1 {
			t.Errorf("roles: %s", problem)
		}
		target.must("createdb", "--owner=magpie_owner", "--maintenance-db="+target.as("postgres", "postgres"), "magpie")
		target.must("pg_restore", "--exit-on-error", "--single-transaction", "-d", target.as("postgres", "magpie"), dump)
		target.restored(contents)
		target.installation(blobs).ok("migrate", "up")
		target.works(blobs, want, keys.SecretKey)
	})
	t.Run("into a new installation", func(t *testing.T) {
		t.Parallel()
		target := bareCluster(t)
		target.execute("postgres", installRoles, "create database magpie owner magpie_owner")
		target.execute("magpie", "create extension if not exists vector")
		target.must("pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", "--no-comments",
			"-d", target.as("magpie_owner", "magpie"), dump)
		target.restored(contents)
		restored := target.installation(blobs)
		if _, problem, code := restored.run("collections"); code != 1 || !strings.Contains(problem, "magpie migrate up") || strings.Count(problem, "\n") != 1 {
			t.Errorf("before the roles are there: %d %s", code, problem)
		}
		restored.ok("migrate", "up")
		if _, problem, code := restored.run("collections"); code != 1 || !strings.Contains(problem, "grant magpie_app to \"magpie_login\"") {
			t.Errorf("before the login is a member: %d %s", code, problem)
		}
		target.execute("postgres", "grant magpie_app to magpie_login")
		target.must("vacuumdb", "--analyze-only", "-d", target.as("magpie_owner", "magpie"))
		target.works(blobs, want, keys.SecretKey)
	})
	t.Run("without any role", func(t *testing.T) {
		t.Parallel()
		target := bareCluster(t)
		target.must("createdb", "--maintenance-db="+target.as("postgres", "postgres"), "magpie")
		if _, problem, err := target.program("pg_restore", "-d", target.as("postgres", "magpie"), dump); err == nil || !strings.Contains(problem, `role "magpie_owner" does not exist`) {
			t.Errorf("a restore without roles: %v %s", err, problem)
		}
		target.restored(contents)
		target.execute("postgres", installRoles, "alter database magpie owner to magpie_owner")
		restored := target.installation(blobs)
		if _, problem, code := restored.run("migrate", "up"); code != 1 || !strings.Contains(problem, "belongs to postgres") || !strings.Contains(problem, "superuser's login") {
			t.Errorf("by the owner: %d %s", code, problem)
		}
		configure(t, target.as("postgres", "magpie"), target.as("postgres", "magpie"), target.as("magpie_login", "magpie"), "redis://127.0.0.1:1", blobs).ok("migrate", "up")
		target.execute("postgres", "grant magpie_app to magpie_login")
		restored.ok("migrate", "up")
		target.works(blobs, want, keys.SecretKey)
	})
}

// restored checks that every row of every table is there.
func (c cluster) restored(want map[string]string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.contents("magpie")); diff != "" {
		c.t.Errorf("the restored tables differ:\n%s", diff)
	}
}
