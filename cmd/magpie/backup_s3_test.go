package main_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A cutter is a proxy before an S3 server. It cuts every connection from a request on that a test chooses, in the middle
// of its content.
type cutter struct {
	address string

	mu    sync.Mutex
	after func(method, key string) bool // nil cuts nothing
	cut   bool
	puts  []string // keys that were stored
}

func newCutter(t *testing.T, server *devstack.S3) *cutter {
	t.Helper()
	to, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{}
	transport := &http.Transport{DisableKeepAlives: true}
	// The signature covers the host, which stays that of the proxy.
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.cuts(r) {
			if r.Method == http.MethodGet { // half of an answer
				w.Header().Set("Content-Length", "1000000")
				_, _ = w.Write([]byte("age-encryption.org/v1\n"))
			}
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c.address = front.URL
	return c
}

func (c *cutter) cuts(r *http.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.after != nil && c.after(r.Method, r.URL.Path) {
		c.cut = true
	}
	if !c.cut && r.Method == http.MethodPut {
		c.puts = append(c.puts, r.URL.Path)
	}
	return c.cut
}

// when cuts from the nth request on for which the condition holds; nil mends the network.
func (c *cutter) when(n int, condition func(method, key string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut, c.after, c.puts = false, nil, nil
	if condition != nil {
		c.after = func(method, key string) bool {
			if condition(method, key) {
				n--
			}
			return n <= 0
		}
	}
}

// stored returns the number of files whose content was stored since when was called.
func (c *cutter) stored() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range c.puts {
		if strings.Contains(key, "/files/") {
			n++
		}
	}
	return n
}

// The backup of a whole installation, whose files are in a bucket, goes to another one. The network fails in the middle
// of backups and of a restore.
func TestABackupGoesToABucketAndComesBack(t *testing.T) {
	t.Parallel()
	server, database := testkit.S3(t), testkit.Database(t)
	for _, name := range []string{"uploads", "backups", "restored"} {
		if err := server.MakeBucket(name); err != nil {
			t.Fatal(err)
		}
	}
	network := newCutter(t, server)
	place := "s3://backups/of/magpie?region=" + server.Region + "&endpoint=" + network.address
	access := []string{"BACKUP_ACCESS_KEY_ID=" + server.AccessKey, "BACKUP_SECRET_ACCESS_KEY=" + server.SecretKey,
		"BLOB_ACCESS_KEY_ID=" + server.AccessKey, "BLOB_SECRET_ACCESS_KEY=" + server.SecretKey}
	in := func(db *testkit.DB, bucket string, extra ...string) *installation {
		return configure(t, db.AdminURL, db.OwnerURL, db.AppURL, testkit.Redis(t), "", append(append(access,
			"BLOB_URL=s3://"+bucket+"?region="+server.Region+"&endpoint="+server.Endpoint), extra...)...)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "backup.key")
	if err := os.WriteFile(key, []byte("# a comment\n"+identity.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := in(database, "uploads", "BACKUP_URL="+place, "BACKUP_RECIPIENTS="+identity.Recipient().String())
	i.mustRun("users", "create", "owner@example.com", "--new-workspace", "Test")
	i.uploadFiles(8)

	// The first try ends in the fifth file, the second in the fourth table, each after some attempts of the client.
	network.when(5, func(method, key string) bool { return method == http.MethodPut && strings.Contains(key, "/files/") })
	if out, stderr, code := i.run("backup"); code != 1 || !strings.Contains(stderr, "write the backup") {
		t.Fatalf("cut off in the files: %d %s%s", code, out, stderr)
	}
	network.when(4, func(method, key string) bool { return method == http.MethodPut && strings.Contains(key, "/tables/") })
	if out, stderr, code := i.run("backup"); code != 1 || !strings.Contains(stderr, "write the backup") {
		t.Fatalf("cut off in the tables: %d %s%s", code, out, stderr)
	}
	if n := network.stored(); n != 8 {
		t.Errorf("%d files were stored before the tables, want all", n)
	}
	network.when(0, nil)
	var listed []struct {
		ID        string
		Complete  bool
		Encrypted string
	}
	i.runJSON(&listed, "backup", "list")
	if len(listed) != 1 || listed[0].Complete {
		t.Errorf("after the cuts: %+v", listed)
	}
	if _, stderr, code := i.run("backup", "verify"); code != 1 || !strings.Contains(stderr, "no complete backup") || !strings.Contains(stderr, "run the backup again") {
		t.Errorf("verify after the cuts: %d %s", code, stderr)
	}
	type made struct {
		ID        string
		Copied    int64
		Continued bool
		Encrypted string
		Files     struct{ Count int64 }
	}
	var first, second made
	i.runJSON(&first, "backup")
	if first.Copied != 0 || !first.Continued || first.Files.Count != 8 || first.Encrypted != "recipients" || network.stored() != 0 {
		t.Errorf("continued: %+v, %d files were stored", first, network.stored())
	}

	// The second backup copies the new files.
	more := t.TempDir()
	for _, name := range []string{"one.md", "two.md"} {
		if err := os.WriteFile(filepath.Join(more, name), []byte("# More\n\nOf "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i.mustRun("files", "upload", "Files", more)
	network.when(0, nil)
	i.runJSON(&second, "backup")
	if second.Copied != 2 || second.Continued || second.Files.Count != 10 || network.stored() != 2 {
		t.Errorf("the second: %+v, %d files were stored", second, network.stored())
	}
	i.runJSON(&listed, "backup", "list")
	if len(listed) != 2 || !listed[0].Complete || !listed[1].Complete || listed[1].ID != second.ID {
		t.Errorf("both: %+v", listed)
	}
	for _, id := range []string{first.ID, second.ID} {
		for _, arguments := range [][]string{{}, {"--identity-file", key}} {
			var verified struct {
				ID       string
				Opened   bool
				Problems []string
			}
			i.runJSON(&verified, append([]string{"backup", "verify", "--backup", id}, arguments...)...)
			if verified.ID != id || verified.Opened != (len(arguments) > 0) || len(verified.Problems) != 0 {
				t.Errorf("verify: %+v", verified)
			}
		}
	}

	// The restore is cut off in a table, and run again.
	to := testkit.EmptyDatabase(t)
	restored := in(to, "restored")
	restore := []string{"--json", "restore", place, "--identity-file", key}
	network.when(3, func(method, key string) bool { return method == http.MethodGet && strings.Contains(key, "/tables/") })
	if out, stderr, code := restored.run(restore...); code != 1 || !strings.Contains(stderr, "tables/") {
		t.Fatalf("cut off in a restore: %d %s%s", code, out, stderr)
	}
	network.when(0, nil)
	out, stderr, code := restored.run(restore...)
	if code != 0 {
		t.Fatalf("restore: %d %s%s", code, out, stderr)
	}
	var result struct {
		ID     string
		Copied int64
		Files  int64
		Tables []struct {
			Table            string
			Backup, Restored int64
		}
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatal(err)
	}
	if result.ID != second.ID || result.Files != 10 || result.Copied != 0 || len(result.Tables) < 50 {
		t.Errorf("restored: %s, %d files, %d copied again, %d tables", result.ID, result.Files, result.Copied, len(result.Tables))
	}
	for _, table := range result.Tables {
		count := "select count(*) from " + pgx.Identifier{table.Table}.Sanitize()
		var was, is int64
		i.query(count, &was)
		restored.query(count, &is)
		if table.Backup != was || table.Restored != was || is != was {
			t.Errorf("%s: %d rows, %d in the backup, %d restored, %d there", table.Table, was, table.Backup, table.Restored, is)
		}
	}
	var sources int
	restored.query("select count(*) from source_files", &sources)
	if sources != 10 {
		t.Errorf("%d rows of files were restored, want 10", sources)
	}
}
