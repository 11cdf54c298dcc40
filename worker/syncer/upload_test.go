package syncer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The sync uses the real connector and the real store of files.
func TestUploadedFilesAreSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Window = -1
	blobs, err := blob.NewDir(t.TempDir())
	f.must(err)
	files := sourcefile.New(f.db.Ent, blobs, func(ctx context.Context, scope viewer.Scope, ids []uuid.UUID) (int, error) {
		return f.index.SoftDeleteIn(ctx, ent.TxFromContext(ctx).Client(), scope, ids)
	}, sourcefile.Options{})
	f.registry, err = connectors.NewRegistry(fileupload.Kind(files))
	f.must(err)
	f.row = f.connector("file_upload", nil)
	f.work()
	upload := func(path, content string) {
		t.Helper()
		_, err := files.Upload(f.ctx, f.row.ID, sourcefile.Upload{Path: path, Content: strings.NewReader(content), Size: int64(len(content))})
		f.must(err)
	}
	for _, path := range []string{"a.md", "guides/b.md", "guides/c.md", "d.md", "photo.jpg"} {
		upload(path, "# "+path+"\n\nText of "+path+"\n")
	}
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 4, Skipped: 1})
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Unchanged: 4, Skipped: 1})
	upload("a.md", "# A\n\nOther text.\n")
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 5, Modified: 1, Unchanged: 3, Skipped: 1})
	if _, err := files.Delete(f.ctx, f.row.ID, []string{"d.md"}); err != nil || f.live() != 3 {
		t.Errorf("after a deletion: %v", err)
	}
	upload("guides/c.md", "# C\n\nNew.\n")
	f.expect(f.sync(incremental("guides/c.md", "d.md")), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	f.expect(f.sync(full()), entjob.StatusCompleted, syncjob.Counters{Collected: 4, Modified: 3, Skipped: 1})
}
