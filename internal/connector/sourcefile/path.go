package sourcefile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/apierr"
)

// MaxPathBytes is the longest path a file may have.
const MaxPathBytes = 1024

// CheckPath checks the path of a file: relative, with "/" between parts, none of
// which is empty, "." or "..". The error is an invalid_request for "paths".
func CheckPath(path string) error {
	switch {
	case path == "":
		return apierr.Invalid("paths", "a file needs a path; give it a name")
	case len(path) > MaxPathBytes:
		return apierr.Invalid("paths", fmt.Sprintf("a path has %d bytes, at most %d are allowed", len(path), MaxPathBytes))
	case !utf8.ValidString(path):
		return apierr.Invalid("paths", "a path is not valid UTF-8")
	case strings.ContainsFunc(path, unicode.IsControl):
		return apierr.Invalid("paths", "a path has a control character in it")
	case strings.Contains(path, `\`):
		return apierr.Invalid("paths", `a path has a "\" in it; write "/" between folders`)
	case strings.HasPrefix(path, "/"):
		return apierr.Invalid("paths", `a path begins with "/"; it must be relative`)
	}
	for part := range strings.SplitSeq(path, "/") {
		switch part {
		case "":
			return apierr.Invalid("paths", `a path has an empty part; write one "/" between folders and none at the end`)
		case ".", "..":
			return apierr.Invalid("paths", `a path has the part "`+part+`", which is not allowed`)
		}
	}
	return nil
}
