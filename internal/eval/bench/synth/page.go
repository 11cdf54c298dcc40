package bench

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Page is a page of real documentation.
type Page struct {
	// Corpus is the name of the folder that the page was found in.
	Corpus string
	// Path is the page's, with slashes, within that folder.
	Path string
	// Kin names the pages whose sentences may stand for this one's: those of the
	// same corpus and topmost folder, which have the same language.
	Kin string
	// Title and Description are those of the front matter or of the first
	// heading; "" when there is none.
	Title, Description string
	Sections           []Section
	// Passages is how many passages the page makes; 0 when nobody has counted.
	Passages int
}

// Content is the page's file: Markdown with its title in front matter.
func (p *Page) Content() []byte {
	var b strings.Builder
	for _, section := range p.Sections {
		b.WriteString(section.Heading + "\n\n")
		for i := range section.Blocks {
			b.WriteString(section.Blocks[i].text() + "\n\n")
		}
	}
	return Document{Title: p.Title, Body: []byte(b.String())}.Content()
}

// Section is a heading with what follows it up to the next one.
type Section struct {
	Heading string // as written, with its #; "" before the first heading
	Blocks  []Block
}

// longBlock is the length in bytes from which on a block is kept once only,
// however many pages have it.
const longBlock = 200

// ReadPages reads the Markdown pages (.md, .mdx) below a folder, ordered by
// path. A long paragraph, list, table or listing that several pages share, as
// versions of one documentation do, stays in the first of them only; seen keeps
// what was met and may be shared between folders.
func ReadPages(folder string, seen *Seen) ([]Page, error) {
	var pages []Page
	corpus := filepath.Base(filepath.Clean(folder))
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".md", ".mdx"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // a file of the folder that was asked for
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		page := readPage(string(content))
		page.Corpus, page.Path = corpus, filepath.ToSlash(relative)
		top, _, _ := strings.Cut(page.Path, "/")
		page.Kin = corpus + "/" + top
		page.keepNew(seen)
		if len(page.Sections) > 0 {
			pages = append(pages, page)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the documentation in %s: %w", folder, err)
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("read the documentation in %s: %w", folder, ErrNoPages)
	}
	return pages, nil
}

// ErrNoPages is returned for a folder without a page that has text.
var ErrNoPages = errors.New("there is no Markdown page with text")

// Seen remembers which texts were met. The zero value is empty.
type Seen struct {
	seed  maphash.Seed
	known map[uint64]struct{}
}

// Add reports whether a text is met for the first time.
func (s *Seen) Add(text string) bool {
	if s.known == nil {
		s.seed, s.known = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	sum := maphash.String(s.seed, text)
	if _, met := s.known[sum]; met {
		return false
	}
	s.known[sum] = struct{}{}
	return true
}

// keepNew drops long blocks that were met before, and sections that have nothing left.
func (p *Page) keepNew(seen *Seen) {
	var kept []Section
	for _, section := range p.Sections {
		section.Blocks = slices.DeleteFunc(section.Blocks, func(b Block) bool {
			text := b.text()
			return len(text) >= longBlock && !seen.Add(text)
		})
		if len(section.Blocks) > 0 {
			kept = append(kept, section)
		}
	}
	p.Sections = kept
}

// passageLength is about how long passages are, in bytes.
const passageLength = 1000

// passages is how many passages the page makes, about when they were not counted.
func (p *Page) passages() int {
	if p.Passages > 0 {
		return p.Passages
	}
	return len(p.Content())/passageLength + 1
}

// readPage reads front matter, headings and blocks.
func readPage(content string) Page {
	var page Page
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	lines = page.frontMatter(lines)
	section := Section{}
	flush := func() {
		if section.Heading != "" || len(section.Blocks) > 0 {
			page.Sections = append(page.Sections, section)
		}
	}
	for len(lines) > 0 {
		line := lines[0]
		switch {
		case strings.TrimSpace(line) == "":
			lines = lines[1:]
		case isHeading(line):
			if page.Title == "" {
				page.Title = plain(strings.TrimLeft(line, "# "))
			}
			flush()
			section = Section{Heading: line}
			lines = lines[1:]
		default:
			var block Block
			block, lines = takeBlock(lines)
			section.Blocks = append(section.Blocks, block)
		}
	}
	flush()
	return page
}

// frontMatter takes the YAML between dashes off; only the two values of use are read.
func (p *Page) frontMatter(lines []string) []string {
	if len(lines) == 0 || strings.TrimSpace(lines[0]) != "---" {
		return lines
	}
	end := slices.IndexFunc(lines[1:], func(line string) bool { return strings.TrimSpace(line) == "---" })
	if end < 0 {
		return lines
	}
	for _, line := range lines[1 : end+1] {
		name, value, found := strings.Cut(line, ":")
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case !found || value == "":
		case name == "title":
			p.Title = plain(value)
		case name == "description" || name == "summary":
			p.Description = plain(value)
		}
	}
	return lines[end+2:]
}

func isHeading(line string) bool {
	text := strings.TrimLeft(line, "#")
	marks := len(line) - len(text)
	return marks >= 1 && marks <= 6 && strings.HasPrefix(text, " ") && strings.TrimSpace(text) != ""
}
