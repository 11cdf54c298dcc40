package pdf

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxGlyphs is how many glyphs a page may have.
	maxGlyphs = 4 << 20
	// maxSpans is how many spans of a page are ordered by position. A page with more is read in the order of the file.
	maxSpans = 20_000
)

// A page is the content of a page.
type page struct {
	number    int
	isDamaged bool
	isEmpty   bool // there is nothing on it, not even a picture
	// In text space, in points: x to the right, y down.
	left, top, right, bottom float64
	turn                     turn // from page space to text space
	lines                    []line
	columns                  []column
	fields                   []field
	comments                 []comment
	recognized               []string // paragraphs that were recognized in its image
}

// turn is the direction of text on a page: right, up, left, down, or an angle in degrees.
type turn int

// apply converts a point from page space to the space of text in this direction.
func (t turn) apply(x, y float64) (float64, float64) {
	switch t {
	case 0:
		return x, -y
	case 90:
		return y, x
	case 180:
		return -x, y
	case 270:
		return -y, -x
	}
	sin, cos := math.Sincos(float64(t) * math.Pi / 180)
	return x*cos + y*sin, x*sin - y*cos
}

// box converts a rectangle of the page. It returns the upright rectangle around it.
func (t turn) box(left, bottom, right, top float64) (x0, y0, x1, y1 float64) {
	ax, ay := t.apply(left, bottom)
	bx, by := t.apply(right, top)
	return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)
}

// turnOf returns the direction of text from the first row of its matrix. Nearly upright text is upright.
func turnOf(a, b float64) turn {
	degrees := math.Mod(math.Atan2(b, a)*180/math.Pi+360, 360)
	for _, upright := range []float64{0, 90, 180, 270, 360} {
		if math.Abs(degrees-upright) < 12 {
			return turn(math.Mod(upright, 360))
		}
	}
	return turn(math.Round(degrees/5) * 5)
}

// style is the style of a text object.
type style struct {
	size                        float64 // in points, as displayed
	turn                        turn
	isBold, isMono, isPictorial bool
	base                        float64 // height of the base line in text space
	font                        uint64  // handle, 0 if unknown
}

// A span is text in one style on one base line.
type span struct {
	text           string
	x0, x1, base   float64
	size           float64
	turn           turn
	link           int // index + 1 in the links of the page
	glyphs         int
	breaks         []blank // between its words
	isBold, isMono bool
	afterBlank     bool // after a blank
	isRaised       bool // a superscript or subscript
	rightToLeft    bool
}

// blank is a gap between two words of a span.
type blank struct {
	at     int // in the text
	x0, x1 float64
}

func (s *span) top() float64    { return s.base - 0.8*s.size }
func (s *span) bottom() float64 { return s.base + 0.2*s.size }

// extract reads a loaded page.
func (f *file) extract(ctx context.Context, handle uint64, p *page) {
	box := make([]float64, 4)
	f.call(ctx, "FPDF_GetPageBoundingBox", handle, f.scratch)
	f.floats(box)
	objects := f.number(ctx, "FPDFPage_CountObjects", handle)
	links := f.links(ctx, handle)
	text := f.call(ctx, "FPDFText_LoadPage", handle)
	if f.err != nil {
		return
	}
	count := 0
	if text != 0 {
		count = f.number(ctx, "FPDFText_CountChars", text)
	}
	p.isEmpty = objects == 0
	if count > maxGlyphs {
		f.err = &document.LimitError{Detail: fmt.Sprintf("a page has more than %d characters", maxGlyphs)}
		return
	}
	var drawn rules
	if count > 0 && objects > 0 {
		drawn = f.rules(ctx, handle, objects)
	}
	reader := glyphReader{file: f, text: text, links: links, rules: drawn.uprights(), fonts: make(map[uint64]style)}
	if f.isDamaged {
		reader.widths = reader.learnWidths(ctx, count)
	}
	spans := reader.read(ctx, count)
	if text != 0 {
		f.call(ctx, "FPDFText_ClosePage", text)
	}
	f.annotations(ctx, handle, p)
	if f.err == nil {
		p.arrange(spans, drawn, links, box)
	}
}

// A glyphReader makes spans of the glyphs of a page in the order of the file.
type glyphReader struct {
	*file
	text  uint64
	links []link
	rules []rule // the upright ones
	// widths are the widths of the glyphs that differ from those of their boxes, in multiples of the font size; nil for
	// none.
	widths []float32

	fonts     map[uint64]style
	style     style
	object    uint64
	spans     []span
	open      span // the current span, if it has text
	buffer    []byte
	blanks    int    // blanks since the last glyph
	lastBlank uint64 // the last of them
	widest    float64
	gap       float64 // between the last two glyphs of a word
	lastX     float64 // left edge of the last glyph; the glyphs of a ligature have the same
	hasWidth  bool    // the last glyph has one of widths
}

func (g *glyphReader) read(ctx context.Context, count int) []span {
	var high rune // a high surrogate
	for k := range count {
		index := uint64(k) //nolint:gosec // not negative
		r := rune(uint32(g.call(ctx, "FPDFText_GetUnicode", g.text, index)))
		if g.err != nil {
			return nil
		}
		switch {
		case r == '\r' || r == '\n':
			g.flush()
			g.object = 0
			continue
		case r == ' ' || r == 0xa0 || r == '\t' || r == 0x3000 || r == 0x2007 || r == 0x202f || r >= 0x2000 && r <= 0x200a:
			g.blanks++
			g.lastBlank = index
			continue
		case r < 0 || r > unicode.MaxRune:
			continue
		case utf16.IsSurrogate(r):
			if high == 0 {
				high = r
				continue
			}
			r = utf16.DecodeRune(high, r)
		}
		high = 0
		g.glyph(ctx, index, r)
	}
	g.flush()
	return g.spans
}

// glyph adds a glyph.
func (g *glyphReader) glyph(ctx context.Context, index uint64, r rune) {
	object := g.call(ctx, "FPDFText_GetTextObject", g.text, index)
	if object != g.object || object == 0 && g.object == 0 {
		if object != 0 || g.style.size == 0 {
			g.restyle(ctx, index, object)
		}
		g.object = object
	}
	var box [4]float64 // left, top, right, bottom
	g.call(ctx, "FPDFText_GetLooseCharBox", g.text, index, g.scratch)
	g.floats(box[:])
	s := &g.style
	x0, _, x1, _ := s.turn.box(box[0], box[3], box[2], box[1])
	base := s.base
	if s.turn%90 != 0 {
		// The box of a slanted glyph is useless. Its origin is enough to keep the line together.
		ox, oy := g.origin(ctx, index)
		x0, base = s.turn.apply(ox, oy)
		x1 = x0 + s.size/2
	}
	if g.blanks == 1 && len(g.buffer) > 0 && (g.hasWidth || math.Abs(x0-g.open.x1) < 0.04*s.size) && g.open.turn == s.turn &&
		g.number(ctx, "FPDFText_IsGenerated", g.text, g.lastBlank) == 1 {
		g.blanks = 0 // pdfium generated a blank where there is no gap
	}
	if g.blanks == 0 && len(g.buffer) > 0 && g.isWord(x0-g.open.x1, r) {
		g.blanks = 1
	}
	if g.hasWidth = index < uint64(len(g.widths)) && g.widths[index] > 0; g.hasWidth {
		x1 = x0 + float64(g.widths[index])*s.size
	}
	spaced := g.blanks > 0
	switch {
	case len(g.buffer) > 0 && g.startsSpan(x0, x1, base, r, (box[0]+box[2])/2, (box[1]+box[3])/2):
		g.flush()
		fallthrough
	case len(g.buffer) == 0:
		g.open = span{
			x0: x0, x1: x1, base: base, size: s.size, turn: s.turn, isBold: s.isBold, isMono: s.isMono, afterBlank: spaced,
			link: linkAt(g.links, (box[0]+box[2])/2, (box[1]+box[3])/2), rightToLeft: isRightToLeft(r),
		}
	case g.blanks > 0:
		blanks := 1
		if s.isMono && g.widest > 0 && x0 > g.open.x1 {
			blanks = min(max(1, int(math.Round((x0-g.open.x1)/g.widest))), 40)
		}
		g.open.breaks = append(g.open.breaks, blank{at: len(g.buffer), x0: g.open.x1, x1: x0})
		g.buffer = append(g.buffer, strings.Repeat(" ", blanks)...)
	}
	if g.gap = 0; g.blanks == 0 && len(g.buffer) > 0 {
		g.gap = max(x0-g.open.x1, 0)
	}
	g.blanks = 0
	before := len(g.buffer)
	g.buffer = spell(g.buffer, r, s.isPictorial)
	if len(g.buffer) > before {
		g.open.glyphs++
	}
	g.lastX = x0
	g.open.x0, g.open.x1 = min(g.open.x0, x0), max(g.open.x1, x1)
	if s.isMono {
		g.widest = x1 - x0
	}
	g.open.rightToLeft = g.open.rightToLeft || isRightToLeft(r)
}

// itemMark matches the text before a list item.
var itemMark = regexp.MustCompile(`^(?:\(?\w{1,2}[.)]|[•◦▪–-])$`)

// isWord reports whether a gap that pdfium ignores is one between words: it is wider than those between other glyphs,
// or comes after the number or bullet of a list item.
func (g *glyphReader) isWord(gap float64, r rune) bool {
	size := g.style.size
	if g.hasWidth && !g.open.rightToLeft {
		return gap > 0.15*size
	}
	if gap > 0.12*size && itemMark.Match(g.buffer) {
		return true
	}
	if gap < 0.2*size || g.open.rightToLeft || isIdeographic(r) {
		return false
	}
	last := lastRune(string(g.buffer[max(0, len(g.buffer)-utf8.UTFMax):]))
	if !unicode.IsLetter(last) && !unicode.IsDigit(last) {
		return gap > 2*g.gap
	}
	return gap > 0.3*size && g.open.glyphs > 2 && gap > 3*g.gap && !isIdeographic(last)
}

// startsSpan reports whether a glyph starts a new span.
func (g *glyphReader) startsSpan(x0, x1, base float64, r rune, midX, midY float64) bool {
	s, open := &g.style, &g.open
	if open.turn != s.turn || math.Abs(open.base-base) > 0.1*s.size || math.Abs(open.size-s.size) > 0.05*s.size ||
		open.isBold != s.isBold || open.isMono != s.isMono {
		return true
	}
	if (len(g.links) > 0 || open.link != 0) && linkAt(g.links, midX, midY) != open.link {
		return true
	}
	gap := x0 - open.x1
	if open.rightToLeft || isRightToLeft(r) {
		gap = max(gap, open.x0-x1)
	} else if gap < -0.6*s.size && x0 < g.lastX-0.1*s.size {
		return true
	}
	limit := wideGap * s.size
	if s.isMono {
		limit = 6 * s.size
	}
	if gap > limit {
		return true
	}
	return g.blanks > 0 && len(g.rules) > 0 && s.turn == 0 && crosses(g.rules, open.x1, x0, midY)
}

func (g *glyphReader) flush() {
	if len(g.buffer) > 0 {
		text := string(g.buffer)
		if g.open.text = compose(text); len(g.open.text) != len(text) {
			g.open.breaks = nil
		}
		if strings.TrimSpace(g.open.text) != "" {
			g.spans = append(g.spans, g.open)
		}
		g.blanks = 0
	}
	g.buffer = g.buffer[:0]
}

func (g *glyphReader) origin(ctx context.Context, index uint64) (float64, float64) {
	if g.number(ctx, "FPDFText_GetCharOrigin", g.text, index, g.scratch, g.scratch+8) == 0 {
		return 0, 0
	}
	return g.double(0), g.double(8)
}

// restyle reads the style of the text object of a glyph.
func (g *glyphReader) restyle(ctx context.Context, index, object uint64) {
	size := math.Float64frombits(g.call(ctx, "FPDFText_GetFontSize", g.text, index))
	var matrix [6]float64
	if g.number(ctx, "FPDFText_GetMatrix", g.text, index, g.scratch) != 0 {
		g.floats(matrix[:])
	} else {
		matrix[0], matrix[3] = 1, 1
	}
	s := g.font(ctx, object)
	s.size = finite(math.Abs(size) * math.Hypot(matrix[2], matrix[3]))
	if s.size <= 0.01 {
		s.size = 1
	}
	s.turn = turnOf(matrix[0], matrix[1])
	_, s.base = s.turn.apply(g.origin(ctx, index))
	g.style = s
}

// font reads the style that follows from the font of a text object.
func (g *glyphReader) font(ctx context.Context, object uint64) style {
	if object == 0 {
		return style{}
	}
	handle := g.call(ctx, "FPDFTextObj_GetFont", object)
	if handle == 0 {
		return style{}
	}
	if known, found := g.fonts[handle]; found {
		return known
	}
	const fixedPitch, symbolic, forceBold = 1, 4, 1 << 18 // ISO 32000-1, table 123
	flags := g.number(ctx, "FPDFFont_GetFlags", handle)
	name := strings.ToLower(g.narrow(ctx, "FPDFFont_GetBaseFontName", handle))
	if _, rest, subset := strings.Cut(name, "+"); subset {
		name = rest
	}
	has := func(words ...string) bool {
		for _, word := range words {
			if strings.Contains(name, word) {
				return true
			}
		}
		return false
	}
	s := style{
		isBold: flags&forceBold != 0 || has("bold", "black", "heavy", "demi", "cmbx", "sfbx", "ecbx") || has("nimbus") && has("-medi"),
		isMono: (flags&fixedPitch != 0 || g.isEven(ctx, handle)) && !has("gothic", "mincho", "ming", "song", "hei", "kai", "cjk") ||
			has("courier", "mono", "consol", "menlo", "typewriter", "nimbusmon", "cmtt", "sftt", "ectt", "lmtt", "codepro", "firacode",
				"cascadiacode", "inconsolata") && !has("monotype"),
		isPictorial: flags&symbolic != 0 && has("wingding", "symbol", "dingbat", "webding", "awesome", "icon"),
	}
	s.font = handle
	g.fonts[handle] = s
	return s
}

// isEven reports whether narrow and wide letters of a font have the same width.
func (g *glyphReader) isEven(ctx context.Context, font uint64) bool {
	var first float64
	for k, letter := range []uint64{'m', 'i', 'W', '.'} {
		if g.number(ctx, "FPDFFont_GetGlyphWidth", font, letter, uint64(math.Float32bits(1000)), g.scratch) == 0 {
			return false
		}
		var width [1]float64
		g.floats(width[:])
		if k == 0 {
			first = width[0]
		}
		if width[0] <= 0 || math.Abs(width[0]-first) > 1 {
			return false
		}
	}
	return true
}
