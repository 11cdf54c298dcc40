package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxPoints and maxSeries are how many points of a series and series of a chart are read.
	maxPoints = 2000
	maxSeries = 50
	// maxValue and maxDrawn are the longest value and text of a shape, in bytes. Longer ones are cut.
	maxValue = 1000
	maxDrawn = 64 << 10
)

// chart reads a chart of the document. A damaged or missing chart is no error.
func (w *word) chart(part string) ([]document.Block, error) {
	blocks, err := w.pkg.chart(part, w.step)
	return blocks, w.Tolerate("a chart", ignoreMissing(err))
}

// diagram reads a diagram of the document. A damaged or missing diagram is no error.
func (w *word) diagram(part string) ([]document.Block, error) {
	blocks, err := w.pkg.diagram(part, w.step)
	return blocks, w.Tolerate("a diagram", ignoreMissing(err))
}

// series is a series of a chart. The values belong to the categories at the same index.
type series struct {
	name               string
	categories, values []string
}

// A chartReader reads a chart.
type chartReader struct {
	titles []string
	series []series
	step   func() error
}

// chart returns the blocks of a chart (DrawingML charts, ECMA-376 part 1, 21.2): its titles, and its values as a table.
// It calls step for each element, and ends with its error. With an error it returns the part that it has read.
func (p *Package) chart(part string, step func() error) ([]document.Block, error) {
	c := chartReader{step: step}
	err := p.Scan(part, c.read)
	var blocks []document.Block
	if len(c.titles) > 0 {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(c.titles, " – ")})
	}
	if table, found := c.table(); found {
		blocks = append(blocks, table)
	}
	return blocks, err
}

func (c *chartReader) read(s *xmlscan.Scanner) error {
	names := newNames()
	for {
		kind, err := s.Next()
		if err != nil {
			return err
		}
		if err := c.step(); err != nil {
			return err
		}
		if kind != xmlscan.Start || names.space(s) != spaceChart {
			continue
		}
		switch s.Name() {
		case "title":
			text, err := drawnText(s)
			if text != "" && len(c.titles) < maxSeries {
				c.titles = append(c.titles, text)
			}
			if err != nil {
				return err
			}
		case "ser":
			var next series
			err := next.read(s)
			if len(c.series) < maxSeries {
				c.series = append(c.series, next)
			}
			if err != nil {
				return err
			}
		}
	}
}

// boundedText returns the text in the element of the last Start, at most maxBytes of it.
func boundedText(s *xmlscan.Scanner, maxBytes int) (string, error) {
	var b strings.Builder
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return b.String(), err
		}
		if kind == xmlscan.Text && b.Len() < maxBytes {
			text := s.Bytes()
			b.WriteString(strings.ToValidUTF8(string(text[:min(len(text), maxBytes-b.Len())]), ""))
		}
	}
	return b.String(), nil
}

// drawnText returns the text of all a:t and c:v in the element of the last Start, on one line.
func drawnText(s *xmlscan.Scanner) (string, error) {
	var l wordmodel.Line
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return l.Plain(), err
		}
		switch {
		case kind == xmlscan.Start && (s.Name() == "t" || s.Name() == "v"):
			text, err := boundedText(s, maxDrawn-min(maxDrawn, len(l.Text)))
			addText(&l, []byte(text), wordmodel.Look{}, "")
			if err != nil {
				return l.Plain(), err
			}
		case kind == xmlscan.Start && (s.Name() == "p" || s.Name() == "pt"):
			l.Append(" ", wordmodel.Look{})
		}
	}
	return l.Plain(), nil
}

// read reads the series in the element of the last Start.
func (r *series) read(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch s.Name() {
		case "tx":
			r.name, err = drawnText(s)
		case "cat", "xVal":
			r.categories, err = points(s)
		case "val", "yVal":
			r.values, err = points(s)
		case "dLbls", "dPt", "spPr", "extLst", "trendline", "errBars":
			err = s.Skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// points returns the cached values in the element of the last Start, by their index. Of categories with several levels,
// only the innermost level is read. It comes first.
func points(s *xmlscan.Scanner) ([]string, error) {
	var values []string
	levels, current := 0, -1
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return values, err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch s.Name() {
		case "lvl":
			if levels++; levels > 1 {
				err = s.Skip()
			}
		case "pt":
			current = -1
			if index, err := strconv.Atoi(s.Attr("idx")); err == nil && index >= 0 && index < maxPoints {
				current = index
			}
		case "v":
			var text string
			if text, err = boundedText(s, maxValue); current >= 0 {
				for len(values) <= current {
					values = append(values, "")
				}
				values[current] = shortNumber(oneLine(text))
			}
		}
		if err != nil {
			return values, err
		}
	}
	return values, nil
}

// shortNumber rounds a number with many digits, which show only the error of its computation.
func shortNumber(text string) string {
	if len(text) < 14 || len(text) > 40 {
		return text
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(value, 'g', 10, 64)
}

// table returns the series as columns, with the categories in the first column.
func (c *chartReader) table() (document.Block, bool) {
	var categories []string
	rows := 0
	for i := range c.series {
		if len(c.series[i].categories) > len(categories) {
			categories = c.series[i].categories
		}
		rows = max(rows, len(c.series[i].values))
	}
	rows = max(rows, len(categories))
	if rows == 0 || len(c.series) == 0 {
		return document.Block{}, false
	}
	header := make([]string, 1, len(c.series)+1)
	for i := range c.series {
		header = append(header, c.series[i].name)
	}
	cells := make([][]string, rows)
	for at := range cells {
		row := make([]string, len(header))
		if at < len(categories) {
			row[0] = categories[at]
		}
		for i := range c.series {
			if at < len(c.series[i].values) {
				row[i+1] = c.series[i].values[at]
			}
		}
		cells[at] = row
	}
	return document.NewTable(header, cells), true
}
