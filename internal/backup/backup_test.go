package backup_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/backup"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// keys are those of SECRET_KEYS.
func keys() map[string][]byte { return map[string][]byte{"one": bytes.Repeat([]byte("k"), 32)} }

// installation is a database with rows in the tables of two workspaces, and blobs.
type installation struct {
	t     *testing.T
	db    *testkit.DB
	blobs *spy
}

// spy is a blob store that counts what is stored, and fails when told to.
type spy struct {
	blob.Store

	mu      sync.Mutex
	puts    []string
	failing func(key string) bool
}

func (s *spy) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	s.mu.Lock()
	s.puts = append(s.puts, key)
	fails := s.failing != nil && s.failing(key)
	s.mu.Unlock()
	if fails {
		_, _ = io.CopyN(io.Discard, r, 3)
		return errors.New("the place is full")
	}
	return s.Store.Put(ctx, key, r, size)
}

func (s *spy) stored(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.puts {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

func (s *spy) forget(failing func(string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts, s.failing = nil, failing
}

func folder(t *testing.T) *spy {
	t.Helper()
	dir, err := blob.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	return &spy{Store: dir}
}

func install(t *testing.T) *installation {
	t.Helper()
	i := &installation{t, testkit.Database(t), folder(t)}
	for n, id := range []string{"00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"} {
		i.execute(`insert into workspaces (id, created_at, updated_at, name) values ('` + id + `', now(), now(), 'Workspace ` + fmt.Sprint(n) + `')`)
		i.execute(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ('`+id+`', now(), now(), '`+id+`', 'Docs', 'builtin')`,
			`insert into connectors (id, created_at, updated_at, workspace_id, collection_id, name, type, config) values ('`+id+`', now(), now(), '`+id+`', '`+id+`', E'Files\t\n\\N', 'file_upload', '{}')`,
			`insert into usage_counters (workspace_id, month, queries) values ('`+id+`', '2026-11-01', 7)`)
		for f := range 3 {
			i.upload(id, fmt.Sprintf("%d-%d", n, f), strings.Repeat("content ", 1+f*1000))
		}
	}
	return i
}

// upload stores a file and its row.
func (i *installation) upload(workspace, name, content string) {
	i.t.Helper()
	key := workspace + "/" + name
	if err := i.blobs.Store.Put(i.t.Context(), key, strings.NewReader(content), -1); err != nil {
		i.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	i.execute(fmt.Sprintf(`insert into source_files (id, created_at, updated_at, workspace_id, connector_id, path, bytes, sha256, blob_key)
		values (gen_random_uuid(), now(), now(), '%s', '%s', '%s', %d, '%s', '%s')`, workspace, workspace, name, len(content), hex.EncodeToString(sum[:]), key))
}

func (i *installation) execute(statements ...string) {
	i.t.Helper()
	execute(i.t, i.db.AdminURL, statements...)
}

func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// contents returns the number of rows of each table and a hash of them.
func contents(t *testing.T, url string) map[string]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'goose_db_version'")
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		var text string
		if err := conn.QueryRow(t.Context(), "select count(*) || ' ' || coalesce(md5(string_agg(h, '' order by h)), '') from (select md5(t::text) as h from "+pgx.Identifier{name}.Sanitize()+" t) r").Scan(&text); err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

// schema returns the definitions of indexes, constraints, triggers and row-level security.
func schema(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), `
		select pg_get_indexdef(indexrelid) from pg_index where indrelid in (select oid from pg_class where relnamespace = 'public'::regnamespace)
		union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) || convalidated from pg_constraint where connamespace = 'public'::regnamespace
		union all select tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text from pg_trigger where not tgisinternal
		union all select relname || ' ' || relrowsecurity || relforcerowsecurity from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (i *installation) options(store blob.Store, p backup.Protection) backup.Options {
	at := time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)
	return backup.Options{
		DatabaseURL: i.db.OwnerURL, Blobs: i.blobs, Store: store, Protection: p, Keys: keys(), Version: "test",
		Now: func() time.Time { at = at.Add(time.Second); return at },
	}
}

func mustRun(t *testing.T, o backup.Options) backup.Result {
	t.Helper()
	result, err := backup.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func keysOf(t *testing.T, store blob.Store, folder string) []string {
	t.Helper()
	all := []string{}
	if err := store.List(t.Context(), folder, func(e blob.Entry) error { all = append(all, e.Key); return nil }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func identity(t *testing.T) (recipient, secret string) {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return key.Recipient().String(), key.String()
}

func TestABackupIsRestoredWithAllRowsAndFiles(t *testing.T) {
	t.Parallel()
	i := install(t)
	public, secret := identity(t)
	want := contents(t, i.db.AdminURL)
	// What a search engine has is left out, so that the engine gets everything again.
	i.execute("insert into engine_instance (name, origin) values ('0123456789ab', 'here')",
		`insert into engine_collections (collection_id, workspace_id, class, class_generation, index_generation, model, dimensions, shards, replicas, history, state)
			select id, workspace_id, 'M' || id, 1, 0, 'm', 0, 0, 1, '', 'READY' from collections`)
	for name, c := range map[string]struct {
		protection backup.Protection
		unlock     backup.Unlock
		login      string
	}{
		"for a recipient, by the owner":    {backup.Protection{Recipients: []string{public}}, backup.Unlock{Identities: "# key\n" + secret + "\n"}, i.db.OwnerURL},
		"by a passphrase, by a superuser":  {backup.Protection{Passphrase: "a b c"}, backup.Unlock{Passphrase: "a b c"}, i.db.AdminURL},
		"without encryption, by the owner": {backup.Protection{None: true}, backup.Unlock{}, i.db.OwnerURL},
	} {
		t.Run(name, func(t *testing.T) {
			store := folder(t)
			o := i.options(store, c.protection)
			o.DatabaseURL = c.login
			result := mustRun(t, o)
			m := result.Manifest
			if result.Copied != 6 || m.Files.Count != 6 || result.Continued || len(m.Files.Missing)+len(m.Files.Damaged) > 0 {
				t.Errorf("files: %+v", result)
			}
			counts := map[string]string{}
			for _, table := range m.Tables {
				counts[table.Name] = fmt.Sprint(table.Rows)
			}
			for name, text := range want {
				n, _, _ := strings.Cut(text, " ")
				if strings.HasPrefix(name, "engine_") {
					n = "" // it is in no backup
				}
				if counts[name] != n {
					t.Errorf("the manifest counts %s rows of %s, want %s", counts[name], name, n)
				}
			}
			v, err := backup.Verify(t.Context(), store, "", c.unlock, nil)
			if err != nil || len(v.Problems) > 0 || !v.Opened {
				t.Fatalf("verify: %v %+v", err, v)
			}
			for _, key := range keysOf(t, store, "") {
				if !strings.Contains(key, "/tables/") && !strings.HasPrefix(key, "files/") && !strings.HasSuffix(key, "/digests") {
					continue
				}
				if sealed := strings.HasPrefix(read(t, store, key), "age-encryption.org/v1"); sealed == c.protection.None {
					t.Errorf("%s is encrypted: %t", key, sealed)
				}
			}
			to := testkit.EmptyDatabase(t)
			blobs := folder(t)
			restored, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: blobs, Store: store, Unlock: c.unlock, Keys: keys()})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, contents(t, to.AdminURL)); diff != "" {
				t.Errorf("restored rows (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(schema(t, i.db.AdminURL), schema(t, to.AdminURL)); diff != "" {
				t.Errorf("restored schema (-want +got):\n%s", diff)
			}
			if restored.Files != 6 || restored.Copied != 6 || len(restored.Tables) != len(m.Tables) {
				t.Errorf("restored: %+v", restored)
			}
			for _, key := range keysOf(t, i.blobs, "") {
				if got, want := read(t, blobs, key), read(t, i.blobs, key); got != want {
					t.Errorf("the file %s has %d bytes, want %d", key, len(got), len(want))
				}
			}
		})
	}
}

func read(t *testing.T, store blob.Store, key string) string {
	t.Helper()
	content, err := store.Open(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestABackupThatWasCutOffIsContinued(t *testing.T) {
	t.Parallel()
	i := install(t)
	store := folder(t)
	// The first ends in the tables, the second in the files, the third before the manifest.
	o := i.options(store, backup.Protection{Passphrase: "p"})
	cuts := []func(string) bool{
		func(key string) bool { return strings.HasSuffix(key, "/tables/documents") },
		func(key string) bool { return strings.HasPrefix(key, "files/") && strings.HasSuffix(key, "1-9") },
		func(key string) bool { return strings.HasSuffix(key, "/manifest") },
	}
	for n, cut := range cuts {
		if n == 1 {
			i.upload("00000000-0000-0000-0000-00000000000b", "1-9", "one more")
		}
		store.forget(cut)
		if _, err := backup.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the place is full") {
			t.Fatalf("cut %d: %v", n, err)
		}
		if copied := store.stored("files/"); copied != []int{6, 1, 1}[n] {
			t.Errorf("cut %d: %d files were copied, want all at first, and then the new one", n, copied)
		}
		if all, _, err := backup.List(t.Context(), store); err != nil || len(all) != 0 {
			t.Errorf("cut %d counts as complete: %v %v", n, all, err)
		}
		if _, err := backup.Verify(t.Context(), store, "", backup.Unlock{}, nil); !errors.Is(err, backup.ErrNone) || !strings.Contains(err.Error(), "continues") {
			t.Errorf("verify after cut %d: %v", n, err)
		}
	}
	store.forget(nil)
	result := mustRun(t, o)
	if store.stored("files/") != 0 || result.Copied != 0 || !result.Continued || result.Manifest.Files.Count != 7 {
		t.Errorf("the last run copied %d files: %+v", result.Copied, result)
	}
	folders := map[string]bool{}
	for _, key := range keysOf(t, store, "backups") {
		folders[strings.Split(key, "/")[1]] = true
		if strings.Contains(key, "/journal/") {
			t.Errorf("%s is left", key)
		}
	}
	if got := slices.Collect(maps.Keys(folders)); len(got) != 1 || got[0] != result.Manifest.ID {
		t.Errorf("folders: %v, want %s", got, result.Manifest.ID)
	}
	// A file that is too short, as after a crash of the machine, is copied again.
	key := keysOf(t, store, "files")[0]
	if err := store.Store.Put(t.Context(), key, strings.NewReader("short"), -1); err != nil {
		t.Fatal(err)
	}
	if result := mustRun(t, o); result.Copied != 1 {
		t.Errorf("%d files were copied, want the one that is too short", result.Copied)
	}
	// Another key encrypts everything anew.
	o.Protection = backup.Protection{None: true}
	if result := mustRun(t, o); result.Copied != 7 {
		t.Errorf("%d files were copied for another key, want all", result.Copied)
	}
}

func TestOldBackupsAreDeletedWithTheirFiles(t *testing.T) {
	t.Parallel()
	i := install(t)
	store := folder(t)
	o := i.options(store, backup.Protection{None: true})
	first := mustRun(t, o).Manifest.ID
	i.execute("delete from source_files where path = '0-2'")
	second := mustRun(t, o).Manifest.ID
	i.upload("00000000-0000-0000-0000-00000000000a", "new", "new")
	o.Keep = 2
	result := mustRun(t, o)
	if !slices.Equal(result.Deleted, []string{first}) || len(keysOf(t, store, "files")) != 6 {
		t.Errorf("deleted %v, files %v", result.Deleted, keysOf(t, store, "files"))
	}
	all, _, err := backup.List(t.Context(), store)
	if err != nil || len(all) != 2 || all[0].ID != second {
		t.Errorf("backups: %v %v", all, err)
	}
	for _, m := range all {
		if v, err := backup.Verify(t.Context(), store, m.ID, backup.Unlock{}, nil); err != nil || len(v.Problems) > 0 {
			t.Errorf("verify %s: %v %v", m.ID, err, v)
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	i := install(t)
	public, secret := identity(t)
	store := folder(t)
	m := mustRun(t, i.options(store, backup.Protection{Recipients: []string{public}})).Manifest
	good := map[string]string{}
	for _, key := range append(keysOf(t, store, "backups"), keysOf(t, store, "files")...) {
		good[key] = read(t, store, key)
	}
	put := func(key, content string) {
		if err := store.Store.Put(t.Context(), key, strings.NewReader(content), -1); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(text string) string {
		data := []byte(text)
		data[len(data)-5] ^= 1
		return string(data)
	}
	checked := 0
	for key, content := range good {
		// A table with rows, one without, both lists, and one of the files.
		if !strings.HasSuffix(key, "tables/workspaces") && !strings.HasSuffix(key, "tables/approvals") && !strings.HasSuffix(key, "/files") &&
			!strings.HasSuffix(key, "/digests") && !strings.HasSuffix(key, "/0-1") {
			continue
		}
		checked++
		for _, unlock := range []backup.Unlock{{}, {Identities: secret}} {
			for _, damage := range []string{changed(content), content[:len(content)-7], content + "x"} {
				put(key, damage)
				if v, err := backup.Verify(t.Context(), store, m.ID, unlock, nil); err == nil && len(v.Problems) == 0 {
					t.Errorf("%s was damaged (%d bytes of %d), and nobody noticed", key, len(damage), len(content))
				}
			}
		}
		if err := store.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if v, err := backup.Verify(t.Context(), store, m.ID, backup.Unlock{}, nil); err == nil && len(v.Problems) == 0 {
			t.Errorf("%s was deleted, and nobody noticed", key)
		}
		put(key, content)
	}
	if checked != 5 {
		t.Errorf("%d parts were damaged, want 5", checked)
	}
	other, otherSecret := identity(t)
	if v, err := backup.Verify(t.Context(), store, m.ID, backup.Unlock{Identities: otherSecret}, nil); err != nil || len(v.Problems) == 0 || !strings.Contains(v.Problems[0], "another key") {
		t.Errorf("with the key of %s: %v %v", other, v, err)
	}
	// A damaged table leaves the database empty, and a later restore works.
	to := testkit.EmptyDatabase(t)
	restore := backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: folder(t), Store: store, Unlock: backup.Unlock{Identities: secret}, Keys: keys()}
	key := "backups/" + m.ID + "/tables/workspaces"
	put(key, changed(good[key]))
	if _, err := backup.Restore(t.Context(), restore); err == nil {
		t.Fatal("a damaged table was restored")
	}
	put(key, good[key])
	result, err := backup.Restore(t.Context(), restore)
	if err != nil || result.Copied != 0 {
		t.Errorf("restored again: %v, %d files copied", err, result.Copied)
	}
	if _, err := backup.Restore(t.Context(), restore); err == nil || !strings.Contains(err.Error(), "not empty") || !strings.Contains(err.Error(), "workspaces") {
		t.Errorf("into a full database: %v", err)
	}
}

func TestLostFilesAreNamed(t *testing.T) {
	t.Parallel()
	i := install(t)
	keysThere := keysOf(t, i.blobs, "")
	if err := i.blobs.Delete(t.Context(), keysThere[0]); err != nil {
		t.Fatal(err)
	}
	if err := i.blobs.Store.Put(t.Context(), keysThere[1], strings.NewReader("other"), -1); err != nil {
		t.Fatal(err)
	}
	store := folder(t)
	m := mustRun(t, i.options(store, backup.Protection{None: true})).Manifest
	if !slices.Equal(m.Files.Missing, keysThere[:1]) || !slices.Equal(m.Files.Damaged, keysThere[1:2]) || m.Files.Count != 5 {
		t.Errorf("files: %+v", m.Files)
	}
	blobs := folder(t)
	if r, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: testkit.EmptyDatabase(t).OwnerURL, Blobs: blobs, Store: store, Keys: keys()}); err != nil || r.Files != 5 {
		t.Errorf("restore: %v %+v", err, r)
	}
}

func TestALoginThatIsBlindIsRefused(t *testing.T) {
	t.Parallel()
	i := install(t)
	for name, url := range map[string]string{"the application": i.db.AppURL, "a reader without bypassrls": i.reader()} {
		o := i.options(folder(t), backup.Protection{None: true})
		o.DatabaseURL = url
		_, err := backup.Run(t.Context(), o)
		if blind, ok := errors.AsType[*backup.BlindError](err); !ok || blind.Table == "" ||
			!strings.Contains(err.Error(), "MIGRATE_DATABASE_URL") || !strings.Contains(err.Error(), "bypassrls") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another policy than the known one is not understood as a workspace's.
	i.execute("drop policy usage_counters_tenant on usage_counters", "create policy other on usage_counters using (queries > 100)")
	if _, err := backup.Run(t.Context(), i.options(folder(t), backup.Protection{None: true})); err == nil || !strings.Contains(err.Error(), "usage_counters") {
		t.Errorf("another policy: %v", err)
	}
}

// reader returns a login that may read all tables, but is bound by row-level security.
func (i *installation) reader() string {
	i.t.Helper()
	name := strings.ToLower("reader_" + i.db.Name)
	i.execute("create role "+name+" login password 'x'", "grant pg_read_all_data to "+name)
	i.t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), i.db.AdminURL)
		if err == nil {
			_, _ = conn.Exec(context.Background(), "drop role "+name)
			_ = conn.Close(context.Background())
		}
	})
	u, err := url.Parse(i.db.AdminURL)
	if err != nil {
		i.t.Fatal(err)
	}
	u.User = url.UserPassword(name, "x")
	return u.String()
}

func TestOtherKeysAreNoticed(t *testing.T) {
	t.Parallel()
	i := install(t)
	store := folder(t)
	mustRun(t, i.options(store, backup.Protection{None: true}))
	manifest := keysOf(t, store, "backups")
	for _, key := range manifest {
		if strings.HasSuffix(key, "/manifest") && strings.Contains(read(t, store, key), string(keys()["one"])) {
			t.Error("the manifest has a key")
		}
	}
	to := testkit.EmptyDatabase(t)
	o := backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: folder(t), Store: store}
	for name, given := range map[string]map[string][]byte{"lacks": {"two": keys()["one"]}, "another": {"one": bytes.Repeat([]byte("x"), 32)}} {
		o.Keys = given
		if _, err := backup.Restore(t.Context(), o); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `"one"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.WithoutKeys = true
	if _, err := backup.Restore(t.Context(), o); err != nil {
		t.Errorf("without keys: %v", err)
	}
}

// The schema of a backup of an earlier release is made first, and then brought up to date.
func TestABackupOfAnEarlierSchemaIsRestored(t *testing.T) {
	t.Parallel()
	i := &installation{t, testkit.EmptyDatabase(t), folder(t)}
	owner, err := sql.Open("pgx", i.db.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Close() }()
	steps, err := migrations.Status(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	var earlier []int64
	for _, step := range steps {
		if step.Version < 20261129000200 { // which makes the table tokens
			earlier = append(earlier, step.Version)
		}
	}
	if err := migrations.UpTo(t.Context(), owner, earlier); err != nil {
		t.Fatal(err)
	}
	i.execute(`insert into workspaces (id, created_at, updated_at, name) values (gen_random_uuid(), now(), now(), 'Early')`)
	store := folder(t)
	mustRun(t, i.options(store, backup.Protection{None: true}))
	to := testkit.Database(t) // a new, empty schema
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: folder(t), Store: store, Keys: keys()}); err != nil {
		t.Fatal(err)
	}
	got := contents(t, to.AdminURL)
	if !strings.HasPrefix(got["tokens"], "0") || got["workspaces"] != contents(t, i.db.AdminURL)["workspaces"] {
		t.Errorf("restored: %v", got)
	}
	i.execute("insert into goose_db_version (version_id, is_applied) values (20991231000000, true)")
	m := mustRun(t, i.options(store, backup.Protection{None: true})).Manifest
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: testkit.EmptyDatabase(t).OwnerURL, Blobs: folder(t), Store: store, ID: m.ID, Keys: keys()}); err == nil || !strings.Contains(err.Error(), "20991231000000") {
		t.Errorf("a backup of a later release: %v", err)
	}
}
