package all_test

import (
	"os"
	"path/filepath"
	"regexp"
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

// The version of a platform's API is in the description of its kind and on its page.
func TestVersionsOfAPIsAreShown(t *testing.T) {
	t.Parallel()
	registry, err := all.Registry(all.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"google_drive", "sharepoint", "gitlab", "jira", "notion", "salesforce", "hubspot"} {
		kind, _ := registry.Lookup(name)
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "connectors", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		versions := regexp.MustCompile(`[0-9][0-9.-]*`).FindAllString(kind.APIVersion, -1)
		if len(versions) == 0 {
			t.Errorf("%s has the version %q", name, kind.APIVersion)
		}
		for _, version := range versions {
			if !regexp.MustCompile(`(?i)(version|graph)\s+v?` + regexp.QuoteMeta(version) + `\b`).Match(page) {
				t.Errorf("the page of %s does not have the version %s", name, version)
			}
		}
	}
}
