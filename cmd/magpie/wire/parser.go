package wire

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/ocr"
)

// Parser returns the parser of documents. The caller must close it.
func Parser(c *config.Config) (*parse.Parser, error) {
	opt := parse.Options{CacheDir: c.CacheDir}
	if opt.CacheDir == "" {
		// Without a cache folder each process compiles the WebAssembly code.
		if folder, err := os.UserCacheDir(); err == nil {
			opt.CacheDir = filepath.Join(folder, "magpie")
		}
	}
	if c.Tesseract == "off" {
		return parse.New(opt), nil
	}
	program, err := ocr.Find(c.Tesseract)
	switch {
	case err == nil:
		opt.OCR = program
	case c.Tesseract != "":
		return nil, fmt.Errorf("TESSERACT: %w", err)
	}
	return parse.New(opt), nil
}
