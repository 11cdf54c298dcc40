package parse_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func FuzzUnknown(f *testing.F) {
	parsetest.Fuzz(f, "noextension", "<!doctype html><p>x", "%PDF-1", "PK\x03\x04", "text")
}
