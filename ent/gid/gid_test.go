package gid_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
)

func TestNewIdCarriesItsKindAndSortsByTime(t *testing.T) {
	t.Parallel()
	before := gid.New(gid.Collection)
	deadline := time.Now().Add(2 * time.Millisecond)
	for time.Now().Before(deadline) {
	}
	after := gid.New(gid.Document)
	if k, ok := gid.KindOf(before); !ok || k != gid.Collection {
		t.Fatalf("KindOf(%s) = %d, %v", before, k, ok)
	}
	if bytes.Compare(before[:], after[:]) >= 0 {
		t.Fatalf("%s does not sort before %s", before, after)
	}
	if table, err := gid.Table(t.Context(), after); err != nil || table != "documents" {
		t.Fatalf("Table = %q, %v", table, err)
	}
}

func TestOtherUUIDsHaveNoKind(t *testing.T) {
	t.Parallel()
	for _, id := range []uuid.UUID{{}, uuid.New(), uuid.MustParse("00000000-0000-8fff-8000-000000000000")} {
		if k, ok := gid.KindOf(id); ok {
			t.Errorf("KindOf(%s) = %d", id, k)
		}
		if table, err := gid.Table(t.Context(), id); err == nil {
			t.Errorf("Table(%s) = %q", id, table)
		}
	}
	if table, err := gid.Table(t.Context(), gid.New(gid.Passage)); err == nil {
		t.Errorf("a passage is no node, yet Table says %q", table)
	}
}
