package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPatternBytes is the largest length of a pattern.
const MaxPatternBytes = 512

// Check returns what is wrong with a pattern.
func Check(pattern string) error {
	switch {
	case len(pattern) > MaxPatternBytes:
		return fmt.Errorf("a pattern is longer than %d bytes", MaxPatternBytes)
	case !utf8.ValidString(pattern):
		return errors.New("a pattern is not valid UTF-8")
	case strings.Trim(pattern, "/") == "":
		return errors.New("a pattern is empty; write ** to match everything")
	default:
		return nil
	}
}

// Match reports whether a pattern matches a path. In a pattern
//
//   - "?" matches one character and "*" any number of characters, but no slash;
//   - "**" between slashes matches any number of folders;
//   - every other character matches itself, case included.
//
// A pattern with a slash matches from the top: "docs/*.md", "/readme.md". A pattern
// without one matches at any depth: "*.md", "drafts". A pattern that ends with a
// slash, or whose last segment has no "*" or "?", also matches everything in the
// folder of that name: "docs/guides", "docs/", "node_modules".
func Match(pattern, path string) bool {
	if len(pattern) > MaxPatternBytes {
		return false
	}
	path = strings.Trim(path, "/")
	anchored := strings.Contains(pattern, "/")
	folder := strings.HasSuffix(pattern, "/")
	pattern = strings.Trim(pattern, "/")
	if pattern == "" || path == "" {
		return false
	}
	parts := strings.Split(pattern, "/")
	if !anchored && pattern != "**" {
		parts = append([]string{"**"}, parts...)
	}
	names := strings.Split(path, "/")
	if last := parts[len(parts)-1]; folder {
		return matchParts(append(parts, "*", "**"), names)
	} else if !strings.ContainsAny(last, "*?") {
		return matchParts(append(parts, "**"), names)
	}
	return matchParts(parts, names)
}

// matchParts matches path segments. Only the last "**" is backtracked: an
// earlier one could at best reproduce a position that a later one reaches as
// well, so that the work is at most len(parts) x len(names).
func matchParts(parts, names []string) bool {
	i, star, resume := 0, -1, 0
	for next := 0; next < len(names); {
		switch {
		case i < len(parts) && parts[i] == "**":
			star, resume = i, next
			i++
		case i < len(parts) && matchName(parts[i], names[next]):
			i++
			next++
		case star >= 0:
			resume++
			i, next = star+1, resume
		default:
			return false
		}
	}
	for i < len(parts) && parts[i] == "**" {
		i++
	}
	return i == len(parts)
}

// matchName matches one segment in the same way, character by character.
func matchName(part, name string) bool {
	i, star, resume := 0, -1, 0
	for next := 0; next < len(name); {
		_, width := utf8.DecodeRuneInString(name[next:])
		switch {
		case i < len(part) && part[i] == '*':
			star, resume = i, next
			i++
		case i < len(part) && part[i] == '?':
			i++
			next += width
		case i < len(part) && strings.HasPrefix(part[i:], name[next:next+width]):
			i += width
			next += width
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(name[resume:])
			resume += skipped
			i, next = star+1, resume
		default:
			return false
		}
	}
	for i < len(part) && part[i] == '*' {
		i++
	}
	return i == len(part)
}
