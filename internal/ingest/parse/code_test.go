package parse_test

import (
	"strings"
	"testing"

	"magpie/internal/ingest/document"
)

func TestSourceCode(t *testing.T) {
	t.Parallel()
	long := "func f() {\n" + strings.Repeat("\tcall()\n\n", 150) + "}\n"
	doc := mustParse(t, "cmd/main.go", "package main\n\nimport \"fmt\"\n\n"+long+"\n"+long)
	if len(doc.Blocks) != 3 || doc.DocType != "code" || doc.Metadata["code_language"] != "go" || doc.Title != "main.go" {
		t.Fatalf("%d blocks of type %s in %s", len(doc.Blocks), doc.DocType, doc.Title)
	}
	for _, block := range doc.Blocks[1:] {
		if block.Kind != document.Code || block.Language != "go" || !strings.HasPrefix(block.Text, "func f") || !strings.HasSuffix(block.Text, "}") {
			t.Errorf("a declaration is cut: %q", block.Text)
		}
	}
	if doc = mustParse(t, "a.yaml", "a: 1\nb: 2\n"); doc.DocType != "config" || doc.Blocks[0].Language != "yaml" {
		t.Errorf("%+v", doc)
	}
}
