package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxKeywords is how many keywords are read.
const maxKeywords = 200

// meta reads the metadata of the file (ODF 1.2 part 1, section 4.3).
func (r *reader) meta(s *xmlscan.Scanner) error {
	meta := r.draft.Meta
	var keywords []any
	editor := ""
	err := r.walk.each(s, func() error {
		key := ""
		switch s.Name() {
		case "title", "description", "subject", "language":
			key = s.Name()
		case "initial-creator":
			key = "author"
		case "creator":
			key = "last_modified_by"
		case "creation-date":
			key = "created"
		case "date":
			key = "modified"
		case "keyword":
			key = "keywords"
		case "document-statistic":
			if pages, err := strconv.Atoi(s.Attr("page-count")); err == nil && pages > 0 && pages < 1<<20 {
				r.draft.Pages = pages
			}
		}
		if key == "" {
			return r.walk.skip(s)
		}
		text, err := r.walk.flat(s)
		switch {
		case text == "":
		case key == "keywords":
			if len(keywords) < maxKeywords {
				keywords = append(keywords, text)
			}
		case key == "last_modified_by":
			editor = text
		default:
			meta[key] = text
		}
		return err
	})
	if len(keywords) > 0 {
		meta["keywords"] = keywords
	}
	switch author, _ := meta["author"].(string); {
	case editor == "":
	case author == "":
		meta["author"] = editor
	case !strings.EqualFold(author, editor):
		meta["last_modified_by"] = editor
	}
	return err
}
