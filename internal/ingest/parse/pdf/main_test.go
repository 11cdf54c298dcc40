package pdf_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"magpie/internal/ingest/parse/pdf"
)

// shared is the reader of all tests: starting pdfium takes seconds.
var shared *pdf.Reader

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "magpie-pdf-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cacheDir = dir
	shared = pdf.New(pdf.Options{CacheDir: dir, Instances: 2})
	status := m.Run()
	if err := shared.Close(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	if err := os.RemoveAll(dir); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// cacheDir holds the machine code of pdfium for readers of single tests.
var cacheDir string
