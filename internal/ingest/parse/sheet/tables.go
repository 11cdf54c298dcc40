package sheet

import (
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Limits of a file. Only cells with text count, and a table may have as many empty ones. After maxParts tables, the
// rest of a sheet is one table.
const (
	maxCells  = 2 << 20
	maxParts  = 5000
	maxNotes  = 20_000
	maxMerges = 500          // of a row
	maxVisits = 4 * maxCells // how many cells are visited for links and defined tables
)

// Tables collects the rows of sheets. It turns them into blocks: a heading for each sheet that has text, its tables,
// and lines of a single cell above or below a table as paragraphs.
//
// Empty rows separate tables. A table continues after one or two empty rows if the next rows have the same columns, and
// numbers, dates and codes where the table has them, or if they are a total in its last columns. A table of several
// rows of texts continues after one empty row. A row that repeats the header starts a new table. Adjacent tables are
// one, unless the file defines them: an empty column usually is space within a table.
//
// The header of a table is its first row of texts above rows with numbers. Rows of groups above it ("Sales" over "Q1"
// and "Q2") and a row of units below it are joined with it: "Sales / Q1". A header may contain years, dates and
// consecutive numbers. If the first row is like all others, the letters of the columns are the header. Columns without
// text are left out.
//
// Tables is not safe for concurrent use.
type Tables struct {
	blocks  []document.Block
	anchors document.Anchors
	limits  document.Limits
	err     error

	sheets    int
	name      string
	rows      rows
	next      int // number of the next row
	merged    map[int32][]merge
	defined   []definedArea
	after     []document.Block // blocks after the tables of the sheet
	notes     int
	cellsLeft int
	emptyLeft int
	textLeft  int
	visits    int
	parts     int

	texts   *texts
	columns []uint16 // of the open row
	cells   []string
}

// merge is a cell that spans columns of a row.
type merge struct{ first, last int }

// NewTables returns an empty collection.
func NewTables() *Tables {
	t := &Tables{anchors: make(document.Anchors), texts: newTexts(), cellsLeft: maxCells, emptyLeft: maxCells}
	t.Bound(document.Limits{})
	return t
}

// Bound sets the limits of the text and of the number of sheets. It must be called before the first sheet.
func (t *Tables) Bound(limits document.Limits) {
	t.limits = limits.WithDefaults()
	t.textLeft = t.limits.MaxText
}

// Err returns the *document.LimitError of a file that exceeds a limit, or nil. Nothing is added after it.
func (t *Tables) Err() error { return t.err }

// Begin starts a sheet. Sheets count as pages.
func (t *Tables) Begin(name string) {
	t.flush()
	t.sheets++
	t.name = strings.Join(lines(name), " ")
	if t.sheets > t.limits.MaxPages {
		t.fail(fmt.Sprintf("the file has more than %d sheets", t.limits.MaxPages))
	}
}

func (t *Tables) fail(detail string) {
	if t.err == nil {
		t.err = &document.LimitError{Detail: detail}
	}
}

// Row adds a row of the sheet. Cells are displayed text with escaped Markdown. Empty cells at the end may be left out.
// The row is copied.
func (t *Tables) Row(cells []string) {
	number := t.next
	t.next++
	t.columns, t.cells = t.columns[:0], t.cells[:0]
	for column, cell := range cells {
		if cell == "" {
			continue
		}
		if cell = clean(cell); cell == "" {
			continue
		}
		if column > maxSheetColumn {
			t.fail(fmt.Sprintf("a row has more than %d columns", maxSheetColumn+1))
			return
		}
		t.columns, t.cells = append(t.columns, uint16(column)), append(t.cells, t.texts.keepString(cell))
	}
	t.add(number, t.columns, t.cells)
}

// Merge sets that the cell at a column of the next row spans several columns. In a header, its text applies to all of
// them.
func (t *Tables) Merge(column, columns int) { t.merge(t.next, column, column+columns-1) }

func (t *Tables) merge(number, first, last int) {
	if last <= first || last > maxSheetColumn || t.err != nil {
		return
	}
	if t.merged == nil {
		t.merged = make(map[int32][]merge)
	}
	line := int32(number) //nolint:gosec // the numbers of rows are bounded by their readers
	if len(t.merged[line]) < maxMerges {
		t.merged[line] = append(t.merged[line], merge{first, last})
	}
}

// has reports whether the row with a number has text.
func (t *Tables) has(number int) bool {
	at := t.rows.find(number)
	return at < len(t.rows.list) && int(t.rows.list[at].number) == number
}

// Note adds a comment as a quote after the tables of the sheet.
func (t *Tables) Note(text string) { t.put(document.Quote, text) }

// Paragraph adds text outside of cells after the tables of the sheet.
func (t *Tables) Paragraph(text string) { t.put(document.Paragraph, text) }

func (t *Tables) put(kind document.BlockKind, text string) {
	text = strings.Join(lines(text), "\n")
	if text == "" || t.err != nil {
		return
	}
	if t.notes++; t.notes > maxNotes {
		t.fail(fmt.Sprintf("the file has more than %d comments", maxNotes))
		return
	}
	if t.spend(len(text)); t.err == nil {
		t.after = append(t.after, document.Block{Kind: kind, Text: text, Page: t.sheets})
	}
}

// Blocks ends the last sheet and returns all blocks.
func (t *Tables) Blocks() []document.Block {
	t.flush()
	return t.blocks
}

// Sheets returns the number of sheets.
func (t *Tables) Sheets() int { return t.sheets }

// add adds a row of clean texts. The columns ascend, and no cell is empty.
func (t *Tables) add(number int, columns []uint16, cells []string) {
	if len(cells) == 0 || t.err != nil {
		return
	}
	if t.cellsLeft -= len(cells); t.cellsLeft < 0 {
		t.fail(fmt.Sprintf("the file has more than %d cells", maxCells))
		return
	}
	size := 0
	for _, cell := range cells {
		size += len(cell) + len(" | ")
	}
	if t.spend(size); t.err == nil {
		t.rows.add(number, columns, cells)
	}
}

func (t *Tables) spend(size int) {
	if t.textLeft -= size; t.textLeft < 0 {
		t.fail(fmt.Sprintf("the text has more than %d MiB", t.limits.MaxText>>20))
	}
}

// link turns the text of the cells of an area into links.
func (t *Tables) link(a area, target string) {
	target, ok := linkTarget(target)
	if !ok {
		return
	}
	for n := t.rows.find(a.top); n < len(t.rows.list) && int(t.rows.list[n].number) <= a.bottom && t.err == nil; n++ {
		line := &t.rows.list[n]
		if t.visits += len(line.cells) + 1; t.visits > maxVisits {
			return
		}
		for i, cell := range line.cells {
			if column := t.rows.columnOf(line, i); cell == "" || column < a.left || column > a.right {
				continue
			}
			line.cells[i] = linked(cell, target)
			t.spend(len(line.cells[i]) - len(cell))
		}
	}
}

// linked returns a text as a link to the result of linkTarget, unless it is a link or the address itself.
func linked(text, target string) string {
	if text == target || strings.HasPrefix(text, "[") && strings.HasSuffix(text, ")") && strings.Contains(text, "](") {
		return text
	}
	if strings.ContainsAny(text, "[]") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "[", `\[`), "]", `\]`)
	}
	return "[" + text + "](" + target + ")"
}

// linkTarget returns an address in the form that a link needs. It is false for addresses that are not followed.
func linkTarget(target string) (string, bool) {
	target = strings.TrimSpace(target)
	lower := strings.ToLower(target[:min(len(target), 8)])
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") && !strings.HasPrefix(lower, "mailto:") || len(target) > 2000 {
		return "", false
	}
	var b strings.Builder
	for _, c := range []byte(target) {
		if c <= ' ' || c == 0x7F || strings.IndexByte("()<>|\\[]", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// flush ends a sheet.
func (t *Tables) flush() {
	if t.sheets > 0 && t.err == nil && (len(t.rows.list) > 0 || len(t.after) > 0) {
		if t.name != "" {
			t.blocks = append(t.blocks, document.Block{
				Kind: document.Heading, Level: 2, Text: t.name, Anchor: t.anchors.Take("", t.name), Page: t.sheets,
			})
		}
		t.layOut()
		t.blocks = append(t.blocks, t.after...)
	}
	t.rows = rows{store: t.rows.store}
	t.next, t.merged, t.defined, t.after = 0, nil, nil, nil
}
