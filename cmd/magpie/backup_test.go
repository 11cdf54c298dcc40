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
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

// installRoles has the statements that the installation guide begins with.
const installRoles = `
	create role magpie_owner login createrole;
	create role magpie_login login;`

// cluster is a PostgreSQL cluster that a test administers.
type cluster struct {
	t     *testing.T
	stack *devstack.Stack
}

// bareCluster returns a cluster without any role or database of Magpie.
func bareCluster(t *testing.T) cluster {
	t.Helper()
	c := cluster{t, testkit.Cluster(t)}
	c.execute("postgres", "drop database magpie", "drop role magpie_login", "drop role magpie_owner")
	return c
}

// newDatabase returns a cluster with the roles and the empty database that the installation guide begins with.
func newDatabase(t *testing.T) cluster {
	t.Helper()
	c := bareCluster(t)
	c.execute("postgres", installRoles, "create database magpie owner magpie_owner")
	c.execute("magpie", "create extension if not exists vector")
	return c
}

// An original is an installation on a cluster of its own, with two workspaces whose uploaded files are synced. Its worker runs.
type original struct {
	cluster

	installation *installation
	other        *installation // of the second workspace
	blobs        string
	key          string // searches everything in the first workspace
}

func newOriginal(t *testing.T) original {
	t.Helper()
	o := original{cluster: newDatabase(t), blobs: filepath.Join(t.TempDir(), "blobs")}
	i := o.configure(o.blobs)
	i.mustRun("migrate", "up", "--grant", testkit.ClusterLogin)
	i.mustRun("users", "create", "owner@example.com", "--new-workspace", "Test")
	i.start("worker")
	i.uploadFiles(12)
	i.mustRun("sync", "start", "Files")
	i.mustRun("users", "create", "other@example.com", "--new-workspace", "Other")
	other := *i
	other.flags = append(append([]string{}, i.flags...), "--workspace", "Other")
	other.uploadFiles(9)
	other.mustRun("sync", "start", "Files")
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "--workspace", "Test", "keys", "create", "--name", "Test", "--host", "*", "--all-collections")
	o.installation, o.other, o.key = i, &other, keys.SecretKey
	return o
}

// url returns the URL of a database for a login.
func (c cluster) url(login, database string) string {
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
	connection, err := pgx.Connect(ctx, c.url("postgres", database))
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

// run runs a client program of PostgreSQL.
func (c cluster) run(name string, arguments ...string) (stdout []byte, stderr string, err error) {
	c.t.Helper()
	path, err := c.stack.Program(c.t.Context(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	var o, e bytes.Buffer
	command := programCommand(path, arguments...)
	command.Stdout, command.Stderr = &o, &e
	err = command.Run()
	return o.Bytes(), e.String(), err
}

func (c cluster) mustRun(name string, arguments ...string) {
	c.t.Helper()
	_, stderr, err := c.run(name, arguments...)
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(arguments, " "), err, stderr)
	}
}

// tables returns the number of rows of each table and a hash of all their columns.
func (c cluster) tables(database string) map[string]string {
	c.t.Helper()
	connection := c.connect(database)
	rows, err := connection.Query(c.t.Context(), "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')")
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

// configure returns an installation on the cluster's database, with the blobs of a folder.
func (c cluster) configure(blobs string) *installation {
	c.t.Helper()
	return configure(c.t, c.url("postgres", "magpie"), c.url("magpie_owner", "magpie"), c.url(testkit.ClusterLogin, "magpie"), testkit.Redis(c.t), blobs)
}

// searchAll returns the results of several searches, by an operator and with a
// key, without their durations.
func searchAll(t *testing.T, i *installation, address, key string) []any {
	t.Helper()
	var all []any
	for _, workspace := range []string{"Test", "Other"} {
		for _, query := range []string{"what does part 3 say about topic5", "page7", "more words"} {
			var answer map[string]any
			i.runJSON(&answer, "--workspace", workspace, "search", query, "--limit", "50", "--min-score", "0")
			delete(answer, "tookMs")
			if answer["total"].(float64) == 0 {
				t.Errorf("no result in %s for %q", workspace, query)
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

// checkRestored serves the restored database. Searches return the same results
// as before, and syncs read the uploaded files from the blobs.
func (c cluster) checkRestored(blobs string, want []any, key string) {
	c.t.Helper()
	copied := filepath.Join(c.t.TempDir(), "blobs")
	if err := os.CopyFS(copied, os.DirFS(blobs)); err != nil {
		c.t.Fatal(err)
	}
	i := c.configure(copied)
	address := i.start("serve", "--listen", "127.0.0.1:0").address(c.t)
	if status, body := get(c.t, address+"/readyz", ""); status != http.StatusOK || !strings.Contains(body, `"schema":"ok"`) {
		c.t.Errorf("/readyz: %d %s", status, body)
	}
	// Scores fall a little as documents grow older.
	if diff := cmp.Diff(want, searchAll(c.t, i, address, key), cmpopts.EquateApprox(0, 1e-6)); diff != "" {
		c.t.Errorf("results of the restored database (-want +got):\n%s", diff)
	}
	i.start("worker")
	var synced job
	i.runJSON(&synced, "--workspace", "Test", "sync", "start", "Files", "--mode", "incremental", "--file", "part-03/page-0003.md")
	if synced.Status != "COMPLETED" || synced.Progress.Collected != 1 || synced.Stats.Errors != 0 {
		c.t.Errorf("a sync of an uploaded file: %+v", synced)
	}
	// A full sync reads every blob and replaces every document.
	i.runJSON(&synced, "--workspace", "Test", "sync", "start", "Files", "--mode", "full")
	if synced.Status != "COMPLETED" || synced.Stats.Errors != 0 || synced.Stats.Modified != 12 || synced.Stats.Deleted != 0 {
		c.t.Errorf("a full sync: %+v", synced)
	}
}

func TestABackupIsRestoredIntoAnotherCluster(t *testing.T) {
	t.Parallel()
	source := newOriginal(t)
	i := source.installation
	// Some documents are not for everyone.
	source.execute("magpie", "update documents set readers = array['group:few'] where path = 'part-05/page-0005.md'",
		`insert into principal_groups (workspace_id, connector_id, generation, principal, name) select workspace_id, id, 1, 'group:few', 'The few' from connectors`,
		`insert into principal_members (workspace_id, connector_id, generation, principal, member) select workspace_id, id, 1, 'group:few', 'user:ada@example.com' from connectors`)
	want := searchAll(t, i, i.start("serve", "--listen", "127.0.0.1:0").address(t), source.key)
	i.stopAll()
	contents := source.tables("magpie")
	for _, table := range []string{"passages", "document_texts", "passage_index", "collection_state", "principal_members", "source_files", "workspaces"} {
		if strings.HasPrefix(contents[table], "0") || contents[table] == "" {
			t.Errorf("the table %s is empty", table)
		}
	}

	// pg_dump fails for the owner, whom row-level security binds.
	if out, stderr, err := source.run("pg_dump", "-Fc", "-d", source.url("magpie_owner", "magpie")); err == nil || !strings.Contains(stderr, "row-level security") {
		t.Errorf("a dump by the owner: %v, %d bytes, %s", err, len(out), stderr)
	}
	source.execute("postgres", "create role magpie_backup login bypassrls", "grant pg_read_all_data to magpie_backup")
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	dump, roles := filepath.Join(folder, "magpie.dump"), filepath.Join(folder, "roles.sql")
	source.mustRun("pg_dump", "-Fc", "-f", dump, "-d", source.url("magpie_backup", "magpie"))
	source.mustRun("pg_dumpall", "--roles-only", "-f", roles, "-d", source.url("postgres", "postgres"))

	t.Run("roles first", func(t *testing.T) {
		t.Parallel()
		target := bareCluster(t)
		// Only the role of the superuser exists already.
		if _, stderr, _ := target.run("psql", "-X", "-q", "-f", roles, "-d", target.url("postgres", "postgres")); strings.Count(stderr, "ERROR") > 1 {
			t.Errorf("roles: %s", stderr)
		}
		target.mustRun("createdb", "--owner=magpie_owner", "--maintenance-db="+target.url("postgres", "postgres"), "magpie")
		target.mustRun("pg_restore", "--exit-on-error", "--single-transaction", "-d", target.url("postgres", "magpie"), dump)
		target.checkRows(contents)
		target.configure(source.blobs).mustRun("migrate", "up")
		target.checkRestored(source.blobs, want, source.key)
	})
	t.Run("into a new installation", func(t *testing.T) {
		t.Parallel()
		target := newDatabase(t)
		target.mustRun("pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", "--no-comments",
			"-d", target.url("magpie_owner", "magpie"), dump)
		target.checkRows(contents)
		restored := target.configure(source.blobs)
		if _, stderr, code := restored.run("collections"); code != 1 || !strings.Contains(stderr, "magpie migrate up") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("before migrate up: %d %s", code, stderr)
		}
		restored.mustRun("migrate", "up")
		if _, stderr, code := restored.run("collections"); code != 1 || !strings.Contains(stderr, "grant magpie_app to \"magpie_login\"") {
			t.Errorf("before the login is a member: %d %s", code, stderr)
		}
		target.execute("postgres", "grant magpie_app to magpie_login")
		target.mustRun("vacuumdb", "--analyze-only", "-d", target.url("magpie_owner", "magpie"))
		target.checkRestored(source.blobs, want, source.key)
	})
	t.Run("without any role", func(t *testing.T) {
		t.Parallel()
		target := bareCluster(t)
		target.mustRun("createdb", "--maintenance-db="+target.url("postgres", "postgres"), "magpie")
		if _, stderr, err := target.run("pg_restore", "-d", target.url("postgres", "magpie"), dump); err == nil || !strings.Contains(stderr, `role "magpie_owner" does not exist`) {
			t.Errorf("a restore without roles: %v %s", err, stderr)
		}
		target.checkRows(contents)
		target.execute("postgres", installRoles, "alter database magpie owner to magpie_owner")
		restored := target.configure(source.blobs)
		if _, stderr, code := restored.run("migrate", "up"); code != 1 || !strings.Contains(stderr, "belongs to postgres") || !strings.Contains(stderr, "superuser's login") {
			t.Errorf("by the owner: %d %s", code, stderr)
		}
		configure(t, target.url("postgres", "magpie"), target.url("postgres", "magpie"), target.url("magpie_login", "magpie"), "redis://127.0.0.1:1", source.blobs).mustRun("migrate", "up")
		target.execute("postgres", "grant magpie_app to magpie_login")
		restored.mustRun("migrate", "up")
		target.checkRestored(source.blobs, want, source.key)
	})
}

// checkRows checks that every table has the same rows as before.
func (c cluster) checkRows(want map[string]string) {
	c.t.Helper()
	if diff := cmp.Diff(want, c.tables("magpie")); diff != "" {
		c.t.Errorf("restored tables (-want +got):\n%s", diff)
	}
}
