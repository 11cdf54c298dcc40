package sitetemplate

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// brace strips the markup that starts with a brace.
func (s *stripper) brace(rest string) {
	switch {
	case strings.HasPrefix(rest, "{%"):
		s.liquidTag(rest)
	case strings.HasPrefix(rest, "{{<"), strings.HasPrefix(rest, "{{%"):
		closing := ">}}"
		if rest[2] == '%' {
			closing = "%}}"
		}
		s.shortcode(rest, closing)
	case strings.HasPrefix(rest, "{{"):
		end := s.find(rest, "}}", 300)
		if end > 0 && isLiquidVariable(rest[2:end]) {
			s.drop(end + 2)
			return
		}
		s.copy(2)
	case strings.HasPrefix(rest, "{:"):
		line, _, _ := strings.Cut(rest[:min(len(rest), 300)], "\n")
		end := strings.IndexByte(line, '}')
		if inner := strings.TrimLeft(rest[2:max(end, 2)], " "); end > 0 && inner != "" && (inner[0] == '.' || inner[0] == '#' || ascii.IsLetter(inner[0])) {
			s.out.headingID(inner)
			s.drop(end + 1)
			return
		}
		s.copy(1)
	case s.mdx && strings.HasPrefix(rest, "{/*"):
		if end := s.find(rest, "*/}", len(rest)); end > 0 {
			s.drop(end + 3)
			return
		}
		s.copy(1)
	case s.mdx && !strings.HasPrefix(rest, "{#"):
		s.expression(rest)
	default:
		s.copy(1)
	}
}

// isLiquidVariable reports whether the inside of double braces is data of the site. Others are text of pages about
// templates.
func isLiquidVariable(inner string) bool {
	inner = strings.TrimLeft(inner, "- ")
	for _, prefix := range []string{"page.", "site.", "include.", "layout.", "jekyll.", "content "} {
		if strings.HasPrefix(inner, prefix) {
			return true
		}
	}
	return false
}

// liquidTag removes a tag or a whole comment. A link tag leaves its target.
func (s *stripper) liquidTag(rest string) {
	end := s.find(rest, "%}", 4<<10)
	if end < 0 {
		s.copy(2)
		return
	}
	words := strings.Fields(strings.Trim(rest[2:end], "-"))
	length := end + 2
	if len(words) > 0 {
		switch words[0] {
		case "comment":
			closing := s.find(rest, "endcomment", len(rest))
			if closing > 0 {
				if after := s.find(rest[closing:], "%}", 64); after >= 0 {
					length = closing + after + 2
				}
			}
		case "link", "post_url":
			s.out.write(linkTarget(words[1:]))
		}
	}
	s.drop(length)
}

// linkTarget joins the words of a link tag, except variables.
func linkTarget(words []string) string {
	target := strings.Join(words, " ")
	for {
		start := strings.Index(target, "{{")
		if start < 0 {
			break
		}
		end := strings.Index(target[start:], "}}")
		if end < 0 {
			break
		}
		target = target[:start] + target[start+end+2:]
	}
	return strings.TrimLeft(strings.TrimSpace(target), "/")
}

// shortcode removes a Hugo shortcode. A reference leaves its target.
func (s *stripper) shortcode(rest, closing string) {
	end := s.find(rest, closing, 4<<10)
	if end < 0 {
		s.copy(3)
		return
	}
	words := strings.Fields(rest[3:end])
	if len(words) > 1 && (words[0] == "relref" || words[0] == "ref") {
		s.out.write(strings.Trim(words[1], "\"'`"))
	} else if len(words) > 1 {
		s.shortcodeTitle(words[0], strings.TrimSpace(rest[3:end]))
	}
	s.drop(end + len(closing))
}

// shortcodeTitle writes the title of a tab, an alert or a collapsible section.
func (s *stripper) shortcodeTitle(name, source string) {
	if name == "tab" || name == "expand" || name == "details" || name == "accordion" {
		if rest := strings.TrimSpace(source[len(name):]); strings.HasPrefix(rest, `"`) {
			if title, _, found := strings.Cut(rest[1:], `"`); found {
				s.label("<a title=\"" + title + "\">")
				return
			}
		}
	}
	s.label("<" + source + ">")
}
