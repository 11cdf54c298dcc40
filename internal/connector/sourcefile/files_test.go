package sourcefile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/viewer"
)

func codeOf(err error) apierr.Code {
	var e *apierr.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestUploadStoresAFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	row := f.upload("guides/Über uns.md", "hello")
	if row.Path != "guides/Über uns.md" || row.Bytes != 5 || row.MediaType != "text/markdown" ||
		row.Sha256 != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" || strings.Contains(row.BlobKey, "uns") {
		t.Errorf("the row is %+v", row)
	}
	if got := f.read("guides/Über uns.md"); got != "hello" {
		t.Errorf("read %q", got)
	}
	empty := f.upload("empty.txt", "")
	if empty.Bytes != 0 || f.read("empty.txt") != "" {
		t.Errorf("an empty file is %+v", empty)
	}
}

func TestUploadReplacesTheFileAtThePath(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := f.upload("a.md", "old")
	row := f.upload("a.md", "new text")
	if row.ID != old.ID || row.BlobKey == old.BlobKey || row.Bytes != 8 || !row.CreatedAt.Equal(old.CreatedAt.Truncate(time.Microsecond)) || !row.UpdatedAt.After(old.UpdatedAt) {
		t.Errorf("%+v became %+v", old, row)
	}
	if f.read("a.md") != "new text" || f.kept(f.dir) != 1 {
		t.Errorf("read %q, %d blobs are kept", f.read("a.md"), f.kept(f.dir))
	}
}

func TestConcurrentUploadsToOnePathLeaveOneFile(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			content := fmt.Sprintf("content %d", i)
			if _, err := f.files.Upload(f.ctx, f.row.ID, sourcefile.Upload{Path: "a.md", Content: strings.NewReader(content), Size: -1}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.kept(f.dir); n != 1 || !strings.HasPrefix(f.read("a.md"), "content ") {
		t.Errorf("%d blobs are kept, the file is %q", n, f.read("a.md"))
	}
}

func TestUploadRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	broken := errors.New("the line went dead")
	big := strings.Repeat("x", 1<<20+1)
	reader := viewer.With(t.Context(), func() viewer.Viewer {
		v, _ := viewer.From(f.ctx)
		v.Role = viewer.RoleViewer
		return v
	}())
	for name, c := range map[string]struct {
		ctx       context.Context
		connector uuid.UUID
		content   io.Reader
		size      int64
		want      apierr.Code
	}{
		"too large":              {content: strings.NewReader(big), size: int64(len(big)), want: apierr.TooLarge},
		"too large, not said":    {content: strings.NewReader(big), size: -1, want: apierr.TooLarge},
		"cut off":                {content: strings.NewReader("ab"), size: 3, want: apierr.InvalidRequest},
		"more than said":         {content: strings.NewReader("abcd"), size: 3, want: apierr.InvalidRequest},
		"broken":                 {content: iotest.ErrReader(broken), size: -1, want: apierr.Internal},
		"no such connector":      {connector: gid.New(gid.Connector), want: apierr.CodeNotFound},
		"of another workspace":   {ctx: f.other, want: apierr.CodeNotFound},
		"somebody who may look":  {ctx: reader, want: ""},
		"nobody":                 {ctx: t.Context(), want: apierr.Internal},
		"somebody whose ctx end": {ctx: ended(f.ctx), want: apierr.Unavailable},
	} {
		if c.ctx == nil {
			c.ctx = f.ctx
		}
		if c.connector == uuid.Nil {
			c.connector = f.row.ID
		}
		if c.content == nil {
			c.content = strings.NewReader("text")
			c.size = 4
		}
		_, err := f.files.Upload(c.ctx, c.connector, sourcefile.Upload{Path: "a.md", Content: c.content, Size: c.size})
		if err == nil || c.want != "" && codeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.kept(f.dir); n != 0 {
		t.Errorf("%d blobs are left", n)
	}
}

func ended(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func TestUploadInATransactionThatIsRolledBack(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.upload("a.md", "old")
	inside, tx, err := f.db.Ent.OpenTx(f.ctx)
	f.must(err)
	_, err = f.files.Upload(inside, f.row.ID, sourcefile.Upload{Path: "a.md", Content: strings.NewReader("new"), Size: 3})
	f.must(err)
	f.must(tx.Rollback())
	if f.read("a.md") != "old" || f.kept(f.dir) != 1 {
		t.Errorf("the file is %q, %d blobs are kept", f.read("a.md"), f.kept(f.dir))
	}
	inside, tx, err = f.db.Ent.OpenTx(f.ctx)
	f.must(err)
	_, err = f.files.Upload(inside, f.row.ID, sourcefile.Upload{Path: "a.md", Content: strings.NewReader("new"), Size: 3})
	f.must(err)
	f.must(tx.Commit())
	if f.read("a.md") != "new" || f.kept(f.dir) != 1 {
		t.Errorf("the file is %q, %d blobs are kept", f.read("a.md"), f.kept(f.dir))
	}
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a", "a.md", "a/b/c.md", "Über uns.md", ".hidden", "a..b", "...", "a b", "文档/说明.md", strings.Repeat("a", 1024)} {
		if err := sourcefile.CheckPath(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", `a\b`, "a\x00b", "a\nb", "a\xff", strings.Repeat("a", 1025),
	} {
		err := sourcefile.CheckPath(path)
		if e := apierr.From(err); err == nil || e.Code != apierr.InvalidRequest || e.Field != "paths" {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func FuzzCheckPath(f *testing.F) {
	for _, path := range []string{"a/b.md", "../a", "/a", "a//b", "\xff", "a\x00", `\\server\share`, "."} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if sourcefile.CheckPath(path) != nil {
			return
		}
		if path == "" || len(path) > sourcefile.MaxPathBytes || strings.HasPrefix(path, "/") || strings.ContainsAny(path, "\x00\\\n") ||
			slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return part == "" || part == "." || part == ".." }) {
			t.Errorf("%q passed", path)
		}
	})
}

func TestListReturnsAllFilesInByteOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	paths := []string{"b.md", "B.md", "a/z.md", "a.md", "ä.md", "a b.md", "a-b.md", "Z/1.md", "ab.md", "_.md"}
	for _, path := range paths {
		f.upload(path, path)
	}
	slices.Sort(paths)
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		page, err := f.files.List(f.ctx, f.row.ID.String(), after, 3)
		f.must(err)
		for _, file := range page {
			got = append(got, file.Path)
			if f.content(file) != file.Path || len(file.Version) != 64 || file.ModifiedAt.IsZero() {
				t.Errorf("listed %+v", file)
			}
		}
		if len(page) < 3 {
			break
		}
	}
	if !slices.Equal(got, paths) {
		t.Errorf("listed %q\nwant   %q", got, paths)
	}
	if others, err := f.files.List(f.other, f.row.ID.String(), "", 10); err != nil || len(others) != 0 {
		t.Errorf("another workspace lists %v, %v", others, err)
	}
	if _, err := f.files.List(f.ctx, "no id", "", 10); err == nil {
		t.Error("listed the files of no connector")
	}
}

func TestOpenOfALostBlobIsNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	row := f.upload("a.md", "text")
	found, err := f.files.Stat(f.ctx, f.row.ID.String(), []string{"a.md", "b.md"})
	f.must(err)
	f.must(f.files.DeleteBlobs(f.ctx, []string{row.BlobKey}))
	if _, err := f.files.Open(f.ctx, f.row.ID.String(), found[0]); !errors.Is(err, connectors.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	f.upload("a.md", "text")
	if f.read("a.md") != "text" {
		t.Error("uploading the same again does not repair it")
	}
}

// indexed creates a document and a ledger entry for a path.
func (f *fixture) indexed(path string) uuid.UUID {
	f.Helper()
	out, err := f.index.Put(f.ctx, f.scope, index.Fence{}, &index.Record{
		Connector: f.row.ID, Collection: f.row.CollectionID, SourceID: path, Path: path, Title: path, Text: "text", Model: "test",
		Passages: []passage.Passage{{Text: "text"}}, Vectors: [][]float32{{1, 0}},
		Ledger: index.LedgerEntry{JobID: gid.New(gid.SyncJob), PipelineVersion: 1},
	})
	f.must(err)
	return out.Document
}

func TestDeleteAlsoDeletesDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"a.md", "b.md", "c.md", "left.md"} {
		if path != "left.md" { // the deletion of this path was interrupted
			f.upload(path, path)
		}
		f.indexed(path)
	}
	deleted, err := f.files.Delete(f.ctx, f.row.ID, []string{"b.md", "a.md", "never.md", "a.md", "left.md"})
	f.must(err)
	if !slices.Equal(deleted, []string{"a.md", "b.md"}) || f.kept(f.dir) != 1 {
		t.Errorf("deleted %q, %d blobs are kept", deleted, f.kept(f.dir))
	}
	live, err := f.db.Ent.Document.Query().Where(document.StatusNEQ(document.StatusDeleted)).All(f.ctx)
	f.must(err)
	if len(live) != 1 || live[0].Path != "c.md" {
		t.Errorf("the documents are %v", live)
	}
	lines, err := f.db.Ent.SyncItem.Query().Where(syncitem.StatusEQ(syncitem.StatusDeleted), syncitem.ReasonNotNil()).Count(f.ctx)
	f.must(err)
	if lines != 3 {
		t.Errorf("%d lines of the ledger say deleted", lines)
	}
	again, err := f.files.Delete(f.ctx, f.row.ID, []string{"a.md"})
	f.must(err)
	if again == nil || len(again) != 0 {
		t.Errorf("deleted %v again", again)
	}
}

func TestDeleteInATransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.upload("a.md", "text")
	id := f.indexed("a.md")
	for _, commit := range []bool{false, true} {
		inside, tx, err := f.db.Ent.OpenTx(f.ctx)
		f.must(err)
		_, err = f.files.Delete(inside, f.row.ID, []string{"a.md"})
		f.must(err)
		if commit {
			f.must(tx.Commit())
		} else {
			f.must(tx.Rollback())
		}
		row, err := f.db.Ent.Document.Get(f.ctx, id)
		f.must(err)
		if gone := row.Status == document.StatusDeleted; gone != commit || (f.kept(f.dir) == 0) != commit {
			t.Errorf("commit %v: the document is %s, %d blobs are kept", commit, row.Status, f.kept(f.dir))
		}
	}
}

func TestDeleteRefusals(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.upload("a.md", "text")
	id := f.indexed("a.md")
	for name, c := range map[string]struct {
		ctx   context.Context
		paths []string
		want  apierr.Code
	}{
		"nothing named":   {f.ctx, nil, apierr.InvalidRequest},
		"too many":        {f.ctx, slices.Repeat([]string{"a.md"}, 10_001), apierr.InvalidRequest},
		"an odd path":     {f.ctx, []string{"a.md", "../a.md"}, apierr.InvalidRequest},
		"another's":       {f.other, []string{"a.md"}, apierr.CodeNotFound},
		"nobody's viewer": {t.Context(), []string{"a.md"}, apierr.Internal},
	} {
		if _, err := f.files.Delete(c.ctx, f.row.ID, c.paths); codeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if row, err := f.db.Ent.Document.Get(f.ctx, id); err != nil || row.Status != document.StatusIndexed || f.read("a.md") != "text" {
		t.Errorf("something was deleted: %v, %v", row, err)
	}
}

func TestUploadOfAFileThatWasDeletedByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.upload("a.md", "text")
	f.indexed("a.md")
	f.must(f.db.Ent.SyncItem.Update().SetSuppressed(true).SetStatus(syncitem.StatusDeleted).SetReason("deleted by hand").Exec(f.ctx))
	f.upload("a.md", "text")
	if line, err := f.db.Ent.SyncItem.Query().Only(f.ctx); err != nil || line.Suppressed || line.Reason != nil {
		t.Errorf("the ledger says %v, %v", line, err)
	}
}

func TestPurgeDeletesTheFilesOfDeletedConnectors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"a.md", "b.md", "c.md"} {
		f.upload(path, path)
	}
	if n, err := f.files.Purge(t.Context(), f.row.ID, 2); n != 0 || err != nil || f.kept(f.dir) != 3 {
		t.Errorf("of a connector that stays: %d, %v", n, err)
	}
	f.must(f.db.Ent.Connector.UpdateOne(f.row).SetDeletingAt(time.Now()).Exec(f.ctx))
	for _, want := range []int{2, 1, 0} {
		if n, err := f.files.Purge(t.Context(), f.row.ID, 2); n != want || err != nil {
			t.Errorf("Purge = %d, %v; want %d", n, err, want)
		}
	}
	if n := f.kept(f.dir); n != 0 {
		t.Errorf("%d blobs are kept", n)
	}
	if err := f.files.DeleteBlobs(f.ctx, []string{"../odd", "files/x"}); err == nil {
		t.Error("a blob that cannot be deleted is no error")
	}
}
