package ooxml

import (
	"strconv"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
	"github.com/magpie-search/magpie/internal/safetext"
)

// A remark is a comment on a slide, or an answer to one.
type remark struct{ author, text string }

// readAuthors reads the names of the authors of comments.
func (r *slides) readAuthors(relations map[string]Relationship) error {
	r.authors = make(map[string]string)
	for _, relation := range relations {
		if relation.External || relation.Type != "commentAuthors" && relation.Type != "authors" {
			continue
		}
		err := r.pkg.Scan(relation.Target, func(s *xmlscan.Scanner) error {
			for {
				kind, err := s.Next()
				if err != nil {
					return err
				}
				if err := r.Step(); err != nil {
					return err
				}
				if kind == xmlscan.Start && (s.Name() == "cmAuthor" || s.Name() == "author") && len(r.authors) < maxEntries {
					r.authors[s.Attr("id")] = safetext.TruncateBytes(oneLine(s.Attr("name")), maxValue)
				}
			}
		})
		if err := r.Tolerate("the authors of comments", ignoreMissing(err)); err != nil {
			return err
		}
	}
	return nil
}

// comments reads the comments on a slide, in the form of the standard or in the newer one with answers.
func (r *slides) comments(part string) ([]document.Block, error) {
	var found []remark
	err := r.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		at := -1     // index of the open comment
		answer := -1 // index of the open answer
		for {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if err := r.Step(); err != nil {
				return err
			}
			if kind == xmlscan.End && s.Name() == "reply" {
				answer = -1
			}
			if kind != xmlscan.Start {
				continue
			}
			switch s.Name() {
			case "cm":
				found = append(found, remark{author: r.authors[s.Attr("authorId")]})
				at, answer = len(found)-1, -1
			case "reply":
				found = append(found, remark{author: r.authors[s.Attr("authorId")]})
				answer = len(found) - 1
			case "text", "txBody":
				to := at
				if answer >= 0 {
					to = answer
				}
				if to < 0 {
					continue
				}
				text, err := remarkText(s)
				r.Cost += len(text) + blockCost
				found[to].text = text
				if err != nil {
					return err
				}
			}
		}
	})
	if err := r.Tolerate("the comments on slide "+strconv.Itoa(r.page), ignoreMissing(err)); err != nil {
		return nil, err
	}
	blocks := make([]document.Block, 0, len(found))
	for _, c := range found {
		if c.text == "" {
			continue
		}
		if c.author != "" {
			c.text = c.author + ": " + c.text
		}
		blocks = append(blocks, document.Block{Kind: document.Quote, Text: c.text, Page: r.page})
	}
	return blocks, nil
}

// remarkText returns the text of a comment on one line.
func remarkText(s *xmlscan.Scanner) (string, error) {
	if s.Name() == "txBody" {
		return drawnText(s)
	}
	text, err := boundedText(s, maxDrawn)
	return oneLine(text), err
}
