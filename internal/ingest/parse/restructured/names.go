package restructured

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// restructuredNames are what a file defines anywhere and refers to anywhere.
type restructuredNames struct {
	targets       map[string]string // address by name
	titles        map[string]string // title of the section that a name stands before
	substitutions map[string]string // text by name, with its inline marks
	labels        map[string]string // number by the label of a footnote that numbers itself
	anonymous     []string          // addresses without a name, in order
	taken         int               // how many of these have been used
	numbers       int               // of footnotes that have neither a number nor a label
	shown         int               // how many of these have been written
	notes         []note
}

// note is a footnote or a citation.
type note struct {
	label string
	lines []string
}

// normalName is the form in which names are compared: lower case, with single blanks.
func normalName(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), " ")) }

// survey finds the names that a file defines.
func (p *restructured) survey(lines []string) {
	n := restructuredNames{
		targets: make(map[string]string), titles: make(map[string]string), substitutions: make(map[string]string),
		labels: make(map[string]string),
	}
	var waiting []string // names of the place that comes next
	numbers := make(map[string]bool)
	var automatic []string
	for i := 0; i < len(lines) && p.alive(); i++ {
		line := strings.TrimLeft(lines[i], " ")
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, "__ "):
			n.anonymous = append(n.anonymous, strings.TrimSpace(line[3:]))
		case strings.HasPrefix(line, ".. __: "):
			n.anonymous = append(n.anonymous, strings.TrimSpace(line[7:]))
		case strings.HasPrefix(line, ".. _"):
			name, target := targetOf(line[3:])
			for j := i + 1; target == "" && name != "" && j == i+1 && j < len(lines) && compose.Indent(lines[j]) > compose.Indent(lines[i]); j++ {
				target = strings.TrimSpace(lines[j])
			}
			switch {
			case name == "" || len(n.targets) > compose.MaxNames:
			case target == "":
				waiting = append(waiting, normalName(name))
				continue
			default:
				n.targets[normalName(name)] = strings.ReplaceAll(target, `\_`, "_")
			}
		case strings.HasPrefix(line, ".. |"):
			n.substitution(line[4:], lines[i+1:])
		case strings.HasPrefix(line, ".. ["):
			label, _, found := strings.Cut(line[4:], "]")
			switch {
			case !found:
			case strings.HasPrefix(label, "#"):
				automatic = append(automatic, label)
			default:
				numbers[label] = true
			}
		default:
			if len(waiting) > 0 {
				if title, _, used := restructuredTitle(lines[i:]); used > 0 {
					for _, name := range waiting {
						n.titles[name] = title
					}
				}
			}
		}
		waiting = waiting[:0]
	}
	next := 0
	for _, label := range automatic {
		next++
		for numbers[strconv.Itoa(next)] {
			next++
		}
		if label != "#" && len(n.labels) < compose.MaxNames {
			n.labels[label] = strconv.Itoa(next)
			continue
		}
		if len(n.labels) < compose.MaxNames {
			n.numbers++
			n.labels["#"+strconv.Itoa(n.numbers)] = strconv.Itoa(next)
		}
	}
	n.numbers = 0
	p.names = n
}

// targetOf reads "_name: address" and "_`name`: address".
func targetOf(text string) (name, target string) {
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

// substitution reads "name| replace:: text" and the images that names stand for.
func (n *restructuredNames) substitution(text string, following []string) {
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
	n.substitutions[normalName(name)] = safetext.TruncateBytes(value, 2000)
}

// unicodeText reads the code points of a unicode directive: 0x2014, U+2014, U2014, \x2014 and text between them.
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

// address returns where a name leads, "" for places in the file itself and names that are not defined. known tells these two
// apart.
func (p *restructured) address(name string) (target string, known bool) {
	name = normalName(name)
	for range 5 { // a name may stand for another name
		target, known = p.names.targets[name]
		if !known {
			_, known = p.names.titles[name]
			return "", known
		}
		next, indirect := strings.CutSuffix(target, "_")
		if !indirect || inline.IsAddress(target) {
			return target, true
		}
		name = normalName(strings.Trim(next, "`"))
	}
	return "", true
}

// footnotes returns the notes of the file, each with its number.
func (p *restructured) footnotes() []document.Block {
	var blocks []document.Block
	for i := 0; i < len(p.names.notes) && p.alive(); i++ { // a note may hold another
		item := p.names.notes[i]
		for j, block := range compose.Labelled("["+item.label+"] ", p.body(item.lines, 1, false)) {
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
