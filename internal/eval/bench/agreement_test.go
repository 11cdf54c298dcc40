package bench

import (
	"testing"

	"github.com/google/uuid"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	got := compare([][]uuid.UUID{{a, b}, {a, b}, {c}, {}}, [][]uuid.UUID{{a, b}, {b, a}, {a}, {}})
	if want := (Agreement{Searches: 4, Same: 2, Recall: 0.8}); got != want {
		t.Errorf("compare = %+v, want %+v", got, want)
	}
}
