package synth

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Document is a generated document.
type Document struct {
	// Name is its path and its unique id in the source.
	Name string
	// Title is "" when the page has none.
	Title string
	// Body is Markdown without front matter.
	Body []byte
	// Version, Section and Tags are the fields that Filters selects by.
	Version, Section string
	Tags             []string
}

// Content returns the document as Markdown with its title in front matter and
// extra sentences at its end.
func (d Document) Content(extra ...string) []byte {
	var b strings.Builder
	if d.Title != "" {
		fmt.Fprintf(&b, "---\ntitle: %q\n---\n\n", d.Title)
	}
	b.Write(d.Body)
	for _, sentence := range extra {
		b.WriteString(sentence + "\n\n")
	}
	return []byte(b.String())
}

// A Generator makes an endless sequence of documents. The first round gives every
// page as it is, except that a section equal to an earlier one gets one more
// sentence. Each later round gives every page again with its headings and the
// kinds and sizes of its blocks, and draws the units of the blocks from the page
// and its group. So words are as frequent as in real text, and no two passages
// are alike. The vocabulary does not grow with the rounds: a word of a large
// collection is more frequent than in a real collection of that size.
//
// The same pages and seed give the same documents. A Generator is for one
// goroutine.
type Generator struct {
	pages []Page
	pools map[string]*pool // by group
	rand  *rand.Rand
	order []int // of the pages in this round
	seen  Seen  // bodies of sections
	round int
	next  int // index in order

	// Passages so far, in all and by the field of a filter.
	total      int
	perVersion [versions]int
	perSection [sections]int
	tagged     int
}

// A pool holds the units of a group's pages by kind.
type pool [Listing + 1][]string

// NewGenerator returns a generator over at least one page.
func NewGenerator(pages []Page, seed uint64) *Generator {
	g := &Generator{
		pages: pages, pools: make(map[string]*pool),
		rand: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // repeatable on purpose
	}
	for i := range pages {
		page := &pages[i]
		units := g.pools[page.Group]
		if units == nil {
			units = new(pool)
			g.pools[page.Group] = units
		}
		for _, section := range page.Sections {
			for _, block := range section.Blocks {
				units[block.Kind] = append(units[block.Kind], block.Units...)
			}
		}
		g.order = append(g.order, i)
	}
	g.shuffle()
	return g
}

func (g *Generator) shuffle() {
	g.rand.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
}

// Next returns the next document.
func (g *Generator) Next() Document {
	if g.next == len(g.order) {
		g.round, g.next = g.round+1, 0
		g.shuffle()
	}
	page := &g.pages[g.order[g.next]]
	g.next++
	d := Document{Name: fmt.Sprintf("round-%03d/%s/%s", g.round, page.Corpus, page.Path), Title: page.Title, Body: g.write(page)}
	g.classify(&d, page.size())
	return d
}

func (g *Generator) write(page *Page) []byte {
	var b strings.Builder
	units := g.pools[page.Group]
	for _, section := range page.Sections {
		if section.Heading != "" {
			b.WriteString(section.Heading + "\n\n")
		}
		b.WriteString(g.body(section.Blocks, units))
	}
	return []byte(b.String())
}

// maxTries is how often a section that equals an earlier one is drawn again.
const maxTries = 4

// body returns the text of a section that differs from every earlier one. When
// drawing again does not help, as in a short section, it adds a sentence of the
// group.
func (g *Generator) body(blocks []Block, units *pool) string {
	for try := 0; ; try++ {
		var b strings.Builder
		for i := range blocks {
			block := blocks[i]
			if g.round > 0 {
				block = g.recombine(block, units)
			}
			b.WriteString(block.text() + "\n\n")
		}
		if others := units[Prose]; len(others) > 0 && (try >= maxTries || g.round == 0 && try > 0) {
			b.WriteString(others[g.rand.IntN(len(others))] + "\n\n")
		}
		if text := b.String(); g.seen.Add(text) || try > 2*maxTries {
			return text
		}
	}
}

// recombine returns a block of the same kind and size. It draws each unit from
// the block or from its group.
func (g *Generator) recombine(b Block, units *pool) Block {
	others := units[b.Kind]
	drawn := make([]string, len(b.Units))
	for i := range drawn {
		if g.rand.IntN(2) == 0 {
			drawn[i] = b.Units[g.rand.IntN(len(b.Units))]
		} else {
			drawn[i] = others[g.rand.IntN(len(others))]
		}
	}
	b.Units = drawn
	return b
}

// classify sets the version, the section and the tags of a document of size
// passages. It chooses the values with the fewest passages, so that the shares of
// the filters hold after any number of documents.
func (g *Generator) classify(d *Document, size int) {
	g.total += size
	version := g.indexOfMin(g.perVersion[:])
	g.perVersion[version] += size
	section := g.indexOfMin(g.perSection[:])
	g.perSection[section] += size
	d.Version, d.Section, d.Tags = versionName(version), sectionName(section), []string{"generated"}
	if float64(g.tagged)+float64(size)/2 <= rareShare*float64(g.total) {
		g.tagged += size
		d.Tags = append(d.Tags, rareTag)
	}
}

// indexOfMin returns the index of the smallest number, a random one of several.
func (g *Generator) indexOfMin(numbers []int) int {
	least, ties := 0, 0
	for i, n := range numbers {
		switch {
		case i == 0 || n < numbers[least]:
			least, ties = i, 1
		case n == numbers[least]:
			ties++
			if g.rand.IntN(ties) == 0 {
				least = i
			}
		}
	}
	return least
}
