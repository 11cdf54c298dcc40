package command

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
)

type searchCommand struct {
	Query []string `arg:"" help:"What to look for."`
	searchFlags
	Collapse bool `default:"true" negatable:"" help:"Show the same text in several versions once, or (--no-collapse) each time."`
	Explain  bool `help:"Explain the score of each result: matching words, similarity, second pass, order and confidence."`
}

// searchFlags are the flags of a search.
type searchFlags struct {
	Collection string   `help:"Only this collection (id or name)."`
	Limit      int      `default:"10" help:"Number of results, 1 to 100."`
	Offset     int      `help:"Results to leave out at the beginning."`
	MinScore   *float64 `help:"Least score, 0 to 1."`
	Section    string   `help:"Only this section."`
	DocVersion string   `name:"doc-version" help:"Only this version of the documentation."`
	Tag        []string `help:"Any of these tags."`
	DocType    []string `help:"Any of these document types."`
	Language   string   `help:"Only this language (code)."`
	After      string   `placeholder:"YYYY-MM-DD" help:"Changed on this day or later."`
	Before     string   `placeholder:"YYYY-MM-DD" help:"Changed on this day or earlier."`
}

// input returns the input of a search for a query.
func (c *searchFlags) input(r *runtime, api *client.Client, query string) (client.Variables, error) {
	input := client.Variables{"query": query, "limit": c.Limit, "offset": c.Offset}
	if c.MinScore != nil {
		input["minScore"] = *c.MinScore
	}
	if c.Collection != "" {
		id, err := collectionID(r, api, c.Collection)
		if err != nil {
			return nil, err
		}
		input["collection"] = id
	}
	filters := client.Variables{}
	for name, value := range map[string]string{
		"section": c.Section, "version": c.DocVersion, "language": c.Language, "dateAfter": c.After, "dateBefore": c.Before,
	} {
		optional(filters, name, value)
	}
	for name, values := range map[string][]string{"tags": c.Tag, "docTypes": c.DocType} {
		if len(values) > 0 {
			filters[name] = values
		}
	}
	if len(filters) > 0 {
		input["filters"] = filters
	}
	return input, nil
}

// Run searches and prints what was found.
func (c searchCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input, err := c.input(r, api, strings.Join(c.Query, " "))
		if err != nil {
			return err
		}
		input["highlight"], input["collapse"], input["explain"] = true, c.Collapse, c.Explain
		var answer struct {
			Search client.SearchResults `json:"search"`
		}
		if err := api.Do(r, "Search", client.Variables{"input": input}, &answer); err != nil {
			return err
		}
		return r.console.Result(answer.Search, func() { printHits(r.console, answer.Search) })
	})
}

// printHits prints results: title and score, where it stands, the snippet.
func printHits(c *console.Console, found client.SearchResults) {
	if found.DidYouMean != nil {
		c.Printf("Did you mean: %s\n\n", c.Bold(*found.DidYouMean))
	}
	for i, hit := range found.Results {
		c.Printf("%2d  %s  %s\n", found.Offset+i+1, c.Bold(hit.Title), c.Faint(fmt.Sprintf("%.2f", hit.Score)))
		if where := place(hit); where != "" {
			c.Printf("    %s\n", c.Faint(where))
		}
		if hit.Duplicates != nil {
			c.Printf("    %s\n", c.Faint(copies(hit.Duplicates)))
		}
		c.Printf("%s\n", c.Wrap(c.Snippet(hit.Snippet), "    "))
		if hit.Explanation != nil {
			printExplanation(c, hit.Explanation)
		}
		c.Printf("\n")
	}
	if found.Total == 0 {
		c.Note("Nothing was found (%.1f ms); a lower --min-score finds more.", found.TookMs)
		return
	}
	c.Note("%d of %d results in %.1f ms", len(found.Results), found.Total, found.TookMs)
}

// copies says what a result stands for besides itself.
func copies(d *client.Duplicates) string {
	switch {
	case len(d.Versions) > 0:
		return "Nearly the same in " + strings.Join(d.Versions, ", ")
	case d.Count == 1:
		return "One copy of it is left out"
	default:
		return fmt.Sprintf("%d copies of it are left out", d.Count)
	}
}

// place says where a passage stands: headings, version, address.
func place(hit client.Hit) string {
	var parts []string
	if len(hit.HeadingPath) > 0 {
		parts = append(parts, strings.Join(hit.HeadingPath, " › "))
	}
	for _, part := range []*string{hit.Version, hit.Language, hit.URL} {
		if text(part) != "" {
			parts = append(parts, *part)
		}
	}
	return strings.Join(parts, "  ·  ")
}
