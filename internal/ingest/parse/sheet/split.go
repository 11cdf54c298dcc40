package sheet

// sampleRows is how many rows are read to learn the shape of a table, sampleWidth the width up to which they are.
const (
	sampleRows  = 4
	sampleWidth = 512
	maxGap      = 2 // empty rows inside of a table
	longTable   = 4 // rows that a table of texts must have before a gap
)

// split splits rows at the gaps between tables.
func (t *Tables) split(list []row) [][]row {
	var parts [][]row
	start, group := 0, 0
	for i := 1; i < len(list); i++ {
		gap := int(list[i].number-list[i-1].number) - 1
		if gap <= 0 {
			continue
		}
		next := i + 1
		for next < len(list) && next < i+2*sampleRows && list[next].number == list[next-1].number+1 {
			next++
		}
		if t.parts+len(parts) < maxParts && !t.continues(list[start:i], i-group, list[i:next], gap) {
			parts = append(parts, list[start:i])
			start = i
		}
		group = i
	}
	if start < len(list) {
		parts = append(parts, list[start:])
	}
	return parts
}

// tally counts the kinds of the cells of a column: numbers and dates, codes, other texts.
type tally struct{ figures, codes, words int }

// typical returns the kind of most cells.
func (c tally) typical() kind {
	switch {
	case c.figures > c.codes+c.words:
		return number
	case c.codes > c.figures+c.words:
		return code
	}
	return word
}

// shape is what the columns of a table look like.
type shape struct {
	first   int
	columns []tally
	widest  int // the most cells of a row
}

func (t *Tables) learn(s *shape, line *row) {
	cells := 0
	for i, cell := range line.cells {
		if cell == "" {
			continue
		}
		cells++
		at := &s.columns[t.rows.columnOf(line, i)-s.first]
		switch finerKind(cell) {
		case word:
			at.words++
		case code:
			at.codes++
		case blank, number, moment:
			at.figures++
		}
	}
	s.widest = max(s.widest, cells)
}

// continues reports whether a table continues after a gap. The last closeRows of the rows before have no gap between
// them, nor have the rows after.
func (t *Tables) continues(before []row, closeRows int, after []row, gap int) bool {
	if gap > maxGap {
		return false
	}
	header := t.firstWide(before[:min(len(before), 2*sampleRows)])
	next := t.firstWide(after)
	if header < 0 || next < 0 {
		return false
	}
	sample := before[max(header, len(before)-sampleRows):]
	lead, following := &before[header], &after[next]
	first, last := t.rows.extent(append([]row{*lead}, sample...))
	if from, to := t.rows.extent(after[next : next+1]); from < first || to > last || last-first >= sampleWidth {
		return false
	}
	if t.isRepeated(lead, following) {
		return false
	}
	s := shape{first: first, columns: make([]tally, last-first+1)}
	for n := range sample {
		if line := &sample[n]; line.number != lead.number || len(sample) == 1 {
			t.learn(&s, line)
		}
	}
	if t.isTotal(&s, following, last) {
		return true
	}
	if following.count(s.widest)*2 < s.widest {
		return false
	}
	if header == len(before)-1 && t.isWords(lead) && !t.isWords(following) {
		return true // an empty row separates a header from its rows
	}
	return t.isAlike(&s, before, closeRows, after[next:], gap)
}

// isAlike reports whether rows fit into the columns of a table.
func (t *Tables) isAlike(s *shape, before []row, closeRows int, after []row, gap int) bool {
	hasTypes := false
	for n := range after {
		agreeing, differing := 0, 0
		for i, column := range s.columns {
			typical := column.typical()
			if typical == word {
				continue
			}
			hasTypes = true
			switch finerKind(t.rows.at(&after[n], s.first+i)) {
			case number, moment:
				agreeing++
			case code:
				if typical == code {
					agreeing++
				} else {
					differing++
				}
			case word:
				differing++
			case blank:
			}
		}
		if agreeing+differing > 0 {
			return agreeing > differing
		}
	}
	if hasTypes || gap > 1 || t.rows.at(&after[0], s.first) == "" {
		return false
	}
	for n := range after[1:] {
		if !t.isWords(&after[1+n]) {
			return false // the next row is a header
		}
	}
	return len(before) >= longTable || closeRows == 1 && len(after) == 1
}

// isTotal reports whether a row is a total: it has fewer cells than the rows of the table, but ends in the same column
// with a number.
func (t *Tables) isTotal(s *shape, line *row, last int) bool {
	begin, end := t.rows.extent([]row{*line})
	fewer := begin > s.first || line.count(s.widest)*2 < s.widest
	return fewer && end == last && s.columns[last-s.first].typical() == number && kindOf(t.rows.at(line, last)) > word
}

// firstWide returns the index of the first row with several cells, or -1.
func (t *Tables) firstWide(list []row) int {
	for n := range list {
		if list[n].count(2) > 1 {
			return n
		}
	}
	return -1
}

// isWords reports whether a row has no numbers and dates.
func (t *Tables) isWords(line *row) bool {
	for _, cell := range line.cells {
		if cell != "" && kindOf(cell) != word {
			return false
		}
	}
	return true
}

// isRepeated reports whether two rows have mostly the same texts in the same columns.
func (t *Tables) isRepeated(a, b *row) bool {
	equal := 0
	for i, cell := range a.cells {
		if cell != "" && t.rows.at(b, t.rows.columnOf(a, i)) == cell {
			equal++
		}
	}
	return equal > 1 && 3*equal >= 2*max(a.count(len(a.cells)), b.count(len(b.cells)))
}
