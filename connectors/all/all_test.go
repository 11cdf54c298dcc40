package all_test

import (
	"testing"

	"github.com/magpie-search/magpie/connectors/all"
)

func TestEveryKindIsFoundByItsNames(t *testing.T) {
	t.Parallel()
	registry, err := all.Registry(all.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{"s3": "s3", "file_upload": "file_upload", "file": "file_upload", "upload": "file_upload"} {
		if got, ok := registry.Lookup(name); !ok || got.Name != kind {
			t.Errorf("%s: got %q, %v", name, got.Name, ok)
		}
	}
	for _, kind := range registry.Kinds() {
		if kind.Title == "" || kind.Description == "" {
			t.Errorf("%s: title or description are missing", kind.Name)
		}
	}
}
