package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/analysis/sentence"
	"github.com/magpie-search/magpie/internal/eval"
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// A kind of generated question.
type kind string

const (
	removed     kind = "removed"     // a sentence that is removed from its passage
	half        kind = "half"        // half of the words of such a sentence
	description kind = "description" // the description of a page
	heading     kind = "heading"     // a heading, in an index without headings
	quote       kind = "quote"       // half of the words of a sentence that stays in its passage
	keyword     kind = "keyword"     // one to three words of a sentence, each of more than four letters
)

func kinds() []kind { return []kind{removed, half, description, heading, quote, keyword} }

// A question with the document that answers it.
type question struct {
	text, language, document string
}

// A product is the documentation of one product in one version and language.
type product struct {
	name       string
	folder     string
	language   string
	paragraphs bool // of a judged set
	documents  []*document.Document
	paths      []string
	without    []*document.Document // the documents without the sentences that became questions
	questions  map[kind][]question
}

// other returns the next documentation of another product in the same language, or nil
// if there is none.
func (p *product) other(later, all []*product) *product {
	for _, o := range slices.Concat(later, all) {
		if o.folder != p.folder && o.language == p.language {
			return o
		}
	}
	return nil
}

// readProducts parses the documentation, in the newest version of each product.
func readProducts(ctx context.Context, corpora string, limit int) ([]*product, error) {
	var all []*product
	for _, d := range []struct{ folder, version, language string }{
		{"helm-docs", "4", "en"}, {"etcd-docs", "v3.6", "en"}, {"cockroachdb-docs", "v25.4", "en"},
		{"helm-docs", "3", "de"}, {"helm-docs", "3", "fr"}, {"helm-docs", "3", "zh"}, {"helm-docs", "3", "ja"},
	} {
		p, err := readProduct(ctx, filepath.Join(corpora, d.folder), d.version, d.language)
		if err != nil {
			return nil, err
		}
		if len(p.documents) == 0 {
			return nil, fmt.Errorf("%s has no documents of version %s in %s", d.folder, d.version, d.language)
		}
		p.generate(limit)
		all = append(all, p)
	}
	return all, nil
}

func readProduct(ctx context.Context, folder, version, language string) (*product, error) {
	file, err := os.Open(filepath.Join(folder, "manifest.csv")) //nolint:gosec // the caller names the folder
	if err != nil {
		return nil, fmt.Errorf("read the corpora: %w", err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	p := &product{name: filepath.Base(folder) + " " + language, folder: folder, language: language, questions: make(map[kind][]question)}
	parser := parse.New(parse.Options{})
	defer func() { _ = parser.Close() }()
	column := func(name string) int { return slices.Index(rows[0], name) }
	for _, row := range rows[1:] {
		if strings.TrimPrefix(row[column("version")], "v") != strings.TrimPrefix(version, "v") || row[column("language")] != language {
			continue
		}
		path := row[column("path")]
		content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(path))) //nolint:gosec // in the caller's own corpora
		if err != nil {
			return nil, err
		}
		d, err := parser.Parse(ctx, parse.Input{Name: path, Content: content, Language: language})
		if err != nil {
			continue // pages without text
		}
		p.documents, p.paths = append(p.documents, d), append(p.paths, path)
	}
	return p, nil
}

// readParagraphs returns the texts of a judged set as two products for each language, each
// with half of the articles.
func readParagraphs(folder string, limit int) ([]*product, error) {
	set, err := eval.Load(folder)
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*product)
	var all []*product
	articles := make(map[string]int) // by title, numbered in the order of their first paragraphs
	for _, d := range set.Documents {
		language, _ := d.Metadata["language"].(string)
		if _, ok := articles[d.Title]; !ok {
			articles[d.Title] = len(articles)
		}
		name := fmt.Sprintf("%s %s %d", set.Name, language, articles[d.Title]%2)
		p := byName[name]
		if p == nil {
			p = &product{name: name, folder: name, language: language, paragraphs: true, questions: make(map[kind][]question)}
			byName[name] = p
			all = append(all, p)
		}
		p.paths = append(p.paths, d.ID)
		p.documents = append(p.documents, &document.Document{
			Title: d.Title, Language: language, Format: "text", DocType: "text", Blocks: []document.Block{{Kind: document.Paragraph, Text: d.Text}},
		})
	}
	for _, p := range all {
		p.generate(limit)
	}
	return all, nil
}

var (
	markup = regexp.MustCompile("[`*_]|\\]\\([^)]*\\)|\\[|\\{[^}]*\\}|<[^>]*>")
)

// generate generates the questions, at most limit of each kind. Random choices depend on
// the paths alone.
func (p *product) generate(limit int) {
	for i, d := range p.documents {
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.paths[i]))
		random := rand.New(rand.NewPCG(h.Sum64(), 7)) //nolint:gosec // not a secret
		p.addSentences(i, d, random)
		if text, _ := d.Metadata["description"].(string); words(text) >= 4 {
			p.add(description, text, i)
		}
		for _, b := range d.Blocks {
			if b.Kind == document.Heading && words(b.Text) >= 2 && random.IntN(4) == 0 {
				p.add(heading, clean(b.Text), i)
			}
		}
	}
	for k, all := range p.questions {
		random := rand.New(rand.NewPCG(3, 9)) //nolint:gosec // not a secret
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		p.questions[k] = all[:min(len(all), limit)]
	}
}

// add adds a question that document i answers.
func (p *product) add(k kind, text string, i int) {
	p.questions[k] = append(p.questions[k], question{text: text, language: p.language, document: p.paths[i]})
}

// addSentences removes up to three sentences from document i and adds questions of them.
func (p *product) addSentences(i int, d *document.Document, random *rand.Rand) {
	without := *d
	without.Blocks = slices.Clone(d.Blocks)
	var paragraphs []int
	for n, b := range d.Blocks {
		if b.Kind == document.Paragraph && len(sentence.Split(b.Text, p.language)) >= 3 {
			paragraphs = append(paragraphs, n)
		}
	}
	random.Shuffle(len(paragraphs), func(i, j int) { paragraphs[i], paragraphs[j] = paragraphs[j], paragraphs[i] })
	for _, n := range paragraphs[:min(len(paragraphs), 3)] {
		all := sentence.Split(d.Blocks[n].Text, p.language)
		taken := all[random.IntN(len(all))]
		text := clean(taken)
		if length := words(text); length < 6 || length > 40 {
			continue
		}
		without.Blocks[n].Text = strings.Replace(d.Blocks[n].Text, taken, "", 1)
		p.add(removed, text, i)
		if part := halfOfWords(text, random); words(part) >= 5 {
			p.add(half, part, i)
		}
		if part := halfOfWords(text, random); words(part) >= 4 {
			p.add(quote, part, i)
		}
		if part := keywords(text, random); part != "" {
			p.add(keyword, part, i)
		}
	}
	p.without = append(p.without, &without)
}

func clean(text string) string {
	return strings.Join(strings.Fields(markup.ReplaceAllString(text, " ")), " ")
}

// words counts words. Two characters of East Asian scripts, or four of Thai, are taken
// for one word.
func words(text string) int {
	quarters := 0
	for _, r := range text {
		switch {
		case r >= 0x2E80:
			quarters += 2
		case unicode.Is(unicode.Thai, r):
			quarters++
		}
	}
	return len(strings.Fields(text)) + quarters/4
}

// halfOfWords returns about half of the words.
func halfOfWords(text string, random *rand.Rand) string {
	fields := strings.Fields(text)
	if len(fields) < 4 { // a script without spaces: half of the characters
		r := []rune(text)
		n := len(r) / 2
		from := random.IntN(len(r) - n + 1)
		return string(r[from : from+n])
	}
	kept := fields[:0:0]
	for _, f := range fields {
		if random.IntN(2) == 0 {
			kept = append(kept, f)
		}
	}
	return strings.Join(kept, " ")
}

// keywords returns one to three long words.
func keywords(text string, random *rand.Rand) string {
	var long []string
	for _, f := range strings.Fields(text) {
		if f = strings.Trim(f, ".,;:!?()\"'"); utf8.RuneCountInString(f) > 4 {
			long = append(long, f)
		}
	}
	random.Shuffle(len(long), func(i, j int) { long[i], long[j] = long[j], long[i] })
	return strings.Join(long[:min(len(long), 1+random.IntN(3))], " ")
}

// index returns the index that questions of a kind are searched for in.
func (p *product) index(ctx context.Context, a *analysis.Analyzer, e embed.Embedder, k kind) (*eval.Index, error) {
	x, err := eval.NewIndex(a, e)
	if err != nil {
		return nil, err
	}
	documents := p.documents
	switch k {
	case removed, half:
		documents = p.without
	case heading:
		documents = make([]*document.Document, len(p.documents))
		for i, d := range p.documents {
			bare := *d
			bare.Blocks = slices.DeleteFunc(slices.Clone(d.Blocks), func(b document.Block) bool { return b.Kind == document.Heading })
			documents[i] = &bare
		}
	case description, quote, keyword:
	}
	for i, d := range documents {
		if err := x.Add(ctx, p.paths[i], d); err != nil {
			return nil, err
		}
	}
	return x, nil
}
