package wire_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/config"
)

func TestTheConfiguredOCRProgramIsUsed(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "tesseract")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for named, want := range map[string]bool{program: true, "off": false} {
		parser, err := wire.Parser(&config.Config{Tesseract: named, CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if parser.ReadsImages() != want {
			t.Errorf("%s: %v", named, !want)
		}
		if err := parser.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := wire.Parser(&config.Config{Tesseract: "/nowhere/tesseract"}); err == nil || !strings.HasPrefix(err.Error(), "TESSERACT: ") {
		t.Errorf("a missing program: %v", err)
	}
}
