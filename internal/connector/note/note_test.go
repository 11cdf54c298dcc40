package note_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/connector/note"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// place is a workspace with a connector.
type place struct {
	workspace, connector uuid.UUID
	scope                viewer.Scope
}

func places(t *testing.T) (*note.Store, *pgx.Conn, [2]place) {
	t.Helper()
	urls := testkit.Database(t)
	db, err := store.Open(t.Context(), urls.AppURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	var out [2]place
	for i := range out {
		p := place{workspace: gid.New(gid.Workspace), connector: gid.New(gid.Connector)}
		collection := gid.New(gid.Collection)
		for _, s := range []struct {
			sql       string
			arguments []any
		}{
			{"insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", []any{p.workspace}},
			{"insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ($1, now(), now(), $2, 'C', 'm')", []any{collection, p.workspace}},
			{"insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id) values ($1, now(), now(), $2, 'K', 'web_crawler', '{}', $3)", []any{p.connector, p.workspace, collection}},
		} {
			if _, err := owner.Exec(t.Context(), s.sql, s.arguments...); err != nil {
				t.Fatal(err)
			}
		}
		if p.scope, err = viewer.System(p.workspace).Scope(); err != nil {
			t.Fatal(err)
		}
		out[i] = p
	}
	return note.New(db.Pool), owner, out
}

func TestNotesAreKeptAndForgotten(t *testing.T) {
	t.Parallel()
	s, owner, places := places(t)
	notes, err := s.Of(places[0].scope, places[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"crawl/b": "1", "crawl/a": "2", "crawl_x": "3", "Crawl/z": "4", "page/ä%": "5", "empty": ""} {
		for range 2 {
			if err := notes.Put(t.Context(), name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := notes.Get(t.Context(), name); err != nil || string(got) != data || got == nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := notes.Put(t.Context(), "crawl/a", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := notes.Get(t.Context(), "crawl/a"); string(got) != "new" {
		t.Errorf("got %q", got)
	}
	if got, err := notes.Get(t.Context(), "none"); err != nil || got != nil {
		t.Errorf("a note that is not there: %q, %v", got, err)
	}
	if names, err := notes.Keys(t.Context(), "crawl/"); err != nil || !slices.Equal(names, []string{"crawl/a", "crawl/b"}) {
		t.Errorf("names: %q, %v", names, err)
	}
	if err := notes.DeletePrefix(t.Context(), "crawl/"); err != nil {
		t.Fatal(err)
	}
	if names, _ := notes.Keys(t.Context(), ""); !slices.Equal(names, []string{"Crawl/z", "crawl_x", "empty", "page/ä%"}) {
		t.Errorf("left: %q", names)
	}
	if notes.Put(t.Context(), strings.Repeat("x", 201), nil) == nil || notes.Put(t.Context(), "", nil) == nil ||
		notes.Put(t.Context(), "x", bytes.Repeat([]byte{1}, 1<<20+1)) == nil {
		t.Error("a note over the bounds was taken")
	}
	if _, err := owner.Exec(t.Context(), "delete from connectors where id = $1", places[0].connector); err != nil {
		t.Fatal(err)
	}
	if names, _ := notes.Keys(t.Context(), ""); len(names) > 0 {
		t.Errorf("of a connector that is gone: %q", names)
	}
	if notes.Put(t.Context(), "x", nil) == nil {
		t.Error("a connector that is gone takes notes")
	}
}

func TestNotesOfAnotherWorkspaceAreOutOfReach(t *testing.T) {
	t.Parallel()
	s, _, places := places(t)
	ada, err := s.Of(places[0].scope, places[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	if err := ada.Put(t.Context(), "secret", []byte("xylophone")); err != nil {
		t.Fatal(err)
	}
	eve, err := s.Of(places[1].scope, places[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := eve.Get(t.Context(), "secret"); err != nil || got != nil {
		t.Errorf("eve reads %q, %v", got, err)
	}
	if names, err := eve.Keys(t.Context(), ""); err != nil || len(names) > 0 {
		t.Errorf("eve lists %q, %v", names, err)
	}
	_ = eve.DeletePrefix(t.Context(), "")
	if eve.Put(t.Context(), "new", nil) == nil {
		t.Error("eve writes")
	}
	_ = eve.Put(t.Context(), "secret", []byte("changed"))
	if got, _ := ada.Get(t.Context(), "secret"); string(got) != "xylophone" {
		t.Errorf("ada has %q", got)
	}
	if _, err := s.Of(viewer.Scope{}, places[0].connector); err == nil {
		t.Error("a scope of nobody has notes")
	}
}
