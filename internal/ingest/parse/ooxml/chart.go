package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxPoints is how many points of a series, maxSeries how many series of a chart are kept.
	maxPoints = 2000
	maxSeries = 50
	// maxValue and maxDrawn are how long a value and the text of a shape may be, in bytes; what is beyond is left out.
	maxValue = 1000
	maxDrawn = 64 << 10
)

// chart reads the text of a chart (DrawingML charts, ECMA-376 part 1, 21.2): its titles, and the values that it was drawn
// with as a table.
func (w *word) chart(part string) ([]document.Block, error) {
	blocks, err := w.pkg.chart(part, w.step)
	return blocks, w.tolerate("a chart", absent(err))
}

// diagram reads the text of a diagram.
func (w *word) diagram(part string) ([]document.Block, error) {
	blocks, err := w.pkg.diagram(part, w.step)
	return blocks, w.tolerate("a diagram", absent(err))
}

// series is a row of values of a chart.
type series struct {
	name           string
	groups, values []string
}

// chartReader collects what a chart says.
type chartReader struct {
	titles []string
	series []series
	step   func() error
}

// chart returns the blocks of a chart; step is asked now and then whether to go on. With an error it returns what was read.
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
		if kind != xmlscan.Start || names.of(s) != spaceChart {
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

// boundedText is InnerText of so many bytes at most.
func boundedText(s *xmlscan.Scanner, most int) (string, error) {
	var b strings.Builder
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return b.String(), err
		}
		if kind == xmlscan.Text && b.Len() < most {
			text := s.Bytes()
			b.WriteString(strings.ToValidUTF8(string(text[:min(len(text), most-b.Len())]), ""))
		}
	}
	return b.String(), nil
}

// drawnText returns the text of all a:t in the element of the last Start, on one line.
func drawnText(s *xmlscan.Scanner) (string, error) {
	var l line
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return l.plain(), err
		}
		switch {
		case kind == xmlscan.Start && (s.Name() == "t" || s.Name() == "v"):
			text, err := boundedText(s, maxDrawn-min(maxDrawn, len(l.text)))
			l.add([]byte(text), look{}, "")
			if err != nil {
				return l.plain(), err
			}
		case kind == xmlscan.Start && (s.Name() == "p" || s.Name() == "pt"):
			l.put(" ", look{})
		}
	}
	return l.plain(), nil
}

// read reads the series of the last Start.
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
			r.groups, err = points(s)
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

// points returns the values that are kept in the element of the last Start, at their places. Of groups in groups, those of
// the innermost are taken, which come first.
func points(s *xmlscan.Scanner) ([]string, error) {
	var values []string
	levels, at := 0, -1
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
			at = -1
			if index, err := strconv.Atoi(s.Attr("idx")); err == nil && index >= 0 && index < maxPoints {
				at = index
			}
		case "v":
			var text string
			if text, err = boundedText(s, maxValue); at >= 0 {
				for len(values) <= at {
					values = append(values, "")
				}
				values[at] = shortNumber(oneLine(text))
			}
		}
		if err != nil {
			return values, err
		}
	}
	return values, nil
}

// shortNumber takes the digits off a number that only stand for the error of its computation.
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

// table returns the values with the groups in the first column.
func (c *chartReader) table() (document.Block, bool) {
	var groups []string
	rows := 0
	for i := range c.series {
		if len(c.series[i].groups) > len(groups) {
			groups = c.series[i].groups
		}
		rows = max(rows, len(c.series[i].values))
	}
	rows = max(rows, len(groups))
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
		if at < len(groups) {
			row[0] = groups[at]
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
