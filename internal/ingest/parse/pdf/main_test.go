package pdf_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/internal/ingest/parse/pdf"
)

var (
	// shared is the reader of most tests.
	shared *pdf.Reader
	// cacheDir holds the machine code of pdfium beside the cache of the Go command, since compiling it takes seconds, and a
	// minute in the processes that fuzzing starts.
	cacheDir string
)

func TestMain(m *testing.M) {
	status, err := run(m)
	if err == nil && status == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

func run(m *testing.M) (int, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return 1, err
	}
	cacheDir = filepath.Join(folder, "magpie-test", "pdfium")
	shared = pdf.New(pdf.Options{CacheDir: cacheDir, Instances: 2})
	status := m.Run()
	return status, shared.Close()
}
