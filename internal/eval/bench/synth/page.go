package synth

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

// A Page is a page of real documentation.
type Page struct {
	// Corpus is the name of the corpus folder.
	Corpus string
	// Path is the slash-separated path within the corpus folder.
	Path string
	// Group names the pages with exchangeable sentences: those in the same corpus
	// and topmost folder, which have the same language.
	Group string
	// Title and Description come from the front matter. Without one, Title is the
	// first heading.
	Title, Description string
	Sections           []Section
	// Passages is the number of passages of the page; 0 is unknown.
	Passages int
}

// Content returns the page as Markdown with its title in front matter.
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

// A Section is a heading with the blocks up to the next heading.
type Section struct {
	Heading string // with its #; "" before the first heading
	Blocks  []Block
}

// longBlock is the length in bytes from which ReadPages drops the copies of a block.
const longBlock = 200

// ReadPages reads the Markdown pages (.md, .mdx) below a folder, ordered by
// path. A long block that several pages share, as versions of one documentation
// do, stays in the first page only. seen holds the blocks so far; folders may
// share it. A folder without a page is ErrNoPages.
func ReadPages(folder string, seen *Seen) ([]Page, error) {
	var pages []Page
	corpus := filepath.Base(filepath.Clean(folder))
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || !slices.Contains([]string{".md", ".mdx"}, filepath.Ext(path)) {
			return err
		}
		content, err := os.ReadFile(path) //nolint:gosec // a file of the given folder
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		page := parsePage(string(content))
		page.Corpus, page.Path = corpus, filepath.ToSlash(relative)
		top, _, _ := strings.Cut(page.Path, "/")
		page.Group = corpus + "/" + top
		page.dropCopies(seen)
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

// ErrNoPages says that a folder has no page with text.
var ErrNoPages = errors.New("there is no Markdown page with text")

// Seen is a set of texts, of which it keeps the hashes. The zero value is empty.
type Seen struct {
	seed  maphash.Seed
	known map[uint64]struct{}
}

// Add adds a text and reports whether it is new.
func (s *Seen) Add(text string) bool {
	if s.known == nil {
		s.seed, s.known = maphash.MakeSeed(), make(map[uint64]struct{})
	}
	sum := maphash.String(s.seed, text)
	if _, ok := s.known[sum]; ok {
		return false
	}
	s.known[sum] = struct{}{}
	return true
}

// dropCopies removes the long blocks that are in seen, and the sections without
// a block.
func (p *Page) dropCopies(seen *Seen) {
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

// passageLength is the approximate length of a passage in bytes.
const passageLength = 1000

// size returns the number of passages, which it estimates when it is unknown.
func (p *Page) size() int {
	if p.Passages > 0 {
		return p.Passages
	}
	return len(p.Content())/passageLength + 1
}

// parsePage parses front matter, headings and blocks.
func parsePage(content string) Page {
	var page Page
	lines := strings.Split(strings.ReplaceAll(content, "\r\n", "\n"), "\n")
	lines = page.cutFrontMatter(lines)
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
			block, lines = cutBlock(lines)
			section.Blocks = append(section.Blocks, block)
		}
	}
	flush()
	return page
}

// cutFrontMatter reads the title and the description from the YAML between dashes
// and returns the lines after it.
func (p *Page) cutFrontMatter(lines []string) []string {
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
