package command_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
)

// work runs a worker until the test ends.
func (s *shell) work() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var worker sync.WaitGroup
	var log bytes.Buffer
	worker.Go(func() {
		if code := command.Run(ctx, append(append([]string{}, s.flags...), "worker"), command.Streams{In: strings.NewReader(""), Out: &log, Err: &log}); code != 0 {
			s.t.Errorf("the worker ended with %d: %s", code, log.String())
		}
	})
	s.t.Cleanup(func() { cancel(); worker.Wait() })
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

type shownJob struct {
	ID, Status string
	Progress   struct{ Collected, Parsed, Indexed int }
	Stats      struct{ Added, Modified, Deleted, Unchanged, Skipped, Errors int }
	Warnings   []string
}

func TestTheWholeWayFromAShell(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.work()
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Files", "--type", "file", "--collection", "Docs")
	folder := write(t, map[string]string{
		"keys.md":      "---\ntags: [security]\nversion: v2\n---\n# Rotate the key\n\nThe signing key is rotated once a year, by hand.\n",
		"faq/index.md": "# Questions\n\n## Is there a warranty?\n\nNo, there is none.\n",
		"film.mp4":     "\x00\x00\x00\x18ftypmp42",
	})
	s.ok("files", "upload", "Files", folder)
	var job shownJob
	s.read(&job, "sync", "start", "Files")
	if job.Status != "COMPLETED" || job.Stats.Added != 2 || job.Stats.Skipped != 1 || job.Progress.Collected != 3 {
		t.Errorf("%+v", job)
	}
	if out := s.ok("sync", "items", "Files", "--status", "skipped"); !strings.Contains(out, "film.mp4") || !strings.Contains(out, "not supported") {
		t.Errorf("%s", out)
	}
	if out := s.ok("sync", "status", "Files"); !strings.Contains(out, job.ID) || !strings.Contains(out, "2 added") {
		t.Errorf("%s", out)
	}
	if out := s.ok("sync", "watch", job.ID); !strings.Contains(out, "completed") {
		t.Errorf("%s", out)
	}
	out := s.ok("search", "rotate", "signing", "key")
	if !strings.Contains(out, "Rotate the key") || !strings.Contains(out, "*signing*") {
		t.Errorf("%s", out)
	}
	var found struct {
		Total   int
		Results []struct {
			Title   string
			Version *string
			Tags    []string
		}
	}
	s.read(&found, "search", "key", "--tag", "security", "--doc-version", "v2", "--collection", "Docs", "--min-score", "0")
	if found.Total == 0 || found.Results[0].Title != "Rotate the key" || found.Results[0].Version == nil {
		t.Errorf("%+v", found)
	}
	s.read(&found, "search", "key", "--doc-version", "v1", "--min-score", "0")
	if found.Total != 0 {
		t.Errorf("another version was found: %+v", found)
	}
	if out := s.ok("chat", "Who rotates the signing key?"); !strings.Contains(out, "[1]") || !strings.Contains(out, "Rotate the key") {
		t.Errorf("%s", out)
	}
}

func TestTheSameSyncTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.work()
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Files", "--type", "file", "--collection", "Docs")
	folder := write(t, map[string]string{"a.md": "# A\n\nText of a.\n", "b.md": "# B\n\nText of b.\n"})
	s.ok("files", "upload", "Files", folder)
	var job shownJob
	s.read(&job, "sync", "start", "Files")
	s.read(&job, "sync", "start", "Files")
	if job.Status != "COMPLETED" || job.Stats.Unchanged != 2 || job.Stats.Added+job.Stats.Modified != 0 {
		t.Errorf("%+v", job)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.md"), []byte("# A\n\nAnother text.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("files", "upload", "Files", folder)
	s.read(&job, "sync", "start", "Files", "--mode", "incremental", "--file", "a.md")
	if job.Status != "COMPLETED" || job.Stats.Modified != 1 || job.Progress.Collected != 1 {
		t.Errorf("%+v", job)
	}
	s.ok("files", "delete", "Files", "b.md")
	if o := s.run("search", "text of b", "--json", "--min-score", "0"); o.code != 0 || strings.Contains(o.out, `"title": "B"`) {
		t.Errorf("a deleted file is found: %+v", o)
	}
	s.fails("file_filter", "sync", "start", "Files", "--mode", "incremental")
	s.fails("not found", "sync", "cancel", "01a1fc80-846a-8005-8139-e6fc9f9ade5a")
}

func TestAQueuedSyncIsAnsweredAgainAndCanBeCanceled(t *testing.T) {
	t.Parallel()
	s := newShell(t) // without a worker: the job stays queued
	s.ok("collections", "create", "Docs")
	s.ok("connectors", "create", "--name", "Files", "--type", "file", "--collection", "Docs")
	var job, again shownJob
	s.read(&job, "sync", "start", "Files", "--detach")
	s.read(&again, "sync", "start", "Files", "--detach")
	if job.Status != "QUEUED" || again.ID != job.ID {
		t.Errorf("%+v, %+v", job, again)
	}
	s.read(&job, "sync", "cancel", job.ID)
	s.read(&job, "sync", "status", job.ID)
	if job.Status != "CANCELED" {
		t.Errorf("%+v", job)
	}
	s.ok("connectors", "update", "Files", "--disabled")
	if o := s.run("sync", "start", "Files", "--detach"); o.code == 0 || strings.Count(o.err, "\n") != 1 {
		t.Errorf("a sync of a disabled connector: %+v", o)
	}
}
