package syncer_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"magpie/connectors"
	"magpie/connectors/webcrawler"
	"magpie/ent/document"
	entjob "magpie/ent/syncjob"
	"magpie/internal/httpx"
	"magpie/internal/note"
	"magpie/internal/syncjob"
)

func TestContentAtHandPausesWarningsAndNotes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Notes = note.New(f.db.Pool)
	f.script.fill(3, "1")
	f.script.PageSize = 1
	var steps []time.Time
	f.script.hooks(func(ctx context.Context, cursor string) error {
		steps = append(steps, time.Now())
		notes := f.script.Settings.Notes
		if err := notes.Save(ctx, "seen/"+cursor, []byte(cursor)); err != nil {
			return err
		}
		_, err := notes.Load(ctx, "seen/")
		return err
	}, func(context.Context, string) error { return fmt.Errorf("what is at hand need not be opened") })
	f.script.Reshape = func(page connectors.Page) connectors.Page {
		for i := range page.Items {
			page.Items[i].Content = []byte("# At hand\n\n" + page.Items[i].Path)
		}
		page.Warnings, page.Pause = []string{"Half of it is hidden."}, 60*time.Millisecond
		return page
	}
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 3 || len(job.Warnings) != 1 || job.Warnings[0] != "Half of it is hidden." {
		t.Errorf("the job is %+v", job)
	}
	if len(steps) < 3 || steps[1].Sub(steps[0]) < 60*time.Millisecond {
		t.Errorf("the steps were at %v", steps)
	}
}

func TestASiteIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Notes = note.New(f.db.Pool)
	text := "first"
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			_, _ = fmt.Fprint(w, `<title>Home</title><main><h1>Home</h1><p>Welcome to the <a href="/guide/">guide</a> and the <a href="/notes.txt">notes</a>.</p></main>`)
		case "/guide/":
			_, _ = fmt.Fprintf(w, `<title>Guide</title><main><h1>Guide</h1><p>The %s walrus sleeps on the ice.</p></main>`, text)
		case "/notes.txt":
			w.Header().Set("Content-Type", "text/plain")
			_, _ = fmt.Fprint(w, "Some notes.")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(webcrawler.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("web_crawler", map[string]any{"startUrls": []any{site.URL + "/"}, "delayMs": float64(0)})
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 3 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Path("guide/")).Only(f.ctx)
	f.must(err)
	if row.Title != "Guide" || row.URL == nil || *row.URL != site.URL+"/guide/" {
		t.Errorf("the guide is %+v", row)
	}
	text = "second"
	f.clock.advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Modified != 1 || job.Unchanged != 2 || job.Deleted != 0 {
		t.Errorf("the second job is %+v", job)
	}
	content, err := f.index.Content(f.ctx, f.scope, row.ID)
	f.must(err)
	if !strings.Contains(content, "second walrus") {
		t.Errorf("the guide says %q", content)
	}
}
