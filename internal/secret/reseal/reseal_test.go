package reseal_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/secret/reseal"
	"github.com/magpie-search/magpie/internal/testkit"
)

const workspace = "00000000-0000-0000-0000-00000000000a"

func box(t *testing.T, ids ...string) *secret.Box {
	t.Helper()
	keys := map[string][]byte{}
	for _, id := range ids {
		keys[id] = bytes.Repeat([]byte(id[:1]), secret.KeyBytes)
	}
	b, err := secret.NewBox(keys, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every column of bytes holds sealed values that are rotated, or something known.
func TestEveryColumnOfBytesIsKnown(t *testing.T) {
	t.Parallel()
	plain := map[string]string{
		"agent_memories.embedding": "a vector", "api_keys.publishable_hash": "a hash", "api_keys.secret_hash": "a hash",
		"api_keys.previous_publishable_hash": "a hash", "api_keys.previous_secret_hash": "a hash", "connector_notes.data": "what sources remember",
		"database_tables.digest": "a hash", "documents.content_hash": "a hash", "embedding_fingerprints.vectors": "vectors", "inbound_events.delivery": "a hash", "inbound_subscriptions.mark": "a hash", "invitations.token_hash": "a hash",
		"oauth_flows.token_hash": "a hash", "query_events.event_hash": "a hash", "sessions.previous_hash": "a hash", "sessions.refresh_hash": "a hash",
		"tokens.hash": "a hash", "users.reset_hash": "a hash",
	}
	pool := open(t, testkit.Database(t).AdminURL)
	rows, err := pool.Query(t.Context(), "select table_name || '.' || column_name from information_schema.columns where table_schema = 'public' and data_type = 'bytea'")
	if err != nil {
		t.Fatal(err)
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reseal.Columns() {
		name := c.Table + "." + c.Column
		if !slices.Contains(there, name) {
			t.Errorf("there is no column %s", name)
		}
		there = slices.DeleteFunc(there, func(s string) bool { return s == name })
	}
	for _, name := range there {
		if plain[name] == "" {
			t.Errorf("the column %s is new: list it in reseal.Columns if its values are sealed, and here if not", name)
		}
	}
}

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func execute(t *testing.T, pool *pgxpool.Pool, statement string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// fill makes a connector and a number of grants, sealed with a box.
func fill(t *testing.T, pool *pgxpool.Pool, with *secret.Box, grants int) {
	t.Helper()
	execute(t, pool, `insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'Test')`, workspace)
	for n := range grants {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
		execute(t, pool, `insert into oauth_grants (id, created_at, updated_at, workspace_id, provider, scopes, tokens) values ($1, now(), now(), $2, 'test', '[]', $3)`,
			id, workspace, seal(t, with, "grant "+id, "oauth_grants", id))
	}
	hash := bytes.Repeat([]byte{0xab}, 32)
	execute(t, pool, `insert into oauth_flows (token_hash, purpose, content, expires_at) values ($1, 'connect', $2, now() + interval '1 hour')`,
		hash, seal(t, with, "flow", "oauth_flows", "connect:"+strings.Repeat("ab", 32)))
}

func seal(t *testing.T, with *secret.Box, plain, table, id string) []byte {
	t.Helper()
	sealed, err := with.Seal([]byte(plain), secret.AAD(table, id))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func counts(t *testing.T, pool *pgxpool.Pool, with *secret.Box) map[string]string {
	t.Helper()
	all, err := reseal.Check(t.Context(), pool, with)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range all {
		got[c.Column.Table+" "+c.Key] = fmt.Sprintf("%d, %d lost", c.Values, c.Lost)
	}
	return got
}

func TestValuesAreSealedAgainWithTheCurrentKey(t *testing.T) {
	t.Parallel()
	pool := open(t, testkit.Database(t).AdminURL)
	fill(t, pool, box(t, "old"), 250)
	// One value was sealed with a key that is gone, and one was moved from another row.
	execute(t, pool, "update oauth_grants set tokens = $1 where id = '00000000-0000-0000-0000-000000000001'", seal(t, box(t, "gone"), "x", "oauth_grants", "1"))
	execute(t, pool, "update oauth_grants set tokens = (select tokens from oauth_grants where id = '00000000-0000-0000-0000-000000000003') where id = '00000000-0000-0000-0000-000000000002'")
	both := box(t, "new", "old")
	if got := counts(t, pool, both); got["oauth_grants old"] != "249, 1 lost" || got["oauth_grants gone"] != "1, 1 lost" || got["oauth_flows old"] != "1, 0 lost" {
		t.Errorf("before: %v", got)
	}
	for round := range 2 {
		results, err := reseal.Rotate(t.Context(), pool, both, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			want := map[string]int64{"oauth_grants": 248, "oauth_flows": 1}[r.Column.Table]
			if round > 0 {
				want = 0
			}
			if r.Sealed != want || r.Left != 0 {
				t.Errorf("round %d: %+v, want %d", round, r, want)
			}
			if r.Column.Table == "oauth_grants" && (len(r.Lost) != 2 || r.Lost[`sealed with the key "gone", which SECRET_KEYS lacks`] != 1) {
				t.Errorf("lost: %v", r.Lost)
			}
		}
	}
	if got := counts(t, pool, box(t, "new")); got["oauth_grants new"] != "248, 0 lost" || got["oauth_grants old"] != "1, 1 lost" || got["oauth_flows new"] != "1, 0 lost" {
		t.Errorf("after: %v", got)
	}
}

// Processes change values all the time, as the refresh of grants does. None of their
// changes is lost, and in the end everything is sealed with the new key.
func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	pool := open(t, testkit.Database(t).AdminURL)
	old, both := box(t, "old"), box(t, "new", "old")
	fill(t, pool, old, 30)
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	last := make([]string, 30)
	for n := range 30 {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
		writers.Go(func() {
			for change := 0; ctx.Err() == nil; change++ {
				with := old // half of the processes seal with the old key still
				if n%2 == 0 {
					with = both
				}
				text := fmt.Sprintf("change %d of %s", change, id)
				sealed, err := with.Seal([]byte(text), secret.AAD("oauth_grants", id))
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := pool.Exec(t.Context(), "update oauth_grants set tokens = $1 where id = $2", sealed, id); err != nil {
					t.Error(err)
					return
				}
				last[n] = text
			}
		})
	}
	for range 5 {
		if _, err := reseal.Rotate(t.Context(), pool, both, nil); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	writers.Wait()
	if _, err := reseal.Rotate(t.Context(), pool, both, nil); err != nil {
		t.Fatal(err)
	}
	only := box(t, "new")
	for n := range 30 {
		id := fmt.Sprintf("00000000-0000-0000-0000-%012d", n)
		var sealed []byte
		if err := pool.QueryRow(t.Context(), "select tokens from oauth_grants where id = $1", id).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		if plain, err := only.Open(sealed, secret.AAD("oauth_grants", id)); err != nil || string(plain) != last[n] {
			t.Errorf("%s is %q (%v), want %q", id, plain, err, last[n])
		}
	}
}
