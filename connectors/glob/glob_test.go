package glob_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors/glob"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		matches []string
		others  []string
	}{
		{"*.md", []string{"a.md", "docs/a.md", "a/b/c/.md"}, []string{"a.mdx", "a.md/b", "md"}},
		{"/*.md", []string{"a.md"}, []string{"docs/a.md"}},
		{"docs/*.md", []string{"docs/a.md"}, []string{"a.md", "docs/x/a.md", "old/docs/a.md"}},
		{"docs/**/*.md", []string{"docs/a.md", "docs/x/a.md", "docs/x/y/a.md"}, []string{"docs/a.txt", "doc/a.md"}},
		{"**/*.md", []string{"a.md", "x/y/a.md"}, []string{"a.txt"}},
		{"**/drafts/**", []string{"drafts/a.md", "x/drafts/a.md", "x/drafts/y/a.md", "drafts"}, []string{"x/draft/a.md"}},
		{"docs/**", []string{"docs/a", "docs/x/y"}, []string{"docs2/a", "x/docs/a"}},
		{"**", []string{"a", "a/b/c"}, nil},
		{"*", []string{"a", "a/b"}, nil},
		{"docs/*", []string{"docs/a"}, []string{"docs/a/b", "docs"}},
		{"docs/", []string{"docs/a", "docs/a/b"}, []string{"docs", "docs2/a", "x/docs/a"}},
		{"/docs", []string{"docs", "docs/a", "docs/a/b"}, []string{"x/docs/a"}},
		{"docs/guide", []string{"docs/guide", "docs/guide/a/b"}, []string{"docs/guides", "docs/guide.md"}},
		{"node_modules", []string{"node_modules/x", "a/node_modules/b/c", "node_modules"}, []string{"node_modules2/x"}},
		{"readme.md", []string{"readme.md", "a/readme.md"}, []string{"README.md", "readme.md.old"}},
		{"?.md", []string{"a.md", "é.md", "🐦.md"}, []string{"ab.md", ".md"}},
		{"a?c/d", []string{"abc/d"}, []string{"a/c/d", "ac/d"}},
		{"*-??.txt", []string{"x-01.txt", "a-b-cd.txt"}, []string{"x-1.txt"}},
		{"a**b/c", []string{"ab/c", "axxb/c"}, []string{"a/b/c"}},
		{"v1.*/**", []string{"v1.0/a", "v1.2/b/c"}, []string{"v1/a", "v10/a"}},
		{"[ab].md", []string{"[ab].md"}, []string{"a.md"}},
		{"{a,b}.md", []string{"{a,b}.md"}, []string{"a.md"}},
		{"a+b (1).md", []string{"a+b (1).md"}, []string{"aab (1).md"}},
		{"日本/*", []string{"日本/語"}, []string{"日/語"}},
		{"**/a/**/b/**/c", []string{"a/b/c", "x/a/y/b/z/z/c", "a/a/b/b/c"}, []string{"a/c/b", "b/a/c"}},
		{"a/*/c/*/e", []string{"a/b/c/d/e"}, []string{"a/b/c/e", "a/b/b/c/d/e"}},
	} {
		if err := glob.Check(c.pattern); err != nil {
			t.Errorf("check %q: %v", c.pattern, err)
		}
		for _, path := range c.matches {
			if !glob.Match(c.pattern, path) || !glob.Match(c.pattern, "/"+path) {
				t.Errorf("%q does not match %q", c.pattern, path)
			}
		}
		for _, path := range c.others {
			if glob.Match(c.pattern, path) {
				t.Errorf("%q matches %q", c.pattern, path)
			}
		}
	}
}

func TestCheckRefusesInvalidPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"", "/", "//", "\xff", strings.Repeat("a", 513)} {
		if err := glob.Check(pattern); err == nil {
			t.Errorf("accepted %.20q", pattern)
		}
		if glob.Match(pattern, "a") {
			t.Errorf("%.20q matches", pattern)
		}
	}
}

// A matcher that tries all ways does not live to see the end of this test.
func TestHostilePatternsAreFast(t *testing.T) {
	t.Parallel()
	for pattern, path := range map[string]string{
		strings.Repeat("*a", 250) + "b":       strings.Repeat("a", 1024),
		strings.Repeat("**/", 170) + "b":      strings.Repeat("a/", 512),
		strings.Repeat("**/a/", 100) + "b":    strings.Repeat("a/", 512),
		strings.Repeat("**/*a*/", 70) + "b":   strings.Repeat("aaa/", 256),
		strings.Repeat("?*", 250) + "b":       strings.Repeat("é", 512),
		strings.Repeat("**/*a*a*/", 50) + "b": strings.Repeat("aaaaaaa/", 128),
	} {
		if glob.Match(pattern, path) {
			t.Errorf("%.20q… matches", pattern)
		}
	}
}

// FuzzMatch compares with the same rules tried in every possible way.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{
		{"*.md", "docs/a.md"}, {"docs/**/*.md", "docs/x/a.md"}, {"a**b/c", "axb/c"}, {"docs/", "docs/a"}, {"**/**/a", "a"},
		{"?*?", "éa"}, {"*", "\xff"}, {"a/?/**", "a/b"}, {"***/x", "a/x"}, {"/**", "a/b"}, {"a//b", "a//b"}, {"a/**/**", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(path) > 1024 {
			return // no item has a longer one
		}
		got := glob.Match(pattern, path)
		if glob.Check(pattern) != nil || !utf8.ValidString(path) || len(path) > 24 || len(pattern) > 16 {
			return
		}
		if want := matchNaively(pattern, path); got != want {
			t.Errorf("pattern %q, path %q: got %v, want %v", pattern, path, got, want)
		}
	})
}

func matchNaively(pattern, path string) bool {
	parts := strings.Split(strings.Trim(pattern, "/"), "/")
	switch last := parts[len(parts)-1]; {
	case strings.HasSuffix(pattern, "/"):
		parts = append(parts, "*", "**")
	case !strings.ContainsAny(last, "*?"):
		parts = append(parts, "**")
	}
	if !strings.Contains(pattern, "/") {
		parts = append([]string{"**"}, parts...)
	}
	path = strings.Trim(path, "/")
	return path != "" && partsNaively(parts, strings.Split(path, "/"))
}

func partsNaively(parts, names []string) bool {
	switch {
	case len(parts) == 0:
		return len(names) == 0
	case parts[0] == "**":
		return partsNaively(parts[1:], names) || len(names) > 0 && partsNaively(parts, names[1:])
	default:
		return len(names) > 0 && runesNaively([]rune(parts[0]), []rune(names[0])) && partsNaively(parts[1:], names[1:])
	}
}

func runesNaively(part, name []rune) bool {
	switch {
	case len(part) == 0:
		return len(name) == 0
	case part[0] == '*':
		return runesNaively(part[1:], name) || len(name) > 0 && runesNaively(part, name[1:])
	default:
		return len(name) > 0 && (part[0] == '?' || part[0] == name[0]) && runesNaively(part[1:], name[1:])
	}
}
