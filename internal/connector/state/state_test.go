package state_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A tenant is a workspace with a connector.
type tenant struct {
	workspace, connector uuid.UUID
	scope                viewer.Scope
}

func twoWorkspaces(t *testing.T) (*state.Store, *pgx.Conn, [2]tenant) {
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
	var out [2]tenant
	for i := range out {
		p := tenant{workspace: gid.New(gid.Workspace), connector: gid.New(gid.Connector)}
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
	return state.New(db.Pool), owner, out
}

func TestStateIsStoredAndDeleted(t *testing.T) {
	t.Parallel()
	s, owner, tenants := twoWorkspaces(t)
	own, err := s.Of(tenants[0].scope, tenants[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"crawl/b": "1", "crawl/a": "2", "crawl_x": "3", "Crawl/z": "4", "page/ä%": "5", "empty": ""} {
		for range 2 {
			if err := own.Put(t.Context(), key, []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := own.Get(t.Context(), key); err != nil || string(got) != value || got == nil {
			t.Errorf("Get(%q) = %q, %v, want %q", key, got, err, value)
		}
	}
	if err := own.Put(t.Context(), "crawl/a", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := own.Get(t.Context(), "crawl/a"); string(got) != "new" {
		t.Errorf("Get after a second Put = %q, want new", got)
	}
	if got, err := own.Get(t.Context(), "none"); err != nil || got != nil {
		t.Errorf("Get of a missing key = %q, %v", got, err)
	}
	if keys, err := own.Keys(t.Context(), "crawl/"); err != nil || !slices.Equal(keys, []string{"crawl/a", "crawl/b"}) {
		t.Errorf("Keys = %q, %v", keys, err)
	}
	if err := own.DeletePrefix(t.Context(), "crawl/"); err != nil {
		t.Fatal(err)
	}
	if keys, _ := own.Keys(t.Context(), ""); !slices.Equal(keys, []string{"Crawl/z", "crawl_x", "empty", "page/ä%"}) {
		t.Errorf("Keys after DeletePrefix = %q", keys)
	}
	if own.Put(t.Context(), strings.Repeat("x", 201), nil) == nil || own.Put(t.Context(), "", nil) == nil ||
		own.Put(t.Context(), "x", bytes.Repeat([]byte{1}, 1<<20+1)) == nil {
		t.Error("a key or value over the limits was stored")
	}
	if _, err := owner.Exec(t.Context(), "delete from connectors where id = $1", tenants[0].connector); err != nil {
		t.Fatal(err)
	}
	if keys, _ := own.Keys(t.Context(), ""); len(keys) > 0 {
		t.Errorf("Keys of a deleted connector = %q", keys)
	}
	if own.Put(t.Context(), "x", nil) == nil {
		t.Error("the state of a deleted connector was written")
	}
}

func TestStateOfAnotherWorkspaceIsOutOfReach(t *testing.T) {
	t.Parallel()
	s, _, tenants := twoWorkspaces(t)
	ada, err := s.Of(tenants[0].scope, tenants[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	if err := ada.Put(t.Context(), "secret", []byte("xylophone")); err != nil {
		t.Fatal(err)
	}
	eve, err := s.Of(tenants[1].scope, tenants[0].connector)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := eve.Get(t.Context(), "secret"); err != nil || got != nil {
		t.Errorf("eve reads %q, %v", got, err)
	}
	if keys, err := eve.Keys(t.Context(), ""); err != nil || len(keys) > 0 {
		t.Errorf("eve lists %q, %v", keys, err)
	}
	_ = eve.DeletePrefix(t.Context(), "")
	if eve.Put(t.Context(), "new", nil) == nil {
		t.Error("eve writes")
	}
	_ = eve.Put(t.Context(), "secret", []byte("changed"))
	if got, _ := ada.Get(t.Context(), "secret"); string(got) != "xylophone" {
		t.Errorf("ada has %q", got)
	}
	if _, err := s.Of(viewer.Scope{}, tenants[0].connector); err == nil {
		t.Error("the zero scope has state")
	}
}
