package asciidoc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads AsciiDoc as Asciidoctor 2 does. It opens no other file: included files are left out. The content of all
// conditions is kept, since it is text of one edition or another.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	p := &parser{
		ctx: ctx, anchors: make(document.Anchors), attributes: make(map[string]string), meta: make(map[string]any),
		titles: make(map[string]string), counters: make(map[string]int), footnoteNumbers: make(map[string]int),
		attributeBudget: 1<<20 + 4*len(in.Text), searchBudget: 1<<24 + 32*len(in.Text),
	}
	lines := preprocess(strings.Split(in.Text, "\n"))
	p.collectTitles(lines)
	used := p.header(lines)
	b := body{p: p, hasSections: true}
	if p.title != "" {
		b.heading(1, p.title, attributeList{})
	}
	blocks := append(b.blocks, p.readBody(lines[used:], 0, true)...)
	if p.err != nil {
		return nil, p.err
	}
	p.addFacts()
	return &document.Draft{Blocks: append(blocks, p.footnoteBlocks()...), Prose: true, Meta: p.meta}, nil
}

// parser holds the state of a whole file.
type parser struct {
	ctx             context.Context
	anchors         document.Anchors
	attributes      map[string]string
	meta            map[string]any
	title           string
	titles          map[string]string // titles by id
	counters        map[string]int
	footnotes       []string       // texts of the footnotes
	footnoteNumbers map[string]int // numbers of named footnotes
	attributeBudget int            // bytes that attribute references may still add
	searchBudget    int            // bytes that may still be searched in vain for the end of inline markup
	steps           int
	err             error
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (p *parser) ok() bool {
	p.steps++
	if p.err == nil && p.steps%512 == 0 && p.ctx.Err() != nil {
		p.err = fmt.Errorf("parse AsciiDoc: %w", p.ctx.Err())
	}
	return p.err == nil
}

// preprocess removes the lines that include other files, and those that begin or end a condition.
func preprocess(lines []string) []string {
	kept := lines[:0]
	for _, line := range lines {
		if !strings.Contains(line, "::") {
			kept = append(kept, line)
			continue
		}
		name, rest, _ := strings.Cut(line, "::")
		switch name {
		case "include", "endif", "ifeval":
			if strings.HasSuffix(strings.TrimSpace(rest), "]") {
				continue
			}
		case "ifdef", "ifndef":
			open := strings.IndexByte(rest, '[')
			if rest = strings.TrimSpace(rest); open < 0 || !strings.HasSuffix(rest, "]") {
				break
			}
			if line = rest[open+1 : len(rest)-1]; line == "" {
				continue
			}
		case `\include`, `\ifdef`, `\ifndef`, `\endif`, `\ifeval`:
			line = line[1:]
		}
		kept = append(kept, line)
	}
	return kept
}

// collectTitles finds the titles of places that references may name.
func (p *parser) collectTitles(lines []string) {
	id := ""
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "[["):
			name, text, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line[2:]), "]]"), ",")
			id = name
			p.addTitle(id, strings.TrimSpace(text))
		case strings.HasPrefix(line, "[#"):
			end := strings.IndexAny(line[2:], ",.%]")
			if end > 0 {
				id = line[2 : 2+end]
			}
		case strings.HasPrefix(line, "[") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, ".") && len(line) > 2 && line[1] != '.' && line[1] != ' ':
			p.addTitle(id, line[1:])
		default:
			if level, text := cutTitle(line); level > 0 {
				text, own := cutAnchor(text)
				if own == "" {
					own = id
				}
				p.addTitle(own, text)
				p.addTitle(strings.ToLower(strings.ReplaceAll(text, " ", "-")), text)
				p.addTitle("_"+strings.ToLower(strings.ReplaceAll(text, " ", "_")), text)
				p.addTitle(text, text)
			}
			id = ""
		}
	}
}

func (p *parser) addTitle(id, text string) {
	if id == "" || text == "" || len(p.titles) > compose.MaxNames || p.titles[id] != "" {
		return
	}
	p.titles[id] = safetext.TruncateBytes(text, 500)
}

// cutTitle returns the level and text of a section title, which may be written as in Markdown. The level is 0 for other
// lines.
func cutTitle(line string) (level int, text string) {
	if line == "" || line[0] != '=' && line[0] != '#' {
		return 0, ""
	}
	level = len(line) - len(strings.TrimLeft(line, line[:1]))
	if level > 6 || level >= len(line) || line[level] != ' ' && line[level] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(line[level:])
	if rest, found := strings.CutSuffix(text, " "+line[:level]); found {
		text = strings.TrimSpace(rest)
	}
	return level, text
}

// cutAnchor cuts [[id]] out of a title.
func cutAnchor(text string) (rest, id string) {
	open := strings.Index(text, "[[")
	if open < 0 {
		return text, ""
	}
	end := strings.Index(text[open:], "]]")
	if end < 0 {
		return text, ""
	}
	id, _, _ = strings.Cut(text[open+2:open+end], ",")
	return strings.TrimSpace(text[:open] + text[open+end+2:]), id
}

// header reads the header of the document: its title, authors, revision and attributes. It returns the number of lines.
func (p *parser) header(lines []string) int {
	i := p.skipPreamble(lines)
	if i >= len(lines) {
		return i
	}
	level, text := cutTitle(lines[i])
	switch {
	case level == 1:
		i++
	case i+1 < len(lines) && underlineLevel(lines[i], lines[i+1]) == 1:
		text = strings.TrimSpace(lines[i])
		i += 2
	default:
		return i
	}
	text, _ = cutAnchor(text)
	if i < len(lines) && isAuthorLine(lines[i]) {
		p.authors(lines[i])
		if i++; i < len(lines) && isRevisionLine(lines[i]) {
			p.revision(lines[i])
			i++
		}
	}
	for i < len(lines) && strings.TrimSpace(lines[i]) != "" {
		n := p.attribute(lines[i:])
		if n == 0 && !isLineComment(lines[i]) {
			break
		}
		i += max(n, 1)
	}
	p.title = p.expand(text)
	p.attributes["doctitle"] = p.title
	return i
}

// skipPreamble returns the number of lines with comments and attributes before the title.
func (p *parser) skipPreamble(lines []string) int {
	i := 0
	for i < len(lines) {
		switch n := p.attribute(lines[i:]); {
		case n > 0:
			i += n
		case strings.TrimSpace(lines[i]) == "" || isLineComment(lines[i]):
			i++
		case isDelimiter(lines[i], '/'):
			i += delimitedLength(lines[i:])
		default:
			return i
		}
	}
	return i
}

func isLineComment(line string) bool {
	return strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "///")
}

// isAuthorLine reports whether a line lists names, separated by semicolons, with or without mail addresses.
func isAuthorLine(line string) bool {
	if line == "" || line[0] == ':' || isLineComment(line) || len(line) > 500 {
		return false
	}
	for author := range strings.SplitSeq(line, ";") {
		name, address, _ := strings.Cut(author, "<")
		words := strings.Fields(name)
		if len(words) == 0 || len(words) > 4 || strings.ContainsAny(name, ":=[]{}`*,!?()/") || address != "" && !strings.Contains(address, ">") {
			return false
		}
	}
	return true
}

func (p *parser) authors(line string) {
	var names []string
	for author := range strings.SplitSeq(line, ";") {
		name, address, _ := strings.Cut(author, "<")
		names = append(names, strings.ReplaceAll(strings.Join(strings.Fields(name), " "), "_", " "))
		if p.attributes["email"] == "" {
			p.attributes["email"] = strings.TrimRight(strings.TrimSpace(address), ">")
		}
	}
	p.attributes["author"] = names[0]
	p.attributes["authors"] = strings.Join(names, ", ")
}

// isRevisionLine reports whether a line is like "v1.2, 2024-05-17: First edition".
func isRevisionLine(line string) bool {
	if line == "" || line[0] == ':' || isLineComment(line) {
		return false
	}
	first := strings.TrimPrefix(strings.TrimSpace(line), "v")
	return first != "" && '0' <= first[0] && first[0] <= '9'
}

func (p *parser) revision(line string) {
	rest := strings.TrimSpace(line)
	if version, date, found := strings.Cut(rest, ","); found {
		p.attributes["revnumber"] = strings.TrimPrefix(strings.TrimSpace(version), "v")
		rest = strings.TrimSpace(date)
	} else if strings.HasPrefix(rest, "v") {
		version, remark, _ := strings.Cut(rest, ":")
		p.attributes["revnumber"], rest = strings.TrimPrefix(version, "v"), ":"+remark
	}
	date, remark, _ := strings.Cut(rest, ": ")
	p.attributes["revdate"] = strings.TrimSpace(strings.TrimPrefix(date, ":"))
	p.attributes["revremark"] = strings.TrimSpace(remark)
}

// Bounds of the attributes of a document.
const (
	maxAttributes     = 5_000
	maxAttributeBytes = 8 << 10
)

// attribute reads an attribute entry ":name: value", which may continue on further lines. It returns the number of
// lines, or 0 if there is no entry.
func (p *parser) attribute(lines []string) int {
	line := lines[0]
	if len(line) < 3 || line[0] != ':' {
		return 0
	}
	end := strings.IndexByte(line[1:], ':') + 1
	if end <= 1 || end+1 < len(line) && line[end+1] != ' ' && line[end+1] != '\t' {
		return 0
	}
	name := line[1:end]
	for i := range len(name) {
		switch c := name[i]; {
		case ascii.IsAlphanumeric(c), c == '-', c == '_', c >= 0x80:
		case c == '!' && (i == 0 || i == len(name)-1): // unsets the attribute
		default:
			return 0
		}
	}
	value, used := strings.TrimSpace(line[end+1:]), 1
	for strings.HasSuffix(value, " \\") && used < min(len(lines), 100) {
		value = strings.TrimSuffix(strings.TrimSuffix(value, " \\"), " +") + " " + strings.TrimSpace(lines[used])
		used++
	}
	name = strings.ToLower(name)
	if strings.Contains(name, "!") {
		delete(p.attributes, strings.Trim(name, "!"))
		return used
	}
	if value = p.expand(value); len(value) <= maxAttributeBytes && len(p.attributes) < maxAttributes {
		p.attributes[name] = value
	}
	return used
}

// expand replaces attribute references: {name}.
func (p *parser) expand(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := strings.IndexByte(text[at:min(len(text), at+80)], '}')
		if end <= 1 {
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		name := text[at+1 : at+end]
		value, found := p.value(name)
		switch {
		case at > 0 && text[at-1] == '\\':
			b.WriteString(text[:at-1] + text[at:at+end+1])
		case !found || p.attributeBudget < len(value):
			b.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		default:
			p.attributeBudget -= len(value)
			b.WriteString(text[:at] + value)
		}
		text = text[at+end+1:]
	}
}

// value returns the value of an attribute reference.
func (p *parser) value(name string) (string, bool) {
	name = strings.ToLower(name)
	if value, found := p.attributes[name]; found {
		return value, true
	}
	if counter, found := strings.CutPrefix(name, "counter:"); found {
		counter, _, _ = strings.Cut(counter, ":")
		p.counters[counter]++
		return strconv.Itoa(p.counters[counter]), true
	}
	switch name {
	case "nbsp", "sp", "space":
		return " ", true
	case "empty", "blank", "zwsp", "wj", "shy":
		return "", true
	case "plus":
		return "+", true
	case "pp":
		return "++", true
	case "cpp":
		return "C++", true
	case "asterisk":
		return "*", true
	case "lt":
		return "<", true
	case "gt":
		return ">", true
	case "amp":
		return "&", true
	case "startsb":
		return "[", true
	case "endsb":
		return "]", true
	case "vbar":
		return "|", true
	case "caret":
		return "^", true
	case "tilde":
		return "~", true
	case "backslash":
		return `\`, true
	case "backtick":
		return "`", true
	case "apos":
		return "'", true
	case "quot":
		return `"`, true
	case "lsquo":
		return "‘", true
	case "rsquo":
		return "’", true
	case "ldquo":
		return "“", true
	case "rdquo":
		return "”", true
	case "deg":
		return "°", true
	case "brvbar":
		return "¦", true
	case "two-colons":
		return "::", true
	case "two-semicolons":
		return ";;", true
	}
	return "", false
}

// addFacts adds the attributes that describe the document to its facts.
func (p *parser) addFacts() {
	for _, pair := range [...][2]string{
		{"description", "description"}, {"keywords", "keywords"}, {"revdate", "updated"}, {"authors", "author"}, {"author", "author"},
		{"lang", "lang"}, {"revnumber", "version"}, {"page-topic-type", "type"}, {"docdate", "updated"}, {"subject", "subject"},
		{"copyright", "copyright"}, {"orgname", "organization"}, {"page-tags", "tags"}, {"category", "category"},
	} {
		if value := p.attributes[pair[0]]; value != "" && p.meta[pair[1]] == nil {
			p.meta[pair[1]] = safetext.TruncateBytes(p.plain(value), 2000)
		}
	}
}

// footnoteBlocks returns the footnotes of the file with their numbers.
func (p *parser) footnoteBlocks() []document.Block {
	var blocks []document.Block
	for i, text := range p.footnotes {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: "[" + strconv.Itoa(i+1) + "] " + text})
	}
	return blocks
}
