package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxPatternBytes is the length limit of a pattern.
const MaxPatternBytes = 512

// Check reports what is wrong with a pattern.
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
//   - "?" is one character and "*" any number of them, neither ever a slash;
//   - "**" alone between slashes is any number of folders, also none;
//   - everything else stands for itself, letter case included.
//
// A pattern with a slash in it counts from the top: "docs/*.md", "/readme.md".
// One without matches at any depth: "*.md", "drafts". A pattern that ends in a
// slash, or whose last part has neither "*" nor "?" in it, also matches all that
// is in the folder of that name: "docs/guides", "docs/", "node_modules".
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

// matchParts matches whole path elements. Only the last "**" seen is ever
// reconsidered: an earlier one could at best reproduce a position that a later
// one reaches as well, so that the work stays within len(parts) x len(names).
func matchParts(parts, names []string) bool {
	at, star, resume := 0, -1, 0
	for next := 0; next < len(names); {
		switch {
		case at < len(parts) && parts[at] == "**":
			star, resume = at, next
			at++
		case at < len(parts) && matchName(parts[at], names[next]):
			at++
			next++
		case star >= 0:
			resume++
			at, next = star+1, resume
		default:
			return false
		}
	}
	for at < len(parts) && parts[at] == "**" {
		at++
	}
	return at == len(parts)
}

// matchName matches one path element the same way, character by character.
func matchName(part, name string) bool {
	at, star, resume := 0, -1, 0
	for next := 0; next < len(name); {
		_, width := utf8.DecodeRuneInString(name[next:])
		switch {
		case at < len(part) && part[at] == '*':
			star, resume = at, next
			at++
		case at < len(part) && part[at] == '?':
			at++
			next += width
		case at < len(part) && strings.HasPrefix(part[at:], name[next:next+width]):
			at += width
			next += width
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(name[resume:])
			resume += skipped
			at, next = star+1, resume
		default:
			return false
		}
	}
	for at < len(part) && part[at] == '*' {
		at++
	}
	return at == len(part)
}
