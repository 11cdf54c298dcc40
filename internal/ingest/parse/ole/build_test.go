package ole_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb/cfbtest"
)

var le = binary.LittleEndian

// source is a file as a reader gets it.
func source(content []byte) document.Source {
	limits := document.Limits{}.WithDefaults()
	return document.Source{Content: content, Limits: limits, Budget: document.NewBudget(limits)}
}

// markdown returns blocks as a document would be written.
func markdown(draft *document.Draft) string {
	whole := document.Document{Blocks: draft.Blocks}
	return whole.Markdown()
}

// has fails for each part that a text does not have, in this order.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%q is missing or in the wrong place in:\n%s", part, text)
		}
		rest = after
	}
}

// para is a paragraph: its text with its mark, the number of its style, and its properties.
type para struct {
	text  string
	style int
	props []byte
	chars []byte // properties of its characters
}

// wordFile makes documents. The text stands in one piece of one byte, or two bytes, a character.
type wordFile struct {
	version  int
	language int
	wide     bool
	paras    []para
	stories  [8]int // characters of the stories; the body's are counted
	// places are structures by their place in the list, made when the text is placed.
	places map[int][]byte
	after  []byte // follows the list formats
	clx    []byte // in place of the one of a single piece; nil for that
	fonts  []byte
}

func (f *wordFile) old() bool { return f.version < 105 }

func words16(values ...int) []byte {
	var out []byte
	for _, v := range values {
		out = le.AppendUint16(out, uint16(v))
	}
	return out
}

func words32(values ...int) []byte {
	var out []byte
	for _, v := range values {
		out = le.AppendUint32(out, uint32(v))
	}
	return out
}

func utf16Bytes(text string) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = le.AppendUint16(out, unit)
	}
	return out
}

const textStart = 0x600

// build makes the file.
func (f *wordFile) build() []byte {
	main := make([]byte, textStart)
	encode := func(text string) []byte {
		if f.wide {
			return utf16Bytes(text)
		}
		return []byte(text) // bytes of a code page
	}
	starts := []int{textStart}
	for _, p := range f.paras {
		main = append(main, encode(p.text)...)
		starts = append(starts, len(main))
	}
	last := len(main)
	chars := last - textStart
	if f.wide {
		chars /= 2
	}
	if f.stories[0] == 0 {
		f.stories[0] = chars
	}
	for len(main)%512 != 0 {
		main = append(main, 0)
	}
	paragraphs, pages := f.pages(starts, true)
	paragraphPage := len(main) / 512
	main = append(main, pages...)
	characters, pages := f.pages(starts, false)
	characterPage := len(main) / 512
	main = append(main, pages...)

	structures := map[int][]byte{
		1: f.styleSheet(), 12: f.bin(characters, characterPage), 13: f.bin(paragraphs, paragraphPage), 15: f.fonts,
	}
	if !f.old() {
		offset := textStart
		if !f.wide {
			offset = textStart*2 | 1<<30
		}
		structures[33] = append([]byte{2}, append(words32(16), append(words32(0, chars), append(words16(0), append(words32(offset), words16(0)...)...)...)...)...)
	}
	if f.clx != nil {
		structures[33] = f.clx
	}
	for place, content := range f.places {
		structures[place] = content
	}
	le.PutUint16(main, 0xA5EC)
	le.PutUint16(main[2:], uint16(f.version))
	le.PutUint16(main[6:], uint16(f.language))
	le.PutUint32(main[24:], textStart)
	le.PutUint32(main[28:], uint32(last))
	counts, list := 0x34, 0x58
	tables := main
	if !f.old() {
		le.PutUint16(main[10:], 0x0200)
		le.PutUint16(main[32:], 14)
		le.PutUint16(main[62:], 22)
		counts, list, tables = 76, 154, []byte("the stream of structures")
	} else {
		le.PutUint16(main, 0xA5DC)
	}
	for i, count := range f.stories {
		le.PutUint32(main[counts+4*i:], uint32(count))
	}
	for place := range 90 {
		content := structures[place]
		if len(content) == 0 {
			continue
		}
		at := list + 8*place
		if f.old() && place >= 40 {
			at = 0x192 + 8*(place-40)
		}
		le.PutUint32(main[at:], uint32(len(tables)))
		le.PutUint32(main[at+4:], uint32(len(content)))
		tables = append(tables, content...)
		if place == 73 {
			tables = append(tables, f.after...)
		}
	}
	if f.old() {
		copy(tables, main[:textStart])
		return cfbtest.Build(false, cfbtest.Stream{Path: "WordDocument", Content: tables})
	}
	return cfbtest.Build(false, cfbtest.Stream{Path: "WordDocument", Content: main}, cfbtest.Stream{Path: "1Table", Content: tables})
}

// pages makes pages of properties, one run a paragraph, and tells where the runs of each begin.
func (f *wordFile) pages(starts []int, paragraphs bool) (firsts []int, pages []byte) {
	const perPage = 8
	for from := 0; from < len(f.paras); from += perPage {
		to := min(from+perPage, len(f.paras))
		page := make([]byte, 512)
		page[511] = byte(to - from)
		width := 1
		if paragraphs {
			width = 13
			if f.old() {
				width = 7
			}
		}
		end := 510
		for i := from; i <= to; i++ {
			le.PutUint32(page[4*(i-from):], uint32(starts[i]))
			if i == to {
				break
			}
			var run []byte
			p := f.paras[i]
			switch {
			case paragraphs:
				run = append(words16(p.style), p.props...)
				if len(run)%2 == 0 && !f.old() {
					run = append([]byte{0, byte(len(run) / 2)}, run...)
				} else {
					if f.old() && len(run)%2 == 1 {
						run = append(run, 0)
					}
					run = append([]byte{byte((len(run) + 1) / 2)}, run...)
				}
			case p.chars == nil:
				continue
			default:
				run = append([]byte{byte(len(p.chars))}, p.chars...)
			}
			end = (end - len(run)) &^ 1
			copy(page[end:], run)
			page[4*(to-from+1)+width*(i-from)] = byte(end / 2)
		}
		firsts = append(firsts, starts[from])
		pages = append(pages, page...)
	}
	return append(firsts, starts[len(starts)-1]), pages
}

func (f *wordFile) bin(firsts []int, page int) []byte {
	out := words32(firsts...)
	for i := range len(firsts) - 1 {
		if f.old() {
			out = append(out, words16(page+i)...)
		} else {
			out = append(out, words32(page+i)...)
		}
	}
	return out
}

// styleSheet has Normal, three headings, a style in Courier named Listing by number 4, and hidden characters by number 5.
func (f *wordFile) styleSheet() []byte {
	head := words16(6, 10, 0, 0, 0, 0, 0, 0, 0)
	out := append(words16(len(head)), head...)
	for i, name := range []string{"Normal", "heading 1", "heading 2", "heading 3", "Program Listing", "Unseen"} {
		number, kind, base := i, 1, 0
		if i == 0 {
			base = 0xFFF
		}
		if i > 3 {
			number = 0xFFE
		}
		if i == 5 {
			kind, base = 2, 0xFFF
		}
		style := words16(number, kind|base<<4, 2, 0, 0)
		if f.old() {
			style = append(style, byte(len(name)))
			style = append(append(style, name...), 0)
		} else {
			style = append(style, words16(len(name))...)
			style = append(append(style, utf16Bytes(name)...), 0, 0)
		}
		if len(style)%2 == 1 {
			style = append(style, 0)
		}
		if kind == 2 {
			style = append(style, append(words16(3), 0x3C, 0x08, 1, 0)...)
		} else {
			style = append(style, append(words16(2), words16(i)...)...)
			style = append(style, words16(0)...)
		}
		out = append(append(out, words16(len(style))...), style...)
	}
	return out
}

// sprm makes a property of Word 97.
func sprm(property int, value ...byte) []byte { return append(words16(property), value...) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
