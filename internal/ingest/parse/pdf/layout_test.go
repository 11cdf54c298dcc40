package pdf_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// prose writes lines of a paragraph, 14 points apart, and returns where the next one would stand.
func (s *sheet) prose(x, y float64, lines ...string) float64 {
	for _, line := range lines {
		s.text("F1", 11, x, y, line)
		y -= 14
	}
	return y
}

func TestColumnsAreReadOneAfterTheOther(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.text("F2", 20, 72, 730, "A title across both of the columns")
	left := []string{"Where the road turns to the sea there", "stands a mill that was built of stone", "taken from the old quay, and its wheel", "is driven by the tide alone."}
	right := []string{"The miller sleeps when the water is", "slack, by day or by night, and so do", "his children. What he grinds is oats", "for the whole of the island."}
	s.prose(72, 700, left...)
	s.prose(330, 700, right...)
	s.prose(72, 620, "What follows stands below both columns again and runs from one edge to the other one.")
	expect(t, read(t, w.bytes()),
		"1: # A title across both of the columns",
		"1: "+strings.Join(left, " "),
		"1: "+strings.Join(right, " "),
		"1: What follows stands below both columns again and runs from one edge to the other one.")
}

func TestParagraphsByDistanceAndIndentation(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	y := s.prose(72, 700, "The first paragraph has two lines, of which the first runs to the edge", "and the second one ends.")
	y = s.prose(72, y-10, "After a gap there is another paragraph whose lines run to the same edge,", "and it goes on here until the very end of the line that it stands upon.")
	s.text("F1", 11, 90, y, "An indented line begins a third one, and it is as long as the others are")
	s.prose(72, y-14, "and goes on at the margin.")
	expect(t, read(t, w.bytes()),
		"1: The first paragraph has two lines, of which the first runs to the edge and the second one ends.",
		"1: After a gap there is another paragraph whose lines run to the same edge, and it goes on here until the very end of the line that it stands upon.",
		"1: An indented line begins a third one, and it is as long as the others are and goes on at the margin.")
}

func TestBrokenWordsAreMadeWhole(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.prose(72, 700,
		"This well-known paragraph has words that are broken at the end of a li-",
		"ne, and others that are compounds in every place, such as the one well-",
		"known above; names such as the one of the village of Nether-and-Upper-",
		"Slaughter stay as they are, and so do the numbers between 1914-",
		"1918.")
	expect(t, read(t, w.bytes()), "1: This well-known paragraph has words that are broken at the end of a line, and others that are compounds "+
		"in every place, such as the one well-known above; names such as the one of the village of Nether-and-Upper-Slaughter stay as "+
		"they are, and so do the numbers between 1914-1918.")
}

func TestHeadingsBySizeAndWeight(t *testing.T) {
	t.Parallel()
	w := &writer{}
	for number := 1; number <= 2; number++ {
		s := w.page()
		if number == 1 {
			s.text("F1", 26, 72, 740, "The Book of Locks")
		}
		s.text("F1", 18, 72, 700, fmt.Sprintf("Chapter %d of the book", number))
		y := s.prose(72, 670, "A lock lifts a boat from one level of the water to another, and it lowers", "it as well.")
		s.text("F1", 14, 72, y-12, "Gates and sluices")
		y = s.prose(72, y-34, "The gates are made of oak, which lasts for forty years when it is always", "wet and never dry.")
		s.text("F2", 11, 72, y-14, "On ice")
		s.prose(72, y-30, "In winter the gates are kept moving.")
	}
	expect(t, read(t, w.bytes()),
		"1: # The Book of Locks", "1: ## Chapter 1 of the book",
		"1: A lock lifts a boat from one level of the water to another, and it lowers it as well.",
		"1: ### Gates and sluices", "1: The gates are made of oak, which lasts for forty years when it is always wet and never dry.",
		"1: #### On ice", "1: In winter the gates are kept moving.",
		"2: ## Chapter 2 of the book",
		"2: A lock lifts a boat from one level of the water to another, and it lowers it as well.",
		"2: ### Gates and sluices", "2: The gates are made of oak, which lasts for forty years when it is always wet and never dry.",
		"2: #### On ice", "2: In winter the gates are kept moving.")
}

func TestOutlineNamesHeadings(t *testing.T) {
	t.Parallel()
	w := &writer{outline: []entry{{"Of the wind", 0, 720}, {"Of the rain", 0, 600}, {"Of snow", 1, 800}, {"Slide 2", 1, 800}}}
	s := w.page()
	s.prose(72, 710, "Of the wind")
	s.prose(72, 690, "The wind blows from the sea by day and from the land by night, all summer.")
	s.prose(72, 590, "It rains.")
	w.page().prose(72, 700, "Nothing here says what the outline does.")
	expect(t, read(t, w.bytes()),
		"1: # Of the wind", "1: The wind blows from the sea by day and from the land by night, all summer.",
		"1: # Of the rain", "1: It rains.",
		"2: # Of snow", "2: Nothing here says what the outline does.")
}

func TestRunningHeadersStayOnceAndPageNumbersGo(t *testing.T) {
	t.Parallel()
	w := &writer{}
	for number := range 5 {
		s := w.page()
		s.text("F1", 9, 72, 765, "The Chandler's Almanac")
		s.prose(72, 700, fmt.Sprintf("This is what the %s page says.", []string{"first", "second", "third", "fourth", "fifth"}[number]))
		s.text("F1", 9, 300, 30, fmt.Sprintf("Page %d of 9", number+3))
	}
	expect(t, read(t, w.bytes()), "1: The Chandler's Almanac",
		"1: This is what the first page says.", "2: This is what the second page says.", "3: This is what the third page says.",
		"4: This is what the fourth page says.", "5: This is what the fifth page says.")
}

func TestSinglePageKeepsItsHeader(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.text("F1", 9, 72, 765, "The header")
	s.prose(72, 700, "The body of the page.")
	s.text("F1", 9, 300, 30, "7")
	expect(t, read(t, w.bytes()), "1: The header", "1: The body of the page.", "1: 7")
}

func TestParagraphGoesOnOnTheNextPage(t *testing.T) {
	t.Parallel()
	w := &writer{}
	w.page().prose(72, 60, "The ferry crosses the river as long as there is light and as long as the", "ropes that it hangs on are not")
	w.page().prose(72, 740, "covered with ice, which happens in January.", "A new paragraph.",
		"", "The line that follows it is as long as the column is wide, as most of the lines are.")
	draft := read(t, w.bytes())
	if len(draft.Blocks) == 0 || draft.Blocks[0].Text != "The ferry crosses the river as long as there is light and as long as the ropes that it "+
		"hangs on are not covered with ice, which happens in January." || draft.Blocks[0].Page != 1 {
		t.Errorf("got %v", dump(draft))
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.prose(72, 700, "What to take along:")
	s.prose(84, 680, "• a rope of forty metres that has been tried before it is needed, so that", "")
	s.prose(94, 666, "nobody is in doubt")
	s.prose(96, 650, "– a hook")
	s.prose(96, 636, "– a ring")
	s.prose(84, 622, "• water")
	s.prose(72, 590, "In this order:")
	s.prose(84, 570, "1. Untie.", "2. Push off.", "3) Row.")
	expect(t, read(t, w.bytes()),
		"1: What to take along:",
		"1: - a rope of forty metres that has been tried before it is needed, so that nobody is in doubt⏎  - a hook⏎  - a ring⏎- water",
		"1: In this order:",
		"1: 1. Untie.⏎2. Push off.⏎3. Row.")
}

func TestTables(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	rows := [][]string{{"Lock", "Rise", "Built"}, {"Upper", "2.4 m", "1791"}, {"Middle | old", "3.1 m", "1802"}}
	s.grid([]float64{72, 192, 292, 392}, []float64{710, 690, 670, 650})
	for r, row := range rows {
		for c, cell := range row {
			s.text("F1", 11, []float64{76, 196, 296}[c], 696-20*float64(r), cell)
		}
	}
	s.prose(72, 600, "A table without lines:")
	for r, row := range [][]string{{"Month", "Boats", "Toll"}, {"May", "41", "120.50"}, {"June", "68", "201.00"}, {"July", "90", "266.10"}} {
		for c, cell := range row {
			s.text("F1", 11, []float64{72, 200, 320}[c], 580-15*float64(r), cell)
		}
	}
	s.prose(72, 480, "These lines are text.", "They are short.", "They have one part.")
	expect(t, read(t, w.bytes()),
		`1: | Lock | Rise | Built |⏎| --- | --- | --- |⏎| Upper | 2.4 m | 1791 |⏎| Middle \| old | 3.1 m | 1802 |`,
		"1: A table without lines:",
		"1: | Month | Boats | Toll |⏎| --- | --- | --- |⏎| May | 41 | 120.50 |⏎| June | 68 | 201.00 |⏎| July | 90 | 266.10 |",
		"1: These lines are text.", "1: They are short.", "1: They have one part.")
}

func TestTableGoesOnOnTheNextPageUnderItsHeader(t *testing.T) {
	t.Parallel()
	w := &writer{}
	draw := func(rows [][]string) {
		s := w.page()
		for r, row := range rows {
			for c, cell := range row {
				s.text("F1", 11, []float64{76, 196}[c], 696-20*float64(r), cell)
			}
		}
		s.grid([]float64{72, 192, 392}, []float64{710, 690, 670})
	}
	draw([][]string{{"Boat", "Owner"}, {"Heron", "M. Vries"}})
	draw([][]string{{"Dunlin", "A. Roth"}, {"Petrel", "K. Lund"}})
	expect(t, read(t, w.bytes()),
		"1: | Boat | Owner |⏎| --- | --- |⏎| Heron | M. Vries |",
		"2: | Boat | Owner |⏎| --- | --- |⏎| Dunlin | A. Roth |⏎| Petrel | K. Lund |")
}

func TestCodeKeepsItsIndentation(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.prose(72, 700, "The pump is set up in a file of its own, which has a line for each of the", "valves and says when it opens:")
	for k, line := range []string{"valve {", "  opens = \"06:00\"", "  lasts = 20", "}"} {
		s.text("F3", 10, 72, 660-12*float64(k), line)
	}
	s.prose(72, 590, "Nothing else is needed for a pump that stands in the open and is used by", "day only.")
	expect(t, read(t, w.bytes()),
		"1: The pump is set up in a file of its own, which has a line for each of the valves and says when it opens:",
		"1: ```⏎valve {⏎  opens = \"06:00\"⏎  lasts = 20⏎}⏎```",
		"1: Nothing else is needed for a pump that stands in the open and is used by day only.")
}

func TestLinksLeadOutOfTheDocumentOnly(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.prose(72, 700, "See the survey, the office, https://mill.example/x and the script.")
	link := func(x0, x1 float64, target string) string {
		return fmt.Sprintf("<< /Type /Annot /Subtype /Link /Rect [%g 695 %g 712] /A << /S /URI /URI (%s) >> >> ", x0, x1, escape(target))
	}
	s.extra = "/Annots [" + link(95, 148, "https://survey.example/a(b)") + link(150, 198, "mailto:office@mill.example") +
		link(199, 310, "https://mill.example/x") + link(330, 400, "javascript:alert(1)") + "]"
	expect(t, read(t, w.bytes()),
		"1: See [the survey,](https://survey.example/a%28b%29) [the office,](mailto:office@mill.example) https://mill.example/x and the script.")
}

func TestTextInEveryDirection(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.turned(11, "0 1 -1 0 300 100", "A line that runs up the page.")
	s.turned(11, "0 1 -1 0 316 100", "A second one beside it.")
	s.turned(11, "0 -1 1 0 500 700", "Something runs down.")
	w.page().turned(11, "-1 0 0 -1 500 300", "This stands on its head.")
	w.pages[1].extra = "/Rotate 180"
	w.page().turned(30, "0.7 0.7 -0.7 0.7 100 100", "DRAFT ONLY")
	expect(t, read(t, w.bytes()),
		"1: A line that runs up the page. A second one beside it.",
		"1: Something runs down.",
		"2: This stands on its head.",
		"3: # DRAFT ONLY")
}

func TestFootnotesKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.text("F1", 11, 72, 700, "The mill was sold")
	s.text("F1", 6, 157, 704, "12")
	s.text("F1", 11, 167, 700, "in spring. Its area is 40 m")
	s.text("F1", 6, 292, 704, "2")
	s.text("F1", 6, 72, 104, "12")
	s.text("F1", 9, 80, 100, "By the heirs.")
	expect(t, read(t, w.bytes()), "1: The mill was sold[12] in spring. Its area is 40 m2", "1: [12] By the heirs.")
}

func TestTextIsNoMarkdownByAccident(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	s.prose(72, 700, "# is a sign of the smith.")
	s.prose(72, 660, "> shows the way.")
	s.prose(72, 620, "#7 is a number.")
	expect(t, read(t, w.bytes()), `1: \# is a sign of the smith.`, `1: \> shows the way.`, "1: #7 is a number.")
}

func TestFacts(t *testing.T) {
	t.Parallel()
	w := &writer{info: "/Title (Microsoft Word - Locks and Weirs) /Author (A. Person) /Subject (On water) /Keywords (lock, weir) " +
		"/Producer (a press) /CreationDate (D:20240229131500+01'00') /ModDate (D:2024)"}
	w.page().prose(72, 700, "Text.")
	draft := read(t, w.bytes())
	for key, want := range map[string]any{"title": "Locks and Weirs", "author": "A. Person", "description": "On water", "keywords": "lock, weir", "producer": "a press"} {
		if draft.Meta[key] != want {
			t.Errorf("%s is %v", key, draft.Meta[key])
		}
	}
	if created, _ := draft.Meta["created"].(time.Time); !created.Equal(time.Date(2024, 2, 29, 12, 15, 0, 0, time.UTC)) {
		t.Errorf("created is %v", draft.Meta["created"])
	}
	if modified, _ := draft.Meta["modified"].(time.Time); !modified.Equal(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("modified is %v", draft.Meta["modified"])
	}
}

func TestNamesOfFilesAreNoTitles(t *testing.T) {
	t.Parallel()
	for _, title := range []string{"report-v2.docx", "Microsoft Word - letter.doc", "untitled", "C:\\\\x\\\\scan.tif", "Slide 1", "file", "12-34"} {
		w := &writer{info: "/Title (" + title + ")"}
		w.page().prose(72, 700, "Text.")
		if draft := read(t, w.bytes()); draft.Meta["title"] != nil {
			t.Errorf("%q gave %v", title, draft.Meta["title"])
		}
	}
}

func TestHugePageOfScatteredText(t *testing.T) {
	t.Parallel()
	w := &writer{}
	s := w.page()
	for k := range 25_000 {
		s.text("F1", 3, float64(k*37%600), float64(k*91%780), "ab")
	}
	draft := read(t, w.bytes())
	text := 0
	for i := range draft.Blocks {
		text += strings.Count(draft.Blocks[i].Text, "ab")
		for _, cell := range draft.Blocks[i].Header {
			text += strings.Count(cell, "ab")
		}
		for _, row := range draft.Blocks[i].Rows {
			for _, cell := range row {
				text += strings.Count(cell, "ab")
			}
		}
	}
	if text < 20_000 {
		t.Errorf("%d words of 25000", text)
	}
	if draft.Blocks[0].Kind == document.Heading {
		t.Error("a heading was found")
	}
}
