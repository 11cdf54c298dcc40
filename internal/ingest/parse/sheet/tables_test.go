package sheet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
)

// markdown lays out a sheet whose rows are given a line each, the cells parted by semicolons; "a>3" is a cell that covers
// three columns.
func markdown(source string) string {
	tables := sheet.NewTables()
	tables.Begin("S")
	for line := range strings.SplitSeq(strings.Trim(source, "\n"), "\n") {
		var cells []string
		for i, cell := range strings.Split(line, ";") {
			text, columns, merged := strings.Cut(strings.TrimSpace(cell), ">")
			if merged {
				tables.Merge(i, int(columns[0]-'0'))
			}
			cells = append(cells, text)
		}
		tables.Row(cells)
	}
	return render(tables.Blocks())
}

func render(blocks []document.Block) string {
	d := document.Document{Blocks: blocks}
	return strings.TrimPrefix(strings.TrimPrefix(d.Markdown(), "## S"), "\n\n")
}

func TestTablesAreLaidOut(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ source, want string }{
		"a plain table": {"Name;Count\nApples;3\nPears;4", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n| Pears | 4 |"},
		"titles above, a remark below": {
			"Fruit in store\nAs of March\nName;Count;Price\nApples;3;1.50\nPears;4;2.00\nCounted by hand in the evening; the scales were broken that day",
			"Fruit in store\n\nAs of March\n\n| Name | Count | Price |\n| --- | --- | --- |\n| Apples | 3 | 1.50 |\n| Pears | 4 | 2.00 |\n| Counted by hand in the evening | the scales were broken that day |  |",
		},
		"a remark of one cell": {
			"Name;Count;Price\nApples;3;1.50\nPears;4;2.00\nCounted by hand in the evening: the scales were broken that day",
			"| Name | Count | Price |\n| --- | --- | --- |\n| Apples | 3 | 1.50 |\n| Pears | 4 | 2.00 |\n\nCounted by hand in the evening: the scales were broken that day",
		},
		"margins and empty columns":         {"\n;;;\n;;Name;;Count\n;;Apples;;3", "| Name | Count |\n| --- | --- |\n| Apples | 3 |"},
		"two tables":                        {"Name;Count\nApples;3\n\nTown;People\nUlm;120", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n\n| Town | People |\n| --- | --- |\n| Ulm | 120 |"},
		"the same header again":             {"Name;Note\nApples;red\n\nName;Note\nPears;green", "| Name | Note |\n| --- | --- |\n| Apples | red |\n\n| Name | Note |\n| --- | --- |\n| Pears | green |"},
		"an empty row in a table":           {"Name;Count\nApples;3\nPears;4\n\nPlums;5\n\n\nNuts;6", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n| Pears | 4 |\n| Plums | 5 |\n| Nuts | 6 |"},
		"a wide gap in a table":             {"Name;Count\nApples;3\n\n\n\nPlums;5", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n\n| Plums | 5 |\n| --- | --- |"},
		"an empty row below the header":     {"Name;Count\n\nApples;3\nPears;4", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n| Pears | 4 |"},
		"a named group behind an empty row": {"Name;Count\nApples;3\n\nNuts\nHazel;4\nWal;5", "| Name | Count |\n| --- | --- |\n| Apples | 3 |\n| Nuts |  |\n| Hazel | 4 |\n| Wal | 5 |"},
		"texts in a long table":             {"Name;Note\na;b\nc;d\ne;f\n\ng;h", "| Name | Note |\n| --- | --- |\n| a | b |\n| c | d |\n| e | f |\n| g | h |"},
		"texts in a short table":            {"Name;Note\na;b\n\ng;h\ni;j", "| Name | Note |\n| --- | --- |\n| a | b |\n\n| g | h |\n| --- | --- |\n| i | j |"},
		"every second row empty":            {"Name;Note\n\na;b\n\nc;d\n\ne;f", "| Name | Note |\n| --- | --- |\n| a | b |\n| c | d |\n| e | f |"},
		"groups of columns":                 {";Sales>2;;Costs>2\nRegion;Q1;Q2;Q1;Q2\nNorth;1;2;3;4", "| Region | Sales / Q1 | Sales / Q2 | Costs / Q1 | Costs / Q2 |\n| --- | --- | --- | --- | --- |\n| North | 1 | 2 | 3 | 4 |"},
		"groups that are not merged":        {"Nr;Name;Sales;;Costs;\n;;Q1;Q2;Q1;Q2\n1;North;1;2;3;4", "| Nr | Name | Sales / Q1 | Sales / Q2 | Costs / Q1 | Costs / Q2 |\n| --- | --- | --- | --- | --- | --- |\n| 1 | North | 1 | 2 | 3 | 4 |"},
		"merged groups of texts":            {"Who;Where>2\n;Town;Street\nAnna;Ulm;Hafen\nBert;Bonn;Markt", "| Who | Where / Town | Where / Street |\n| --- | --- | --- |\n| Anna | Ulm | Hafen |\n| Bert | Bonn | Markt |"},
		"a title above groups":              {"Report>5\n;Sales>2;;Costs>2\nRegion;Q1;Q2;Q1;Q2\nNorth;1;2;3;4", "Report\n\n| Region | Sales / Q1 | Sales / Q2 | Costs / Q1 | Costs / Q2 |\n| --- | --- | --- | --- | --- |\n| North | 1 | 2 | 3 | 4 |"},
		"no text that is a number yet":      {"Region;Sales\nNorth;n/a\nSouth;12", "| Region | Sales |\n| --- | --- |\n| North | n/a |\n| South | 12 |"},
		"names and values above a table": {
			"Customer;Muster AG\nDate;2024-01-05\nPos;Item;Count;Price\n1;Bolt;3;4.50\n2;Nut;4;5.50",
			"| Customer | Muster AG |\n| --- | --- |\n| Date | 2024-01-05 |\n\n| Pos | Item | Count | Price |\n| --- | --- | --- | --- |\n| 1 | Bolt | 3 | 4.50 |\n| 2 | Nut | 4 | 5.50 |",
		},
		"years as header":         {"Region;2022;2023;2024\nNorth;12.5;13;2000", "| Region | 2022 | 2023 | 2024 |\n| --- | --- | --- | --- |\n| North | 12.5 | 13 | 2000 |"},
		"months as header":        {"Region;2024-01;2024-02\nNorth;5;6", "| Region | 2024-01 | 2024-02 |\n| --- | --- | --- |\n| North | 5 | 6 |"},
		"days as header":          {"Who;1;2;3;4\nAnna;8;8;0;8", "| Who | 1 | 2 | 3 | 4 |\n| --- | --- | --- | --- | --- |\n| Anna | 8 | 8 | 0 | 8 |"},
		"no header":               {"1;2.5\n3;4.5", "| A | B |\n| --- | --- |\n| 1 | 2.5 |\n| 3 | 4.5 |"},
		"no header, texts too":    {";Apples;3\n;Pears;4", "| B | C |\n| --- | --- |\n| Apples | 3 |\n| Pears | 4 |"},
		"a header for one column": {";2023\nNorth;5\nSouth;6", "|  | 2023 |\n| --- | --- |\n| North | 5 |\n| South | 6 |"},
		"lines":                   {"One line\nand another", "One line\n\nand another"},
		"a column":                {"Name\na\nb\nc\nd\ne", "| Name |\n| --- |\n| a |\n| b |\n| c |\n| d |\n| e |"},
		"one row":                 {"Total;5", "| Total | 5 |\n| --- | --- |"},
		"bars and controls":       {"A|B;x\ty\x01\v\n1;2\\|3", "| A\\|B | x y |\n| --- | --- |\n| 1 | 2\\|3 |"},
		"far to the right":        {strings.Repeat(";", 700) + "Name;Count\n" + strings.Repeat(";", 700) + "Nuts;5", "| Name | Count |\n| --- | --- |\n| Nuts | 5 |"},
		"columns far apart":       {"Name" + strings.Repeat(";", 700) + "Count\nNuts" + strings.Repeat(";", 700) + "5", "| Name | Count |\n| --- | --- |\n| Nuts | 5 |"},
		"an empty sheet":          {"\n;;\n", ""},
		"units below the header":  {"Part;Length;Weight\n;mm;kg\nBolt;30;0.1", "| Part | Length / mm | Weight / kg |\n| --- | --- | --- |\n| Bolt | 30 | 0.1 |"},
		"three rows of header": {
			";;2023;;2024;\n;;H1;H2;H1;H2\nRegion;Product;EUR;EUR;EUR;EUR\nNorth;A;1;2;3;4",
			"| Region | Product | 2023 / H1 / EUR | 2023 / H2 / EUR | 2024 / H1 / EUR | 2024 / H2 / EUR |\n| --- | --- | --- | --- | --- | --- |\n| North | A | 1 | 2 | 3 | 4 |",
		},
		"totals behind an empty row": {
			"Pos;Item;Count;Price\n1;Bolt;3;4.50\n2;Nut;4;5.50\n\n;;Total;10.00\n\nPay soon",
			"| Pos | Item | Count | Price |\n| --- | --- | --- | --- |\n| 1 | Bolt | 3 | 4.50 |\n| 2 | Nut | 4 | 5.50 |\n|  |  | Total | 10.00 |\n\nPay soon",
		},
		"nearly the same header again": {"Assets;2022;2021\nLand;5;6\n\nDebts;2022;2021\nLoan;7;8", "| Assets | 2022 | 2021 |\n| --- | --- | --- |\n| Land | 5 | 6 |\n\n| Debts | 2022 | 2021 |\n| --- | --- | --- |\n| Loan | 7 | 8 |"},
		"codes go on":                  {"Name;Phone\nAnna;555-0101\nBert;555-0102\n\nCaro;555-0103", "| Name | Phone |\n| --- | --- |\n| Anna | 555-0101 |\n| Bert | 555-0102 |\n| Caro | 555-0103 |"},
		"a matrix":                     {"0;1;2;3\n4;5;6;7\n8;9;10;11", "| A | B | C | D |\n| --- | --- | --- | --- |\n| 0 | 1 | 2 | 3 |\n| 4 | 5 | 6 | 7 |\n| 8 | 9 | 10 | 11 |"},
		"money is a number":            {"Item;Price\nBolt;€ 3.50\nNut;1'000.00 CHF\n\nPin;-3 $", "| Item | Price |\n| --- | --- |\n| Bolt | € 3.50 |\n| Nut | 1'000.00 CHF |\n| Pin | -3 $ |"},
		"groups with their name":       {"Item;Qty;Price\nFruit\nApple;2;3.5\nPear;3;4.5\nNuts\nHazel;5;1.5", "| Item | Qty | Price |\n| --- | --- | --- |\n| Fruit |  |  |\n| Apple | 2 | 3.5 |\n| Pear | 3 | 4.5 |\n| Nuts |  |  |\n| Hazel | 5 | 1.5 |"},
	} {
		if got := markdown(test.source); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

func TestSheetsArePages(t *testing.T) {
	t.Parallel()
	tables := sheet.NewTables()
	tables.Begin("Sales")
	tables.Row([]string{"a", "b"})
	tables.Begin("Empty")
	tables.Row([]string{" ", ""})
	tables.Begin("Sales")
	tables.Note("B2 (Anna): look\n\nhere")
	tables.Paragraph("A box")
	tables.Row([]string{"c", "d"})
	got := ""
	for _, block := range tables.Blocks() {
		got += fmt.Sprintf("%d %d %s %s\n", block.Kind, block.Page, block.Anchor, block.Markdown())
	}
	want := "0 1 sales ## Sales\n3 1  | a | b |\n| --- | --- |\n0 3 sales-1 ## Sales\n3 3  | c | d |\n| --- | --- |\n5 3  > B2 (Anna): look\n> here\n1 3  A box\n"
	if got != want || tables.Sheets() != 3 || tables.Err() != nil {
		t.Errorf("%d sheets, %v:\n%s", tables.Sheets(), tables.Err(), got)
	}
}

func TestWideTablesKeepTheirText(t *testing.T) {
	t.Parallel()
	tables := sheet.NewTables()
	tables.Begin("S")
	wide := make([]string, 1000)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d", i)
	}
	tables.Row(wide)
	tables.Row([]string{"x", "y"})
	table := tables.Blocks()[1]
	if len(table.Header) != document.MaxColumns || len(table.Rows[0]) != document.MaxColumns || !strings.HasSuffix(table.Header[document.MaxColumns-1], ", c998, c999") {
		t.Errorf("%d columns, %.100q", len(table.Header), table.Header[len(table.Header)-1])
	}
	// One wide row must not make all others as wide in memory.
	tables = sheet.NewTables()
	tables.Begin("S")
	for range 200_000 {
		tables.Row([]string{"x", "1"})
	}
	tables.Row(wide)
	table = tables.Blocks()[1]
	if width := len(table.Header); width < 2 || width > 20 || !strings.HasSuffix(table.Rows[len(table.Rows)-1][width-1], ", c999") {
		t.Errorf("%d columns", width)
	}
}

func TestTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	for name, fill := range map[string]func(*sheet.Tables){
		"cells": func(s *sheet.Tables) {
			row := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"}
			for range 105_000 {
				s.Row(row)
			}
		},
		"text": func(s *sheet.Tables) {
			for range 200 {
				s.Row([]string{strings.Repeat("long ", 2000)})
			}
		},
		"sheets": func(s *sheet.Tables) {
			for range 10 {
				s.Begin("S")
			}
		},
		"columns": func(s *sheet.Tables) { s.Row(append(make([]string, 1<<16), "x")) },
		"comments": func(s *sheet.Tables) {
			for range 20_001 {
				s.Note("x")
			}
		},
	} {
		tables := sheet.NewTables()
		tables.Bound(document.Limits{MaxText: 1 << 20, MaxPages: 5})
		if name == "cells" {
			tables.Bound(document.Limits{})
		}
		tables.Begin("S")
		fill(tables)
		var limit *document.LimitError
		if !errors.As(tables.Err(), &limit) {
			t.Errorf("%s: %v", name, tables.Err())
		}
		tables.Row([]string{"a"})
		tables.Blocks()
	}
}
