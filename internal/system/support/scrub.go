package support

import (
	"regexp"
	"slices"
	"strings"
)

// A scrubber removes from texts what does not belong into a bundle.
type scrubber struct {
	hide  func(string) string // the secrets of the settings
	known []string            // names of people, workspaces, collections and connectors; the longest first
	names bool                // whether names and addresses stay
}

var (
	mails = regexp.MustCompile(`[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*`)
	// tokens are keys of Magpie and what looks like one.
	tokens    = regexp.MustCompile(`\b(mgp|sk|pk|xox[a-z]|gh[a-z])[_-][A-Za-z0-9_-]{8,}|\b[A-Za-z0-9+/_-]{32,}={0,2}`)
	ids       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	addresses = regexp.MustCompile(`([a-z][a-z0-9+]*://)[^\s"'<>]+`)
	numbers   = regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|\b[0-9a-f]{0,4}(:[0-9a-f]{0,4}){3,7}\b`)
	hosts     = regexp.MustCompile(`\b([\p{L}\p{N}][\p{L}\p{N}-]*\.)+\p{L}{2,}\b`)
	quotes    = regexp.MustCompile("\"[^\"]*\"|'[^']*'|“[^”]*”|«[^»]*»|`[^`]*`")
	paths     = regexp.MustCompile(`[^\s:;,()]*/[^\s:;,()]+`)
)

// text scrubs a text that people or other systems may have a part in, such as an error.
func (s scrubber) text(text string) string {
	text = s.fixed(text)
	if s.names {
		return text
	}
	text = quotes.ReplaceAllString(text, "(quoted)")
	text = addresses.ReplaceAllString(text, "$1(address)")
	text = numbers.ReplaceAllString(text, "(address)")
	text = paths.ReplaceAllStringFunc(text, func(path string) string {
		if strings.HasSuffix(path, "://(address)") || strings.HasPrefix(path, "(") {
			return path
		}
		return "(path)"
	})
	return hosts.ReplaceAllString(text, "(host)")
}

// fixed scrubs a text of Magpie's own: secrets, mail addresses, and names unless they stay.
func (s scrubber) fixed(text string) string {
	text = s.hide(text)
	text = mails.ReplaceAllString(text, "(mail)")
	text = tokens.ReplaceAllStringFunc(text, func(token string) string {
		if ids.MatchString(token) || strings.Trim(token, "-_") == "" || strings.Count(token, "_") > 3 || strings.Count(token, "/") > 1 {
			return token
		}
		return "(token)"
	})
	if !s.names {
		for _, name := range s.known {
			text = strings.ReplaceAll(text, name, "(name)")
		}
	}
	return text
}

// setting scrubs the value of a setting.
func (s scrubber) setting(value string) string {
	value = s.fixed(value)
	if s.names {
		return value
	}
	value = addresses.ReplaceAllString(value, "$1(address)")
	value = numbers.ReplaceAllString(value, "(address)")
	return hosts.ReplaceAllString(value, "(host)")
}

// remember adds names, the longest first. Very short ones would damage texts.
func (s *scrubber) remember(names []string) {
	for _, name := range names {
		if name = strings.TrimSpace(name); len(name) >= 3 && !slices.Contains(s.known, name) {
			s.known = append(s.known, name)
		}
	}
	slices.SortFunc(s.known, func(a, b string) int { return len(b) - len(a) })
}
