package sourcefile_test

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors/fileupload"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/connector/blob"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixture struct {
	*testing.T
	ctx   context.Context // of an editor
	other context.Context // of an editor of another workspace
	scope viewer.Scope
	db    *store.DB
	index *index.Store
	dir   string
	files *sourcefile.Files
	row   *ent.Connector
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, dir: t.TempDir()}
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 16)
	f.must(err)
	t.Cleanup(db.Close)
	f.db = db
	f.index = index.New(db.Pool, analysis.New())
	f.ctx, f.other = f.editor(), f.editor()
	f.scope, err = viewer.ScopeOf(f.ctx)
	f.must(err)
	collection, err := db.Ent.Collection.Create().SetName("C").SetEmbeddingModel("test").Save(f.ctx)
	f.must(err)
	f.row, err = db.Ent.Connector.Create().SetName("K").SetType("file_upload").SetCollection(collection).Save(f.ctx)
	f.must(err)
	blobs, err := blob.NewDir(f.dir)
	f.must(err)
	f.files = sourcefile.New(db.Ent, blobs, f.softDelete, sourcefile.Options{MaxBytes: 1 << 20})
	return f
}

func (f *fixture) softDelete(ctx context.Context, scope viewer.Scope, documents []uuid.UUID) (int, error) {
	return f.index.SoftDeleteIn(ctx, ent.TxFromContext(ctx).Client(), scope, documents)
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) editor() context.Context {
	f.Helper()
	row, err := f.db.Ent.Workspace.Create().SetName("W").Save(viewer.With(f.Context(), viewer.System(uuid.Nil)))
	f.must(err)
	return viewer.With(f.Context(), viewer.Viewer{Workspace: row.ID, Kind: viewer.KindSession, Role: viewer.RoleEditor, AllCollections: true})
}

func (f *fixture) upload(path, content string) *ent.SourceFile {
	f.Helper()
	row, err := f.files.Upload(f.ctx, f.row.ID, sourcefile.Upload{Path: path, MediaType: "text/markdown", Content: strings.NewReader(content), Size: int64(len(content))})
	f.must(err)
	return row
}

// read returns what the walker reads at a path.
func (f *fixture) read(path string) string {
	f.Helper()
	found, err := f.files.Stat(f.ctx, f.row.ID.String(), []string{path})
	f.must(err)
	if len(found) != 1 {
		f.Fatalf("%d files at %s", len(found), path)
	}
	return f.content(found[0])
}

func (f *fixture) content(file fileupload.File) string {
	f.Helper()
	r, err := f.files.Open(f.ctx, f.row.ID.String(), file)
	f.must(err)
	defer func() { f.must(r.Close()) }()
	content, err := io.ReadAll(r)
	f.must(err)
	return string(content)
}

// kept counts the files below a folder.
func (f *fixture) kept(dir string) (n int) {
	f.Helper()
	f.must(filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			n++
		}
		return err
	}))
	return n
}
