package restructured

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads reStructuredText as docutils 0.21 specifies it, with the directives and roles of Sphinx. It opens no other
// file: included files are left out.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	p := newParser(ctx, len(in.Text), make(document.Anchors))
	lines := strings.Split(compose.ExpandTabs(in.Text), "\n")
	p.collectNames(lines)
	blocks := p.readBody(lines, 0, true)
	if p.err != nil {
		return nil, p.err
	}
	return &document.Draft{Blocks: append(blocks, p.footnotes()...), Prose: true, Meta: p.meta}, nil
}

// Fragment returns the blocks of a piece of reStructuredText inside another document, where it is nested depth levels
// deep. The anchors are those of the whole document.
func Fragment(ctx context.Context, text string, anchors document.Anchors, depth int) ([]document.Block, error) {
	p := newParser(ctx, len(text), anchors)
	lines := strings.Split(compose.ExpandTabs(text), "\n")
	p.collectNames(lines)
	blocks := p.readBody(lines, depth, true)
	return append(blocks, p.footnotes()...), p.err
}

// parser holds the state of a whole file.
type parser struct {
	ctx           context.Context
	anchors       document.Anchors
	meta          map[string]any
	names         nameTable
	styles        []string // of titles, in the order of their levels
	level         int      // of the current section
	pendingTarget string   // explicit target before the next title
	hasContent    bool     // whether anything but a title has been read
	// language is the default language of code. The described members belong to module and class.
	language, module, class string
	descriptionDepth        int // nesting of member descriptions
	substitutionBudget      int // bytes that substitutions may still add
	searchBudget            int // bytes that may still be searched in vain for the end of inline markup
	steps                   int
	err                     error
}

func newParser(ctx context.Context, size int, anchors document.Anchors) *parser {
	return &parser{
		ctx: ctx, anchors: anchors, meta: make(map[string]any), substitutionBudget: 1<<20 + 4*size,
		searchBudget: 1<<24 + 32*size,
	}
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (p *parser) ok() bool {
	p.steps++
	if p.err == nil && p.steps%512 == 0 && p.ctx.Err() != nil {
		p.err = fmt.Errorf("parse reStructuredText: %w", p.ctx.Err())
	}
	return p.err == nil
}

// readBody reads lines as a sequence of elements. Only the top level has titles.
func (p *parser) readBody(lines []string, depth int, titles bool) []document.Block {
	b := body{p: p, depth: depth, hasTitles: titles}
	if depth > compose.MaxNesting {
		return []document.Block{{Kind: document.Paragraph, Text: p.inline(strings.TrimSpace(strings.Join(lines, "\n")))}}
	}
	for i := 0; i < len(lines) && p.ok(); {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		i += max(b.element(lines[i:]), 1)
	}
	return b.blocks
}

// body collects the blocks of a sequence of elements.
type body struct {
	p         *parser
	depth     int
	hasTitles bool
	blocks    []document.Block
}

func (b *body) emit(block document.Block) {
	if !block.Blank() {
		b.p.hasContent = b.p.hasContent || block.Kind != document.Heading
		b.blocks = append(b.blocks, block)
	}
}

func (b *body) paragraph(text string) {
	b.emit(document.Block{Kind: document.Paragraph, Text: text})
}

// nested reads lines inside an element.
func (b *body) nested(lines []string) []document.Block {
	return b.p.readBody(lines, b.depth+1, false)
}

// element reads the first element of the lines, of which the first is not blank. It returns the number of its lines.
func (b *body) element(lines []string) int {
	line := lines[0]
	if line[0] == ' ' {
		return b.blockQuote(lines)
	}
	if b.hasTitles {
		if title, style, used := cutTitle(lines); used > 0 {
			b.title(title, style)
			return used
		}
	}
	switch {
	case line == ".." || strings.HasPrefix(line, ".. "):
		return b.explicit(lines)
	case line == "__" || strings.HasPrefix(line, "__ "):
		return 1
	case strings.HasPrefix(line, ">>>"):
		return b.doctest(lines)
	case line == "|" || strings.HasPrefix(line, "| "):
		return b.lineBlock(lines)
	case isGridBorder(line):
		if used := b.gridTable(lines); used > 0 {
			return used
		}
	case isSimpleBorder(line):
		if used := b.simpleTable(lines); used > 0 {
			return used
		}
	case isAdornment(line) && len(strings.TrimRight(line, " ")) >= 4 && (len(lines) == 1 || compose.IsBlank(lines[1])):
		return 1 // a transition
	case isBullet(line):
		return b.bulletList(lines)
	case isEnumerated(lines):
		return b.enumeratedList(lines)
	case FieldNameWidth(line) > 0:
		return b.fieldList(lines)
	case isOption(line):
		return b.optionList(lines)
	}
	if len(lines) > 1 && !compose.IsBlank(lines[1]) && lines[1][0] == ' ' && !strings.HasSuffix(strings.TrimRight(line, " "), "::") {
		return b.definitionList(lines)
	}
	return b.textBlock(lines)
}

// title begins a section.
func (b *body) title(title, style string) {
	p := b.p
	if !slices.Contains(p.styles, style) {
		p.styles = append(p.styles, style)
	}
	p.level = min(slices.Index(p.styles, style)+1, 6)
	b.heading(p.level, p.plain(title), "")
}

// heading emits a heading. Its anchor is its own name, else the explicit target before it, else made from its text.
func (b *body) heading(level int, text, own string) {
	p := b.p
	anchor := p.pendingTarget
	p.pendingTarget = ""
	if text == "" {
		return
	}
	if own != "" {
		anchor = own
	}
	if anchor == "" {
		anchor = docutilsID(text)
	}
	if len(text) > compose.MaxHeading {
		b.paragraph(text)
		return
	}
	b.emit(document.Block{Kind: document.Heading, Level: min(level, 6), Text: text, Anchor: p.anchors.Take(anchor, text)})
}

// cutTitle returns the title that the lines begin with, its style and the number of its lines, which is 0 if there is
// no title. The style is the punctuation below the title, twice if it is above the title too.
func cutTitle(lines []string) (title, style string, used int) {
	if len(lines) < 2 {
		return "", "", 0
	}
	if isAdornment(lines[0]) {
		if len(lines) >= 3 && !compose.IsBlank(lines[1]) && !isAdornment(lines[1]) && isAdornment(lines[2]) && lines[2][0] == lines[0][0] && isLongEnough(lines[0], lines[1]) {
			return strings.TrimSpace(lines[1]), lines[0][:1] + lines[0][:1], 3
		}
		return "", "", 0
	}
	if !isAdornment(lines[1]) || !isLongEnough(lines[1], lines[0]) || isBullet(lines[0]) && len(strings.TrimSpace(lines[0])) < 2 {
		return "", "", 0
	}
	if strings.HasPrefix(lines[0], ".. ") || isGridBorder(lines[0]) || strings.HasPrefix(lines[0], "| ") {
		return "", "", 0
	}
	return strings.TrimSpace(lines[0]), lines[1][:1], 2
}

// isAdornment reports whether a line is one punctuation character, repeated.
func isAdornment(line string) bool {
	line = strings.TrimRight(line, " ")
	if len(line) < 2 || line[0] <= ' ' || line[0] >= 0x7F || ascii.IsAlphanumeric(line[0]) {
		return false
	}
	for i := range len(line) {
		if line[i] != line[0] {
			return false
		}
	}
	return line != "::" && line != ".." && line != "__"
}

// isLongEnough reports whether an adornment is as long as the title, or too long for an accident.
func isLongEnough(adornment, title string) bool {
	n := len(strings.TrimRight(adornment, " "))
	return n >= 4 || n >= displayWidth(strings.TrimSpace(title))
}

// displayWidth returns the columns of a text. Wide East Asian characters take two.
func displayWidth(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch {
	case r < 0x1100:
		return 1
	case unicode.Is(unicode.Mn, r):
		return 0
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// docutilsID returns a name as the identifier that docutils makes of it: lower-case letters and digits, with hyphens
// between. It is empty for a name without Latin letters.
func docutilsID(name string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("sz")
		case r == 'ø':
			b.WriteByte('o')
		case r == 'ł':
			b.WriteByte('l')
		default:
			if r > utf8.RuneSelf {
				continue
			}
			if text := b.String(); text != "" && text[len(text)-1] != '-' {
				b.WriteByte('-')
			}
		}
	}
	return safetext.TruncateBytes(strings.TrimRight(strings.TrimLeft(b.String(), "0123456789-"), "-"), 200)
}
