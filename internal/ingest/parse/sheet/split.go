package sheet

// How many rows are looked at to learn the shape of a table, and how wide it may be for that.
const (
	sampleRows  = 4
	sampleWidth = 512
	maxGap      = 2 // empty rows that a table may go on after
	longTable   = 4 // rows of a table that may go on where all is text
)

// split parts rows at the gaps between tables.
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
		if t.parts+len(parts) < maxParts && !t.goesOn(list[start:i], i-group, list[i:next], gap) {
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

// tally counts what the cells of a column look like: numbers and dates, texts with digits such as codes, other texts.
type tally struct{ figures, codes, words int }

// typical returns what most cells look like.
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

// goesOn reports whether a table goes on after a gap. The rows before it are the table so far, of which those behind
// the last gap are close; after are the next rows without a gap.
func (t *Tables) goesOn(before []row, closeRows int, after []row, gap int) bool {
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
	if t.same(lead, following) {
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
	if header == len(before)-1 && t.words(lead) && !t.words(following) {
		return true // a header that an empty row parts from its rows
	}
	return t.alike(&s, before, closeRows, after[next:], gap)
}

// alike reports whether rows go on in the columns of a table as they were before.
func (t *Tables) alike(s *shape, before []row, closeRows int, after []row, gap int) bool {
	typed := false
	for n := range after {
		agree, against := 0, 0
		for i, column := range s.columns {
			typical := column.typical()
			if typical == word {
				continue
			}
			typed = true
			switch finerKind(t.rows.at(&after[n], s.first+i)) {
			case number, moment:
				agree++
			case code:
				if typical == code {
					agree++
				} else {
					against++
				}
			case word:
				against++
			case blank:
			}
		}
		if agree+against > 0 {
			return agree > against
		}
	}
	if typed || gap > 1 || t.rows.at(&after[0], s.first) == "" {
		return false
	}
	for n := range after[1:] {
		if !t.words(&after[1+n]) {
			return false // what comes next is a header
		}
	}
	return len(before) >= longTable || closeRows == 1 && len(after) == 1
}

// isTotal reports a row that has less cells than those of the table, but ends as they do: "Total" and a number in the last
// column.
func (t *Tables) isTotal(s *shape, line *row, last int) bool {
	begin, end := t.rows.extent([]row{*line})
	fewer := begin > s.first || line.count(s.widest)*2 < s.widest
	return fewer && end == last && s.columns[last-s.first].typical() == number && kindOf(t.rows.at(line, last)) > word
}

// firstWide returns the index of the first row with several cells, -1 for none.
func (t *Tables) firstWide(list []row) int {
	for n := range list {
		if list[n].count(2) > 1 {
			return n
		}
	}
	return -1
}

// words reports a row without numbers and dates.
func (t *Tables) words(line *row) bool {
	for _, cell := range line.cells {
		if cell != "" && kindOf(cell) != word {
			return false
		}
	}
	return true
}

// same reports two rows most of whose texts are the same in the same columns.
func (t *Tables) same(a, b *row) bool {
	equal := 0
	for i, cell := range a.cells {
		if cell != "" && t.rows.at(b, t.rows.columnOf(a, i)) == cell {
			equal++
		}
	}
	return equal > 1 && 3*equal >= 2*max(a.count(len(a.cells)), b.count(len(b.cells)))
}
