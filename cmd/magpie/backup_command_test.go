package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The command makes a backup with the login of the owner, whom row-level security binds,
// while a server answers. It is restored into another cluster, which has no role of Magpie.
func TestTheBackupCommandSavesAndRestores(t *testing.T) {
	t.Parallel()
	source := newOriginal(t)
	i := source.installation
	source.other.mustRun("connectors", "create", "--name", "Bucket", "--type", "s3", "--collection", "Docs", "--option", "bucket=documents", "--option", "endpoint=http://127.0.0.1:1",
		"--credential", "accessKeyId=me", "--credential", "secretAccessKey=canary")
	address := i.start("serve", "--listen", "127.0.0.1:0").address(t)
	want := searchAll(t, i, address, source.key)

	passphrase := filepath.Join(t.TempDir(), "passphrase")
	if err := os.WriteFile(passphrase, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(t.TempDir(), "backups")
	if _, stderr, code := i.run("backup", place); code != 2 || !strings.Contains(stderr, "--unencrypted") {
		t.Errorf("without a protection: %d %s", code, stderr)
	}
	if _, stderr, code := i.run("backup", source.blobs, "--unencrypted"); code != 1 || !strings.Contains(stderr, "BLOB_URL") {
		t.Errorf("into the blob store: %d %s", code, stderr)
	}
	if _, stderr, code := i.run("restore", place, "--passphrase-file", passphrase); code != 1 || !strings.Contains(stderr, "no complete backup") {
		t.Errorf("restore of nothing: %d %s", code, stderr)
	}
	i.mustRun("backup", place, "--passphrase-file", passphrase)
	i.stopAll()
	contents := source.tables("magpie")
	var again struct {
		Copied int64
		Files  struct{ Count int64 }
	}
	i.runJSON(&again, "backup", place, "--passphrase-file", passphrase, "--keep", "1")
	if again.Copied != 0 || again.Files.Count != 21 {
		t.Errorf("the second backup: %+v", again)
	}
	var listed []struct{ Complete bool }
	i.runJSON(&listed, "backup", "list", place)
	if len(listed) != 1 || !listed[0].Complete {
		t.Errorf("the backups: %+v", listed)
	}
	i.mustRun("backup", "verify", place, "--passphrase-file", passphrase)
	i.mustRun("backup", "verify", place)
	if _, stderr, code := i.run("restore", place, "--passphrase-file", passphrase); code != 1 || !strings.Contains(stderr, "not empty") {
		t.Errorf("restore over the source: %d %s", code, stderr)
	}

	target := newDatabase(t)
	copied := filepath.Join(t.TempDir(), "blobs")
	restored := target.configure(copied)
	if _, stderr, code := restored.run("restore", place); code != 1 || !strings.Contains(stderr, "--passphrase-file") {
		t.Errorf("without the passphrase: %d %s", code, stderr)
	}
	out, stderr, code := restored.run("restore", place, "--passphrase-file", passphrase, "--grant", "magpie_login")
	if code != 0 || !strings.Contains(out, "passages") || !strings.Contains(stderr, "revoke again") {
		t.Fatalf("restore: %d %s%s", code, out, stderr)
	}
	there := target.tables("magpie")
	delete(contents, "goose_db_version") // the times of the steps
	delete(there, "goose_db_version")
	if diff := cmp.Diff(contents, there); diff != "" {
		t.Errorf("restored tables (-want +got):\n%s", diff)
	}
	target.checkRestored(copied, want, source.key)
	// The connector's credentials open with the same keys: the test reaches for the bucket.
	out, stderr, code = restored.run("--workspace", "Other", "connectors", "test", "Bucket")
	if strings.Contains(out+stderr, "cannot be opened") || !strings.Contains(out+stderr, "127.0.0.1") {
		t.Errorf("the test of a connector: %d %s%s", code, out, stderr)
	}
}
