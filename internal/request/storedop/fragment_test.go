package storedop_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/request/storedop"
)

func TestADocumentGetsTheFragmentsThatItUses(t *testing.T) {
	t.Parallel()
	shared := storedop.Fragments{
		"Outer": "fragment Outer on A { ...Inner }", "Inner": "fragment Inner on B { id }", "Other": "fragment Other on C { id }",
		"Own": "fragment Own on D { id }",
	}
	document := "{ a { ...Outer ... on X { ...Inner ...Own ...Unknown } } }\n\nfragment Own on D { name }\n"
	got := shared.Complete(document)
	if !strings.HasPrefix(got, document) {
		t.Errorf("Complete changed the document:\n%s", got)
	}
	for fragment, want := range map[string]int{"fragment Outer": 1, "fragment Inner": 1, "fragment Other": 0, "fragment Own": 1} {
		if n := strings.Count(got, fragment); n != want {
			t.Errorf("%s occurs %d times, want %d:\n%s", fragment, n, want, got)
		}
	}
}

func TestTheSharedFragmentsAreRead(t *testing.T) {
	t.Parallel()
	shared, err := storedop.LoadFragments()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range shared {
		if !strings.HasPrefix(text, "fragment "+name+" on ") || strings.Count(text, "{") != strings.Count(text, "}") {
			t.Errorf("%s is not a whole fragment:\n%s", name, text)
		}
	}
	if got := shared.Complete("{ job { ...SyncJobFields } }"); strings.Count(got, "fragment ") != 3 {
		t.Errorf("the fragments of a job:\n%s", got)
	}
}
