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

// Read reads reStructuredText as docutils 0.21 specifies it, with the directives and roles of Sphinx. Nothing
// outside is read: what a file includes is left out.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	p := newRestructured(ctx, len(r.Text), make(document.Anchors))
	lines := strings.Split(compose.ExpandTabs(r.Text), "\n")
	p.survey(lines)
	blocks := p.body(lines, 0, true)
	if p.err != nil {
		return nil, p.err
	}
	return &document.Draft{Blocks: append(blocks, p.footnotes()...), Prose: true, Meta: p.meta}, nil
}

// Fragment returns the blocks of a piece of reStructuredText inside another document, depth levels deep in it. The
// anchors are those of the whole document.
func Fragment(ctx context.Context, text string, anchors document.Anchors, depth int) ([]document.Block, error) {
	p := newRestructured(ctx, len(text), anchors)
	lines := strings.Split(compose.ExpandTabs(text), "\n")
	p.survey(lines)
	blocks := p.body(lines, depth, true)
	return append(blocks, p.footnotes()...), p.err
}

// restructured holds what is known of a whole file.
type restructured struct {
	ctx     context.Context
	anchors document.Anchors
	meta    map[string]any
	names   restructuredNames
	styles  []string // of titles, in order of first sight, which is their level
	level   int      // of the section
	pending string   // explicit target before the next title
	started bool     // something other than the title has been read
	// language of code that names none, and the module and class whose members are described.
	language, module, class string
	described               int // how deep descriptions of members are nested
	budget                  int // bytes that replacements may still add
	ahead                   int // bytes that may still be looked at in vain for the end of inline marks
	steps                   int
	err                     error
}

func newRestructured(ctx context.Context, size int, anchors document.Anchors) *restructured {
	return &restructured{
		ctx: ctx, anchors: anchors, meta: make(map[string]any), budget: 1<<20 + 4*size,
		ahead: 1<<24 + 32*size,
	}
}

func (p *restructured) alive() bool {
	p.steps++
	if p.err == nil && p.steps%512 == 0 && p.ctx.Err() != nil {
		p.err = fmt.Errorf("parse reStructuredText: %w", p.ctx.Err())
	}
	return p.err == nil
}

// body reads lines as a sequence of elements. Titles stand at the top level only.
func (p *restructured) body(lines []string, depth int, titles bool) []document.Block {
	b := restructuredBody{p: p, depth: depth, titles: titles}
	if depth > compose.MaxNesting {
		return []document.Block{{Kind: document.Paragraph, Text: p.inline(strings.TrimSpace(strings.Join(lines, "\n")))}}
	}
	for i := 0; i < len(lines) && p.alive(); {
		if compose.IsBlank(lines[i]) {
			i++
			continue
		}
		i += max(b.element(lines[i:]), 1)
	}
	return b.blocks
}

// restructuredBody collects the blocks of one sequence of elements.
type restructuredBody struct {
	p      *restructured
	depth  int
	titles bool
	blocks []document.Block
}

func (b *restructuredBody) emit(block document.Block) {
	if !block.Blank() {
		b.p.started = b.p.started || block.Kind != document.Heading
		b.blocks = append(b.blocks, block)
	}
}

func (b *restructuredBody) paragraph(text string) {
	b.emit(document.Block{Kind: document.Paragraph, Text: text})
}

// nested reads lines that stand inside an element.
func (b *restructuredBody) nested(lines []string) []document.Block {
	return b.p.body(lines, b.depth+1, false)
}

// element reads the element that the lines begin with, which is no blank line, and returns how many lines it has.
func (b *restructuredBody) element(lines []string) int {
	line := lines[0]
	if line[0] == ' ' {
		return b.blockQuote(lines)
	}
	if b.titles {
		if title, style, used := restructuredTitle(lines); used > 0 {
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
	case FieldName(line) > 0:
		return b.fieldList(lines)
	case isOption(line):
		return b.optionList(lines)
	}
	if len(lines) > 1 && !compose.IsBlank(lines[1]) && lines[1][0] == ' ' && !strings.HasSuffix(strings.TrimRight(line, " "), "::") {
		return b.definitionList(lines)
	}
	return b.text(lines)
}

// title begins a section.
func (b *restructuredBody) title(title, style string) {
	p := b.p
	if !slices.Contains(p.styles, style) {
		p.styles = append(p.styles, style)
	}
	p.level = min(slices.Index(p.styles, style)+1, 6)
	b.heading(p.level, p.plain(title), "")
}

// heading emits a heading; the explicit target before it goes before its own name, and both before its text.
func (b *restructuredBody) heading(level int, text, own string) {
	p := b.p
	anchor := p.pending
	p.pending = ""
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

// restructuredTitle recognises a title with a line of punctuation below it, or also above. The style is the
// punctuation, twice when it is on both sides.
func restructuredTitle(lines []string) (title, style string, used int) {
	if len(lines) < 2 {
		return "", "", 0
	}
	if isAdornment(lines[0]) {
		if len(lines) >= 3 && !compose.IsBlank(lines[1]) && !isAdornment(lines[1]) && isAdornment(lines[2]) && lines[2][0] == lines[0][0] && fits(lines[0], lines[1]) {
			return strings.TrimSpace(lines[1]), lines[0][:1] + lines[0][:1], 3
		}
		return "", "", 0
	}
	if !isAdornment(lines[1]) || !fits(lines[1], lines[0]) || isBullet(lines[0]) && len(strings.TrimSpace(lines[0])) < 2 {
		return "", "", 0
	}
	if strings.HasPrefix(lines[0], ".. ") || isGridBorder(lines[0]) || strings.HasPrefix(lines[0], "| ") {
		return "", "", 0
	}
	return strings.TrimSpace(lines[0]), lines[1][:1], 2
}

// isAdornment reports a line of one punctuation character, repeated.
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

// fits reports an adornment that is as long as the title, or at least long enough that it is no accident.
func fits(adornment, title string) bool {
	n := len(strings.TrimRight(adornment, " "))
	return n >= 4 || n >= columns(strings.TrimSpace(title))
}

// columns returns how wide a text is: characters of East Asian scripts take two columns.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
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

// docutilsID makes a fragment of a name as docutils does: lower-case letters and digits, with hyphens between. It is
// empty for names without any Latin letter.
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
