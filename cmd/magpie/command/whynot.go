package command

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
)

type whyNotCommand struct {
	Query    string `arg:"" help:"What was looked for."`
	Document string `arg:"" help:"The document that is missing: its id, URL, path, id in the source, or title."`
	User     string `placeholder:"MAIL" help:"As this person finds it, by their email address; everything is readable when left out."`
	searchFlags
}

// whyNotRow says why a document is not among the results of a search.
type whyNotRow struct {
	DocumentID      *uuid.UUID          `json:"documentId"`
	Title           *string             `json:"title"`
	Found           bool                `json:"found"`
	Reason          string              `json:"reason"`
	Explanation     string              `json:"explanation"`
	Change          string              `json:"change"`
	ItemStatus      *string             `json:"itemStatus"`
	ItemReason      *string             `json:"itemReason"`
	ItemHold        *string             `json:"itemHold"`
	Rank            *int                `json:"rank"`
	Place           *int                `json:"place"`
	Score           *float64            `json:"score"`
	MinScore        float64             `json:"minScore"`
	Filters         []string            `json:"filters"`
	MissingPhrases  []string            `json:"missingPhrases"`
	ExcludedPhrases []string            `json:"excludedPhrases"`
	PassagesCut     int                 `json:"passagesCut"`
	Visibility      *whyRow             `json:"visibility"`
	BestPassage     *client.Explanation `json:"bestPassage"`
}

// Run prints why a document is not among the results of a search.
func (c whyNotCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api, c.Query)
		if err != nil {
			return err
		}
		input["document"] = c.Document
		optional(input, "asUser", c.User)
		var got struct{ Why whyNotRow }
		if err := api.Do(r, "SearchWhyNot", client.Variables{"input": input}, &got); err != nil {
			return err
		}
		return r.console.Result(got.Why, func() { got.Why.print(r) })
	})
}

func (w *whyNotRow) print(r *runtime) {
	c := r.console
	name := "the document"
	if title := text(w.Title); title != "" {
		name = title
	}
	c.Printf("%s: %s\n", c.Bold(name), strings.ReplaceAll(strings.ToLower(w.Reason), "_", " "))
	c.Printf("%s\n", c.Wrap(w.Explanation, ""))
	if !w.Found {
		c.Printf("%s\n", c.Wrap("To find it: "+w.Change, ""))
	}
	if w.ItemStatus != nil {
		hold := ""
		if w.ItemHold != nil {
			hold = ", " + strings.ToLower(*w.ItemHold)
		}
		c.Printf("ledger: %s%s %s\n", strings.ToLower(*w.ItemStatus), hold, text(w.ItemReason))
	}
	if w.PassagesCut > 0 {
		c.Printf("%s\n", fmt.Sprintf("%d more of its passages reach the minimum score; a document has at most 3 results.", w.PassagesCut))
	}
	if w.BestPassage != nil {
		c.Printf("its best passage:\n")
		printExplanation(c, w.BestPassage)
	}
}
