package syncer_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// zipFiles returns an archive of files, given as path, content, path, content.
func zipFiles(t testing.TB, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		part, err := w.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFilesInAnArchiveHaveTheirOwnDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	f.work()
	f.script.set("bundle.zip", "v1", zipFiles(t, "guides/a.md", "# A\n\nOne.\n", "b.md", "# B\n\nTwo.\n", "photo.mp4", "x", "bad.json", "{"))
	f.script.set("plain.md", "v1", "# Plain\n\nText.\n")
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 6, Added: 3, Skipped: 2, Failed: 1})
	f.expectEntry("bundle.zip", syncitem.StatusSkipped, "archive: its files")
	f.expectEntry("bundle.zip/bad.json", syncitem.StatusFailed, "invalid JSON")
	f.expectEntry("bundle.zip/photo.mp4", syncitem.StatusSkipped, "format not supported")
	if text := f.text("bundle.zip/guides/a.md"); !strings.Contains(text, "One.") {
		t.Errorf("the text is %q", text)
	}

	// A member failed, so the archive is read again. Unchanged members are not embedded again.
	f.model.embedded()
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 6, Unchanged: 3, Skipped: 2, Failed: 1})
	f.script.set("bundle.zip", "v2", zipFiles(t, "guides/a.md", "# A\n\nOne.\n", "b.md", "# B\n\nChanged.\n", "c.md", "# C\n\nThree.\n"))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 1, Modified: 1, Unchanged: 2, Skipped: 1})
	if n := f.model.embedded(); n != 2 {
		t.Errorf("%d passages were embedded", n)
	}

	// An unchanged archive is not opened.
	f.script.opened()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Unchanged: 4, Skipped: 1})
	if f.script.opened() != 0 {
		t.Error("an unchanged archive was opened")
	}

	// A malformed or missing archive deletes nothing.
	f.script.set("bundle.zip", "v3", zipFiles(t, "b.md", "# B\n\nTwo.\n")[:40])
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 5, Unchanged: 4, Failed: 1})
	f.expect(f.sync(auto()), entjob.StatusPartial, syncjob.Counters{Collected: 5, Unchanged: 4, Failed: 1})
	f.script.hooks(nil, func(context.Context, string) error { return connectors.ErrNotFound })
	f.script.set("bundle.zip", "v4", "gone before it is read")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Unchanged: 4, Skipped: 1})
	f.script.hooks(nil, nil)

	// A sync of the archive alone deletes the document of a missing member.
	f.script.set("bundle.zip", "v5", zipFiles(t, "b.md", "# B\n\nChanged.\n"))
	f.expect(f.sync(incremental("bundle.zip")), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 1, Skipped: 1, Deleted: 2})
	if f.live() != 2 {
		t.Errorf("%d documents", f.live())
	}
	f.script.fill(4, "v1")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Added: 4, Unchanged: 2, Skipped: 1})
	f.script.remove("bundle.zip")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Unchanged: 5, Deleted: 1})
	f.script.set("bundle.zip", "v6", zipFiles(t, "b.md", "# B\n\nAgain.\n"))
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Added: 1, Unchanged: 5, Skipped: 1})
	f.script.remove("bundle.zip")
	f.expect(f.sync(incremental("bundle.zip")), entjob.StatusCompleted, syncjob.Counters{Deleted: 1})
}

func TestFiltersApplyToArchiveMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.row = f.connector("scripted", map[string]any{"filters": map[string]any{
		"include": []any{"*.zip"}, "exclude": []any{"**/drafts/**"}, "extensions": []any{"zip"}, "excludeExtensions": []any{"txt"},
	}})
	f.work()
	f.script.set("a.zip", "v1", zipFiles(t, "a.md", "# A\n\nOne.\n", "drafts/b.md", "# B\n\nTwo.\n", "c.txt", "Three."))
	f.script.set("d.md", "v1", "# D\n\nFour.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 1, Skipped: 4})
	f.expectEntry("a.zip/drafts/b.md", syncitem.StatusSkipped, "filters.exclude")
	f.expectEntry("a.zip/c.txt", syncitem.StatusSkipped, "filters.excludeExtensions")
}

func TestAnInterruptedArchiveIsContinued(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var files []string
	for i := range 500 {
		files = append(files, fmt.Sprintf("docs/%03d.md", i), fmt.Sprintf("# Page %d\n\nText %d.\n", i, i))
	}
	f.script.set("large.zip", "v1", zipFiles(t, files...))
	reached := make(chan struct{})
	var once sync.Once
	f.model.hook(func(ctx context.Context, n int) error {
		if n < 230 {
			return nil
		}
		once.Do(func() { close(reached) })
		<-ctx.Done()
		return ctx.Err()
	})
	stop := f.work()
	job := f.start(auto())
	<-reached
	stop()
	if n := f.live(); n < 200 || n > 300 {
		t.Errorf("%d documents after the interruption", n)
	}
	f.model.hook(nil)
	f.work()
	f.expect(f.wait(job.ID), entjob.StatusCompleted, syncjob.Counters{Collected: 501, Added: 500, Skipped: 1})
	if f.live() != 500 {
		t.Errorf("%d documents", f.live())
	}
}

func TestDeletingAnUploadedArchiveDeletesItsDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	blobs, err := blob.NewDir(t.TempDir())
	f.must(err)
	files := sourcefile.New(f.db.Ent, blobs, func(ctx context.Context, scope viewer.Scope, ids []uuid.UUID) (int, error) {
		return f.index.SoftDeleteIn(ctx, ent.TxFromContext(ctx).Client(), scope, ids)
	}, sourcefile.Options{})
	f.registry, err = connectors.NewRegistry(fileupload.Kind(files))
	f.must(err)
	f.row = f.connector("file_upload", nil)
	f.work()
	for path, content := range map[string]string{"a.zip": zipFiles(t, "a.md", "# A\n\nOne.\n", "b.md", "# B\n\nTwo.\n"), "a.zip2.md": "# Two\n\nThree.\n"} {
		_, err := files.Upload(f.ctx, f.row.ID, sourcefile.Upload{Path: path, Content: strings.NewReader(content), Size: int64(len(content))})
		f.must(err)
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Added: 3, Skipped: 1})
	if _, err := files.Delete(f.ctx, f.row.ID, []string{"a.zip"}); err != nil || f.live() != 1 {
		t.Errorf("%d documents, %v", f.live(), err)
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Unchanged: 1})
}
