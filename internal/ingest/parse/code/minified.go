package code

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// isMinified reports whether a program has written code on few lines.
func isMinified(text string) bool {
	lines := strings.Count(text, "\n") + 1
	return len(text) > 5*compose.LongLine && len(text)/lines > 500
}
