package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Document is a document to store.
type Document struct {
	// Name is its path and its id in the source: no two have the same.
	Name string
	// Title is "" when the page has none.
	Title string
	// Body is Markdown without front matter.
	Body []byte
	// Version, Section and Tags are what the filters of Filters select by.
	Version, Section string
	Tags             []string
}

// Content is the document's file: Markdown with its title in front matter, and
// with further sentences at its end.
func (d Document) Content(further ...string) []byte {
	var b strings.Builder
	if d.Title != "" {
		fmt.Fprintf(&b, "---\ntitle: %q\n---\n\n", d.Title)
	}
	b.Write(d.Body)
	for _, sentence := range further {
		b.WriteString(sentence + "\n\n")
	}
	return []byte(b.String())
}

// Filter is a filter of searches and the share of the passages that it is to select.
type Filter struct {
	Name  string
	Share float64
	// Version, Section and Tag are the values to filter by; empty ones do not filter.
	Version, Section, Tag string
}

const (
	versions = 2
	sections = 20
	rareTag  = "rare"
	rare     = 0.001
)

// Filters are no filter, and those that select half, a twentieth and a
// thousandth of what a Generator makes.
func Filters() []Filter {
	return []Filter{
		{Name: "none", Share: 1},
		{Name: "50 %", Share: 1.0 / versions, Version: versionName(0)},
		{Name: "5 %", Share: 1.0 / sections, Section: sectionName(0)},
		{Name: "0.1 %", Share: rare, Tag: rareTag},
	}
}

// Selects reports whether the filter selects a document.
func (f Filter) Selects(d Document) bool {
	tagged := f.Tag == ""
	for _, tag := range d.Tags {
		tagged = tagged || tag == f.Tag
	}
	return tagged && (f.Version == "" || f.Version == d.Version) && (f.Section == "" || f.Section == d.Section)
}

// JSON is the filter as the public API takes it; nil for none.
func (f Filter) JSON() map[string]any {
	filters := map[string]any{}
	if f.Version != "" {
		filters["version"] = f.Version
	}
	if f.Section != "" {
		filters["section"] = f.Section
	}
	if f.Tag != "" {
		filters["tags"] = []string{f.Tag}
	}
	if len(filters) == 0 {
		return nil
	}
	return filters
}

func versionName(i int) string { return fmt.Sprintf("v%d.0", i+1) }
func sectionName(i int) string { return fmt.Sprintf("Part %02d", i+1) }

// Generator makes documents without end. The first round gives every page as it
// is, but for a sentence that is added to a section which another page has word
// for word. Each further round gives every page once more, its headings and the kind
// and size of its blocks kept, its sentences, items, rows and lines of code
// drawn from the page itself and from its kin: words are as frequent as in real
// text, and no two passages are alike. The vocabulary does not grow with the
// rounds, so a word of a large collection is less rare than in a real one of its
// size.
//
// The same pages and seed give the same documents. A Generator is for one
// goroutine.
type Generator struct {
	pages []Page
	pools map[string]*pool
	dice  *rand.Rand
	order []int
	seen  Seen // bodies of sections
	round int
	next  int

	total      int
	perVersion [versions]int
	perSection [sections]int
	tagged     int
}

// pool is the units of pages that are kin, by kind.
type pool [Listing + 1][]string

// NewGenerator makes a generator over pages, of which there must be one at least.
func NewGenerator(pages []Page, seed uint64) *Generator {
	g := &Generator{
		pages: pages, pools: make(map[string]*pool),
		dice: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // repeatable on purpose
	}
	for i := range pages {
		page := &pages[i]
		kin := g.pools[page.Kin]
		if kin == nil {
			kin = new(pool)
			g.pools[page.Kin] = kin
		}
		for _, section := range page.Sections {
			for _, block := range section.Blocks {
				kin[block.Kind] = append(kin[block.Kind], block.Units...)
			}
		}
		g.order = append(g.order, i)
	}
	g.shuffle()
	return g
}

func (g *Generator) shuffle() {
	g.dice.Shuffle(len(g.order), func(i, j int) { g.order[i], g.order[j] = g.order[j], g.order[i] })
}

// Next makes the next document.
func (g *Generator) Next() Document {
	if g.next == len(g.order) {
		g.round, g.next = g.round+1, 0
		g.shuffle()
	}
	page := &g.pages[g.order[g.next]]
	g.next++
	d := Document{Name: fmt.Sprintf("round-%03d/%s/%s", g.round, page.Corpus, page.Path), Title: page.Title, Body: g.write(page)}
	g.place(&d, page.passages())
	return d
}

func (g *Generator) write(page *Page) []byte {
	var b strings.Builder
	kin := g.pools[page.Kin]
	for _, section := range page.Sections {
		if section.Heading != "" {
			b.WriteString(section.Heading + "\n\n")
		}
		b.WriteString(g.body(section.Blocks, kin))
	}
	return []byte(b.String())
}

// tries is how often a section is made anew because there is one like it.
const tries = 4

// body makes the text of a section, one that no section had. Where that cannot
// be had from a short one, a sentence of its kin is added.
func (g *Generator) body(blocks []Block, kin *pool) string {
	for try := 0; ; try++ {
		var b strings.Builder
		for i := range blocks {
			block := blocks[i]
			if g.round > 0 {
				block = g.recombine(block, kin)
			}
			b.WriteString(block.text() + "\n\n")
		}
		if others := kin[Prose]; len(others) > 0 && (try >= tries || g.round == 0 && try > 0) {
			b.WriteString(others[g.dice.IntN(len(others))] + "\n\n")
		}
		if text := b.String(); g.seen.Add(text) || try > 2*tries {
			return text
		}
	}
}

// recombine makes a block of the same kind and number of units, each from the
// block itself or from anywhere among its kin.
func (g *Generator) recombine(b Block, kin *pool) Block {
	others := kin[b.Kind]
	units := make([]string, len(b.Units))
	for i := range units {
		if g.dice.IntN(2) == 0 {
			units[i] = b.Units[g.dice.IntN(len(b.Units))]
		} else {
			units[i] = others[g.dice.IntN(len(others))]
		}
	}
	b.Units = units
	return b
}

// place gives a document of about so many passages its version, section and
// tag, always those that lack most, so that shares hold at every number of
// documents.
func (g *Generator) place(d *Document, size int) {
	g.total += size
	version := g.leastOf(g.perVersion[:])
	g.perVersion[version] += size
	section := g.leastOf(g.perSection[:])
	g.perSection[section] += size
	d.Version, d.Section, d.Tags = versionName(version), sectionName(section), []string{"generated"}
	if float64(g.tagged)+float64(size)/2 <= rare*float64(g.total) {
		g.tagged += size
		d.Tags = append(d.Tags, rareTag)
	}
}

// leastOf is the index of the smallest number, a random one of several.
func (g *Generator) leastOf(numbers []int) int {
	least, ties := 0, 0
	for i, n := range numbers {
		switch {
		case i == 0 || n < numbers[least]:
			least, ties = i, 1
		case n == numbers[least]:
			ties++
			if g.dice.IntN(ties) == 0 {
				least = i
			}
		}
	}
	return least
}
