package mail_test

import (
	"context"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/mail"
)

// inner stands for the readers of other formats: it reads the little that these tests need.
type inner struct {
	limits document.Limits
	budget *document.Budget
	depth  int
	// kinds are the names and media types that were asked for.
	kinds *[]string
}

func source(name string, content []byte) document.Source {
	limits := document.Limits{}.WithDefaults()
	n := inner{limits: limits, budget: document.NewBudget(limits), kinds: &[]string{}}
	return n.source(name, content)
}

func (n inner) source(name string, content []byte) document.Source {
	return document.Source{Name: name, Content: content, Limits: n.limits, Budget: n.budget, Nested: n.read}
}

var tag = regexp.MustCompile(`(?s)<(style|head).*?</(style|head)>|<[^>]*>`)

func (n inner) read(ctx context.Context, name, kind string, content []byte) (*document.Draft, error) {
	*n.kinds = append(*n.kinds, name+" "+kind)
	if n.depth >= n.limits.MaxNesting {
		return nil, &document.LimitError{Detail: "files stand too deep in files"}
	}
	n.depth++
	if base, _, _ := strings.Cut(kind, ";"); base != "message/rfc822" && path.Ext(name) != ".eml" {
		content = []byte(strings.Map(func(r rune) rune { // as readers give it
			if r < ' ' && r != '\n' {
				return -1
			}
			return r
		}, strings.ToValidUTF8(string(content), "?")))
	}
	base, _, _ := strings.Cut(kind, ";")
	switch {
	case base == "message/rfc822" || path.Ext(name) == ".eml":
		return mail.ReadEML(ctx, n.source(name, content))
	case path.Ext(name) == ".html":
		var blocks []document.Block
		for part := range strings.SplitSeq(string(content), "<p>") {
			if text := strings.TrimSpace(tag.ReplaceAllString(part, "")); text != "" {
				blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: text})
			}
		}
		return &document.Draft{Blocks: blocks}, nil
	case path.Ext(name) == ".md":
		return &document.Draft{Blocks: []document.Block{
			{Kind: document.Heading, Level: 1, Text: "Notes", Anchor: "notes", Page: 3}, {Kind: document.Paragraph, Text: strings.TrimSpace(string(content)), Page: 3},
		}}, nil
	case path.Ext(name) == ".txt" || path.Ext(name) == ".csv":
		return &document.Draft{Blocks: []document.Block{{Kind: document.Paragraph, Text: strings.TrimSpace(string(content))}}}, nil
	case path.Ext(name) == ".broken":
		return nil, &document.DamagedError{Format: "file", Detail: "it is broken"}
	case path.Ext(name) == ".large":
		return nil, &document.LimitError{Detail: "a sheet is too large"}
	case path.Ext(name) == ".bomb":
		return nil, n.budget.Spend(1 << 40)
	case path.Ext(name) == ".blank":
		return &document.Draft{}, nil
	}
	return nil, &document.UnsupportedError{Reason: "format not supported: " + base}
}

func markdown(blocks []document.Block) string { return (&document.Document{Blocks: blocks}).Markdown() }

func mustRead(t *testing.T, content string) *document.Draft {
	t.Helper()
	found, err := mail.ReadEML(t.Context(), source("a.eml", []byte(content)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
