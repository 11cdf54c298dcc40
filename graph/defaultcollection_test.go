package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A key without a default collection searches the oldest collection in its scope, whatever
// the oldest was before.
func TestAKeyWithoutADefaultCollectionSearchesTheOldest(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	system := ada.system(t)
	set := func(column string, id uuid.UUID, at any) {
		t.Helper()
		if _, err := h.db.Pool.Exec(t.Context(), "update collections set "+column+" = $2 where id = $1", id, at); err != nil {
			t.Fatal(err)
		}
	}
	// Each collection has a document with its name.
	var ids []uuid.UUID
	for i := range 3 {
		c := must[*ent.Collection](t)(h.db.Ent.Collection.Create().SetName(fmt.Sprint(i)).SetEmbeddingModel(h.models.Default().Model()).Save(system))
		k := must[*ent.Connector](t)(h.db.Ent.Connector.Create().SetName(fmt.Sprint(i)).SetType("file_upload").SetCollectionID(c.ID).Save(system))
		place := *ada
		place.collection, place.connector = c.ID, k.ID
		h.put(t, &place, "a.md", fmt.Sprint(i), "The marimba is played with mallets.")
		set("created_at", c.ID, time.Date(2001+i, 1, 1, 0, 0, 0, 0, time.UTC))
		ids = append(ids, c.ID)
	}
	set("created_at", eve.collection, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))

	all, some := ada.publicKey(), ada.publicKey()
	all.Collections, all.AllCollections = nil, true
	some.Subject, some.Collections = uuid.New(), slices.Clone(ids[1:])
	search := trial{query: `{ search(input: {query: "marimba mallets", minScore: 0}) { results { title collection } } }`}
	expect := func(when string, key viewer.Viewer, want string) {
		t.Helper()
		got, _ := h.counted(t, key, search)
		var body struct {
			Data struct {
				Search struct {
					Results []struct{ Title, Collection string }
				}
			}
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatalf("%s: %s", when, got.body)
		}
		var titles []string
		for _, r := range body.Data.Search.Results {
			titles = append(titles, r.Title)
		}
		if strings.Join(titles, " ") != want || got.code() != "" {
			t.Errorf("%s: titles %v, want %s: %s", when, titles, want, got.body)
		}
	}
	expectBoth := func(when, wantAll, wantSome string) {
		t.Helper()
		for range 2 {
			expect(when+", key to all", all, wantAll)
			expect(when+", key to some", some, wantSome)
		}
	}
	expectBoth("at first", "0", "1")
	set("created_at", ids[2], time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	expectBoth("another is the oldest", "2", "2")
	set("deleting_at", ids[2], time.Now())
	expectBoth("the oldest is being deleted", "0", "1")
	set("deleting_at", ids[2], nil)
	expectBoth("the oldest is no longer deleted", "2", "2")
	some.Collections = ids[:2]
	expectBoth("the oldest is out of scope", "2", "0")
	for _, id := range ids[:2] {
		set("deleting_at", id, time.Now())
	}
	expect("the others are being deleted", all, "2")
	for range 2 {
		if got := h.ask(t, some, search.query, nil); got.code() != "forbidden" || !strings.Contains(got.body, "Collection access denied") {
			t.Errorf("no collection is left: %s", got.body)
		}
	}
}

func TestTheDefaultCollectionCostsNoStatement(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	key := ada.publicKey()
	own := key
	own.DefaultCollection = ada.collection
	var statements []int64
	for _, v := range []viewer.Viewer{own, own, key, key} {
		got, n := h.counted(t, v, trial{query: aSearch})
		if got.code() != "" {
			t.Fatal(got.body)
		}
		statements = append(statements, n)
	}
	if statements[2] != statements[1] || statements[3] != statements[1] {
		t.Errorf("%d statements with a default collection, %d and %d without", statements[1], statements[2], statements[3])
	}
}
