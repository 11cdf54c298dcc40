package local_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/local"
)

func folder(t *testing.T) *local.Folder {
	t.Helper()
	f, err := local.Make(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSecretsAreCreatedOnceAndPrivate(t *testing.T) {
	t.Parallel()
	f := folder(t)
	first, err := f.Secrets()
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.Secrets()
	if err != nil || first != second {
		t.Errorf("the secrets changed: %v", err)
	}
	if len(first.AdminPassword) < 16 || first.AdminEmail != local.AdminEmail || !strings.HasPrefix(first.SealingKeys, "local:") {
		t.Error("the secrets are incomplete")
	}
	info, err := os.Stat(filepath.Join(f.Path(), "secrets.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if other, err := folder(t).Secrets(); err != nil || other.AdminPassword == first.AdminPassword {
		t.Errorf("two folders have the same password: %v", err)
	}
}

func TestDamagedSecretsAreReportedAndNotReplaced(t *testing.T) {
	t.Parallel()
	f := folder(t)
	path := filepath.Join(f.Path(), "secrets.json")
	if err := os.WriteFile(path, []byte(`{"session_key": "x`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Secrets(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
	if content, _ := os.ReadFile(path); !strings.HasPrefix(string(content), `{"session_key"`) {
		t.Error("the damaged file was replaced")
	}
}

func TestDevFields(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if _, found, err := f.Dev(); found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	if err := f.SaveDev(local.Dev{BaseURL: "http://127.0.0.1:1", CollectionID: uuid.New()}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(f.DevPath())
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]string
	if err := json.Unmarshal(content, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"base_url", "graphql_url", "admin_email", "admin_password", "publishable_key", "secret_key", "collection_id"} {
		if _, found := fields[name]; !found {
			t.Errorf("dev.json lacks %s", name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("dev.json has more: %v", fields)
	}
	if info, err := os.Stat(f.DevPath()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestOneProcessRunsInAFolder(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if _, found, err := f.Running(); found || err != nil {
		t.Fatalf("without a process: found %v, %v", found, err)
	}
	claim, err := f.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, found, err := f.Running(); found || err != nil {
		t.Errorf("a process without a record was found: %v", err)
	}
	if pid, held, err := f.Holder(); !held || pid != os.Getpid() || err != nil {
		t.Errorf("holder %d, %v, %v", pid, held, err)
	}
	if err := claim.Publish(local.Run{BaseURL: "http://127.0.0.1:1", Ready: true}); err != nil {
		t.Fatal(err)
	}
	if run, found, err := f.Running(); !found || err != nil || run.PID != os.Getpid() || !run.Ready {
		t.Errorf("%+v, %v, %v", run, found, err)
	}
	_, err = f.Claim(t.Context())
	if busy, ok := errors.AsType[*local.BusyError](err); !ok || busy.PID != os.Getpid() {
		t.Errorf("a second claim: %v", err)
	}
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) || !strings.Contains(err.Error(), "http://127.0.0.1:1)") ||
		!strings.Contains(err.Error(), "`magpie dev` already runs in "+f.Path()) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("error of a second claim: %v", err)
	}
	if _, err := f.AwaitDemo(t.Context()); err == nil || !strings.Contains(err.Error(), "`magpie dev` already runs in "+f.Path()) {
		t.Errorf("AwaitDemo: %v", err)
	}
	if run, found, err := f.Running(); !found || err != nil || !run.Ready {
		t.Errorf("after the second claim: %+v, %v, %v", run, found, err)
	}
	if err := claim.Publish(local.Run{BaseURL: "http://127.0.0.1:1", Demo: true}); err != nil {
		t.Fatal(err)
	}
	if _, err = f.Claim(t.Context()); err == nil || !strings.Contains(err.Error(), "magpie up") || !strings.Contains(err.Error(), "magpie down") {
		t.Errorf("a claim during up: %v", err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if _, found, err := f.Running(); found || err != nil {
		t.Errorf("found after the release: %v", err)
	}
	again, err := f.Claim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestTheRecordOfAKilledProcessIsIgnored(t *testing.T) {
	t.Parallel()
	f := folder(t)
	if err := os.WriteFile(filepath.Join(f.Path(), "run.json"), []byte(`{"pid": 1, "ready": true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.Path(), "run.lock"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, found, err := f.Running(); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if stopped, err := f.End(t.Context()); stopped || err != nil {
		t.Errorf("stopped %v, %v", stopped, err)
	}
}

func TestHolderDoesNotPreventAClaim(t *testing.T) {
	t.Parallel()
	f := folder(t)
	var watchers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		watchers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if _, _, err := f.Running(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 20 {
		claim, err := f.Claim(t.Context())
		if err != nil {
			t.Error(err)
			break
		}
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	watchers.Wait()
}

func TestAFolderIsFoundFromASubfolder(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if _, err := local.Find(filepath.Join(root, local.DefaultName)); !errors.Is(err, local.ErrNone) {
		t.Errorf("got %v", err)
	}
	if _, err := local.Make(filepath.Join(root, local.DefaultName)); err != nil {
		t.Fatal(err)
	}
	found, err := local.Find("")
	if err != nil || filepath.Base(filepath.Dir(found.Path())) != filepath.Base(root) {
		t.Errorf("%v, %v", found, err)
	}
}

func TestAFolderOfAPersonIsNotTakenForData(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"demo/thesis.md", "s3/notes.md", "blobs/photo.png", "secrets.json", "services/readme.md", "magpie.log"} {
		root := t.TempDir()
		mine := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(mine), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(mine, []byte(`{"password":"mine"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(name, "/")
		for range 2 {
			if _, err := local.Make(root); err == nil || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), "--data") {
				t.Errorf("%s: %v", name, err)
			}
		}
		found, err := local.Find(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := found.Purge(); err == nil || !strings.Contains(err.Error(), first) {
			t.Errorf("purge with %s: %v", name, err)
		}
		if content, err := os.ReadFile(mine); err != nil || string(content) != `{"password":"mine"}` {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
}

func TestAPurgeDeletesWhatMagpieMadeAndNothingElse(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	mine := filepath.Join(root, "thesis.md")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := local.Make(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Secrets(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{f.Demo(), f.S3(), f.Blobs(), f.Fakes()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := local.Make(root); err != nil || again.Path() != f.Path() {
		t.Fatalf("%v, %v", again, err)
	}
	if err := f.Purge(); err != nil {
		t.Fatal(err)
	}
	if rest, err := os.ReadDir(root); err != nil || len(rest) != 1 || rest[0].Name() != "thesis.md" {
		t.Errorf("%v, %v", rest, err)
	}
}

func TestABackgroundProcessThatExitsIsReported(t *testing.T) {
	t.Parallel()
	f := folder(t)
	_, err := f.Background(t.Context(), "/bin/sh", "-c", "echo starting; echo 'the port is taken' >&2; exit 1")
	if err == nil || !strings.Contains(err.Error(), "the port is taken") || !strings.Contains(err.Error(), f.Log()) {
		t.Errorf("got %v", err)
	}
}
