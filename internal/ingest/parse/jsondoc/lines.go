package jsondoc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatext"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
)

// maxInvalidLines is how many more lines may be invalid than valid in a file of JSON lines.
const maxInvalidLines = 1000

// ReadLines reads a file with a JSON value on each line. Similar flat objects that follow each other become the rows of a
// table, others lines "path: value". Invalid lines are kept as code and reported. A file with mostly invalid lines is read as
// JSON.
func ReadLines(ctx context.Context, in document.Text) (*document.Draft, error) {
	const recordSeparator = "\x1e" // RFC 7464
	records := datatext.NewRecords(ctx, in.Limits)
	p := datatree.NewParser(ctx, "", in.Limits.MaxDepth)
	var invalid []int
	number, valid := 0, 0
	for line := range strings.Lines(in.Text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line == recordSeparator {
			continue
		}
		p.Reset(line)
		root, err := p.Next()
		if err == nil {
			var more bool
			if more, err = p.More(); more && err == nil {
				err = p.Unexpected("the line should end here")
			}
		}
		if broken := (*datatree.SyntaxError)(nil); errors.As(err, &broken) {
			if invalid = append(invalid, number); len(invalid) > valid+maxInvalidLines {
				return Read(ctx, in)
			}
			records.Text(line)
			continue
		}
		if err == nil {
			valid++
			err = records.Add(p.Tree, root)
		}
		if err != nil {
			return nil, err
		}
	}
	if valid == 0 || len(invalid) > valid {
		return Read(ctx, in) // each value takes several lines
	}
	if len(invalid) == 0 {
		return records.Draft()
	}
	return records.Draft(lineList(invalid) + " no JSON and left as in the file")
}

// lineList returns the subject and the verb of a sentence about lines: "line 3 is", "lines 3, 7 and 12 more are".
func lineList(numbers []int) string {
	const most = 10
	if len(numbers) == 1 {
		return "line " + strconv.Itoa(numbers[0]) + " is"
	}
	var b strings.Builder
	b.WriteString("lines ")
	for i, number := range numbers[:min(len(numbers), most)] {
		switch {
		case i > 0 && i == len(numbers)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(number))
	}
	if len(numbers) > most {
		fmt.Fprintf(&b, " and %d more", len(numbers)-most)
	}
	b.WriteString(" are")
	return b.String()
}
