package epub

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// A title is the title of a file or of a place in it, in the table of contents.
type title struct {
	text     string
	depth    int    // from 1
	fragment string // the place in the file, "" for its start
}

// maxTitle is the longest title, in bytes.
const maxTitle = 500

// readContents reads the table of contents of EPUB 3, or else that of EPUB 2. A damaged one is no error.
func (b *book) readContents() error {
	b.titles, b.places = make(map[string]title), make(map[string]map[string]title)
	for _, contents := range []struct {
		path string
		read func(string) error
	}{{b.pack.nav, b.readNav}, {b.pack.ncx, b.readNCX}} {
		if contents.path == "" || len(b.titles) > 0 {
			continue
		}
		if err := contents.read(contents.path); err != nil && !isDamage(err) {
			return err
		}
	}
	return nil
}

// addTitle adds an entry of the table of contents. The first title of a file or place is kept.
func (b *book) addTitle(from, address, text string, depth int) {
	text = strings.Join(strings.Fields(text), " ")
	file, fragment := resolve(from, address)
	if b.entries++; text == "" || file == "" || len(text) > maxTitle || b.entries > maxItems {
		return
	}
	made := title{text: text, depth: max(depth, 1), fragment: fragment}
	if _, taken := b.titles[key(file)]; !taken {
		b.titles[key(file)] = made
	}
	if fragment == "" {
		return
	}
	places := b.places[key(file)]
	if places == nil {
		places = make(map[string]title)
		b.places[key(file)] = places
	}
	if _, taken := places[fragment]; !taken {
		places[fragment] = made
	}
}

// readNav reads a navigation document (EPUB 3.3, section 7).
func (b *book) readNav(name string) error {
	return b.scan(name, func(s *xmlscan.Scanner) error {
		if s.Name() != "nav" {
			return nil
		}
		if kind := s.Attr("type"); kind != "" && !strings.Contains(kind, "toc") {
			return s.Skip()
		}
		depth := 0
		for level := s.Depth(); s.Depth() >= level; {
			kind, err := b.next(s)
			switch {
			case err != nil:
				return err
			case s.Name() == "ol" && kind == xmlscan.Start:
				depth++
			case s.Name() == "ol" && kind == xmlscan.End:
				depth--
			case s.Name() == "a" && kind == xmlscan.Start:
				address := s.Attr("href")
				text, err := s.InnerText()
				if err != nil {
					return err
				}
				b.addTitle(name, address, text, depth)
			}
		}
		return nil
	})
}

// readNCX reads the table of contents of EPUB 2 (DAISY/NISO Z39.86, section 8).
func (b *book) readNCX(name string) error {
	text := ""
	return b.scan(name, func(s *xmlscan.Scanner) error {
		if s.Name() != "navMap" {
			return nil
		}
		depth := 0
		for level := s.Depth(); s.Depth() >= level; {
			kind, err := b.next(s)
			if err != nil {
				return err
			}
			switch {
			case s.Name() == "navPoint" && kind == xmlscan.Start:
				text = ""
				depth++
			case s.Name() == "navPoint" && kind == xmlscan.End:
				depth--
			case s.Name() == "navLabel" && kind == xmlscan.Start:
				if text, err = s.InnerText(); err != nil {
					return err
				}
			case s.Name() == "content" && kind == xmlscan.Start:
				b.addTitle(name, s.Attr("src"), text, depth)
			}
		}
		return nil
	})
}

// maxCoverWords is how many words a cover may have that is left out.
const maxCoverWords = 5

// add adds the blocks of a chapter. A chapter without a heading gets that of the table of contents.
func (b *book) add(chapter item, blocks []document.Block) error {
	kept := blocks[:0]
	words, hasHeading := 0, false
	for _, block := range blocks {
		if block.Blank() {
			continue
		}
		block.Page = 0
		if block.Kind == document.Heading {
			hasHeading = true
		}
		if chapter.isCover && words <= maxCoverWords {
			words += len(strings.Fields(block.Text)) + len(block.Rows)
		}
		b.size += block.Size()
		kept = append(kept, block)
	}
	if len(kept) == 0 || chapter.isCover && !hasHeading && words <= maxCoverWords {
		return nil
	}
	if b.size > b.in.Limits.WithDefaults().MaxText {
		return &document.LimitError{Detail: "the book has too much text"}
	}
	if named, found := b.titles[key(chapter.path)]; found && !hasHeading {
		b.put(document.Block{Kind: document.Heading, Level: min(named.depth, 6), Text: named.text})
	}
	for _, block := range kept {
		if !b.repeats(&block) {
			b.put(block)
		}
	}
	return nil
}

// repeats reports whether a paragraph only repeats the heading before it.
func (b *book) repeats(block *document.Block) bool {
	n := len(b.draft.Blocks)
	return n > 0 && block.Kind == document.Paragraph && b.draft.Blocks[n-1].Kind == document.Heading &&
		strings.EqualFold(strings.Trim(block.Text, "*_ "), b.draft.Blocks[n-1].Text)
}

func (b *book) put(block document.Block) {
	if block.Kind == document.Heading {
		block.Anchor = b.anchors.Take(block.Anchor, block.Text)
	}
	b.draft.Blocks = append(b.draft.Blocks, block)
}
