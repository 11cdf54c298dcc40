package parse

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/internal/ingest/document"
	"magpie/internal/ingest/parse/xmlscan"
)

// entry is one piece of news.
type entry struct{ title, link, date, author, summary, content string }

// readFeed reads RSS (0.9 to 2.0) and Atom (RFC 4287): each entry under its title, with its date, its address and its text,
// which mostly is HTML.
func readFeed(ctx context.Context, r request) (*document.Draft, error) {
	found := &document.Draft{Prose: true, Meta: make(map[string]any), DocType: "feed"}
	anchors := make(document.Anchors)
	scanner := xmlscan.New(strings.NewReader(r.text))
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("parse feed: %w", err)
		}
		kind, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err // surveyXML has seen the whole document
		}
		if kind != xmlscan.Start {
			continue
		}
		switch name := scanner.Name(); name {
		case "item", "entry":
			news, err := readEntry(scanner)
			if err != nil {
				return nil, err
			}
			found.Blocks = append(found.Blocks, news.blocks(ctx, anchors)...)
		case "title", "description", "subtitle", "language":
			if scanner.Depth() > 3 {
				continue
			}
			key := strings.Replace(name, "subtitle", "description", 1)
			text, err := scanner.InnerText()
			if err != nil {
				return nil, err // as above
			}
			if text = oneLine(clean(text)); found.Meta[key] == nil && text != "" {
				found.Meta[key] = text
			}
		}
	}
}

// readEntry reads up to the end of the entry that was begun.
func readEntry(scanner *xmlscan.Scanner) (*entry, error) {
	e := &entry{}
	for depth := scanner.Depth(); scanner.Depth() >= depth; {
		kind, err := scanner.Next()
		if err != nil {
			return nil, err // surveyXML has seen the whole document
		}
		if kind != xmlscan.Start {
			continue
		}
		var to *string
		switch scanner.Name() {
		case "title":
			to = &e.title
		case "link":
			if href := scanner.Attr("href"); href != "" {
				if e.link == "" || scanner.Attr("rel") == "alternate" {
					e.link = href
				}
				continue
			}
			to = &e.link
		case "pubDate", "published", "date", "updated":
			to = &e.date
		case "creator", "name":
			to = &e.author
		case "description", "summary":
			to = &e.summary
		case "encoded", "content":
			to = &e.content
		}
		if to == nil || scanner.Depth() > depth+2 {
			continue
		}
		text, err := scanner.InnerText()
		if err != nil {
			return nil, err // as above
		}
		if *to == "" {
			*to = strings.TrimSpace(clean(text))
		}
	}
	return e, nil
}

func (e *entry) blocks(ctx context.Context, anchors document.Anchors) []document.Block {
	var blocks []document.Block
	if title := oneLine(e.title); title != "" && len(title) <= maxHeading {
		blocks = append(blocks, document.Block{Kind: document.Heading, Level: 2, Text: title, Anchor: anchors.Take("", title)})
	}
	facts := make([]string, 0, 3)
	for _, fact := range []string{e.date, e.author, e.link} {
		if fact != "" {
			facts = append(facts, oneLine(fact))
		}
	}
	blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(facts, " · ")})
	text := e.content
	if text == "" {
		text = e.summary
	}
	for _, block := range htmlFragment(ctx, text, anchors) {
		if block.Kind == document.Heading {
			block.Level = min(block.Level+2, 6)
		}
		blocks = append(blocks, block)
	}
	return blocks
}
