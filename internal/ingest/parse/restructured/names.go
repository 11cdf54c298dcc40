package restructured

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// nameTable holds the names that a file defines, which may be used before their definition.
type nameTable struct {
	targets         map[string]string // addresses
	titles          map[string]string // titles of the sections after a name
	substitutions   map[string]string // texts with inline markup
	footnoteNumbers map[string]string // numbers of auto-numbered footnotes, by label
	anonymous       []string          // addresses without a name, in order
	usedAnonymous   int               // number of anonymous addresses that have been used
	autoNumbered    int               // number of footnotes with neither number nor label
	autoReferenced  int               // number of references to these
	footnotes       []footnote
}

// footnote is a footnote or a citation.
type footnote struct {
	label string
	lines []string
}

// normalizeName returns a name as names are compared: in lower case, with single blanks.
func normalizeName(name string) string {
	return strings.ToLower(strings.Join(strings.Fields(name), " "))
}

// collectNames finds the names that a file defines.
func (p *parser) collectNames(lines []string) {
	n := nameTable{
		targets: make(map[string]string), titles: make(map[string]string), substitutions: make(map[string]string),
		footnoteNumbers: make(map[string]string),
	}
	var pending []string // names of the next element
	numbers := make(map[string]bool)
	var autoLabels []string
	for i := 0; i < len(lines) && p.ok(); i++ {
		line := strings.TrimLeft(lines[i], " ")
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "__ "):
			n.anonymous = append(n.anonymous, strings.TrimSpace(line[3:]))
		case strings.HasPrefix(line, ".. __: "):
			n.anonymous = append(n.anonymous, strings.TrimSpace(line[7:]))
		case strings.HasPrefix(line, ".. _"):
			name, target := cutTargetDefinition(line[3:])
			for j := i + 1; target == "" && name != "" && j == i+1 && j < len(lines) && compose.Indent(lines[j]) > compose.Indent(lines[i]); j++ {
				target = strings.TrimSpace(lines[j])
			}
			switch {
			case name == "" || len(n.targets) > compose.MaxNames:
			case target == "":
				pending = append(pending, normalizeName(name))
				continue
			default:
				n.targets[normalizeName(name)] = strings.ReplaceAll(target, `\_`, "_")
			}
		case strings.HasPrefix(line, ".. |"):
			n.addSubstitution(line[4:], lines[i+1:])
		case strings.HasPrefix(line, ".. ["):
			label, _, found := strings.Cut(line[4:], "]")
			switch {
			case !found:
			case strings.HasPrefix(label, "#"):
				autoLabels = append(autoLabels, label)
			default:
				numbers[label] = true
			}
		default:
			if len(pending) > 0 {
				if title, _, used := cutTitle(lines[i:]); used > 0 {
					for _, name := range pending {
						n.titles[name] = title
					}
				}
			}
		}
		pending = pending[:0]
	}
	next := 0
	for _, label := range autoLabels {
		next++
		for numbers[strconv.Itoa(next)] {
			next++
		}
		if label != "#" && len(n.footnoteNumbers) < compose.MaxNames {
			n.footnoteNumbers[label] = strconv.Itoa(next)
			continue
		}
		if len(n.footnoteNumbers) < compose.MaxNames {
			n.autoNumbered++
			n.footnoteNumbers["#"+strconv.Itoa(n.autoNumbered)] = strconv.Itoa(next)
		}
	}
	n.autoNumbered = 0
	p.names = n
}

// cutTargetDefinition splits "_name: address" and "_`name`: address".
func cutTargetDefinition(text string) (name, target string) {
	text = strings.TrimPrefix(text, "_")
	if rest, found := strings.CutPrefix(text, "`"); found {
		name, target, found = strings.Cut(rest, "`:")
		if !found {
			return "", ""
		}
		return name, strings.TrimSpace(target)
	}
	for i := range len(text) {
		if text[i] == ':' && (i == 0 || text[i-1] != '\\') && (i+1 == len(text) || text[i+1] == ' ') {
			return strings.ReplaceAll(text[:i], `\`, ""), strings.TrimSpace(text[i+1:])
		}
	}
	return "", ""
}

// addSubstitution adds the definition "name| replace:: text", or that of an image.
func (n *nameTable) addSubstitution(text string, following []string) {
	name, rest, found := strings.Cut(text, "|")
	kind, value, isDirective := strings.Cut(strings.TrimSpace(rest), "::")
	if !found || !isDirective || len(n.substitutions) > compose.MaxNames {
		return
	}
	following = following[:min(len(following), 50)]
	more := following[:compose.IndentedLines(following, 1)]
	switch kind {
	case "replace", "unicode":
		parts := []string{strings.TrimSpace(value)}
		for _, line := range more {
			parts = append(parts, strings.TrimSpace(line))
		}
		value = strings.TrimSpace(strings.Join(parts, " "))
		if kind == "unicode" {
			value = unicodeText(value)
		}
	case "image":
		value = ""
		for _, line := range more {
			if alt, found := strings.CutPrefix(strings.TrimSpace(line), ":alt:"); found {
				value = strings.TrimSpace(alt)
			}
		}
	default:
		return
	}
	n.substitutions[normalizeName(name)] = safetext.TruncateBytes(value, 2000)
}

// unicodeText returns the text of a unicode directive. Code points are written 0x2014, U+2014, U2014 or \x2014.
func unicodeText(value string) string {
	value, _, _ = strings.Cut(value, " .. ")
	var b strings.Builder
	for word := range strings.FieldsSeq(value) {
		digits := word
		for _, prefix := range []string{"0x", "U+", "u+", "\\x", "\\u", "&#x"} {
			if rest, found := strings.CutPrefix(word, prefix); found {
				digits = strings.TrimSuffix(rest, ";")
			}
		}
		code, err := strconv.ParseUint(digits, 16, 21)
		switch {
		case strings.HasPrefix(word, ":"): // an option such as :trim:
		case digits != word && err == nil && code >= 0x20 && code <= 0x10FFFF:
			b.WriteString(strings.ToValidUTF8(string(rune(code)), ""))
		default:
			b.WriteString(word)
		}
	}
	return b.String()
}

// address returns the address of a name. It is "" for places in the file; known is false for names without a
// definition.
func (p *parser) address(name string) (target string, known bool) {
	name = normalizeName(name)
	for range 5 { // a name may refer to another name
		target, known = p.names.targets[name]
		if !known {
			_, known = p.names.titles[name]
			return "", known
		}
		next, indirect := strings.CutSuffix(target, "_")
		if !indirect || inline.IsAddress(target) {
			return target, true
		}
		name = normalizeName(strings.Trim(next, "`"))
	}
	return "", true
}

// footnotes returns the footnotes of the file with their numbers.
func (p *parser) footnotes() []document.Block {
	var blocks []document.Block
	for i := 0; i < len(p.names.footnotes) && p.ok(); i++ { // a footnote may contain another
		item := p.names.footnotes[i]
		for j, block := range compose.Labelled("["+item.label+"] ", p.readBody(item.lines, 1, false)) {
			if block.Kind == document.Heading {
				block = document.Block{Kind: document.Paragraph, Text: block.Text}
			}
			if j < 100 {
				blocks = append(blocks, block)
			}
		}
	}
	return blocks
}
