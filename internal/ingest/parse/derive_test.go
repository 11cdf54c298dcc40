package parse_test

import (
	"slices"
	"testing"
	"time"
)

func TestTitlesOfTextsWithoutHeadings(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"Minutes of the spring meeting\n\nAll were there.\n": "Minutes of the spring meeting",
		"2024 budget of the library\n\nIt is balanced.\n":    "2024 budget of the library",
		"春の会議の議事録\n\n全員が出席しました。\n":                           "春の会議の議事録",
		"We met on Monday.\n\nAll were there.\n":             "Page",
		"Dear neighbours,\n\nthe water is off tomorrow.\n":   "Page",
		"Hello\n\nworld\n": "Page",
		"and so it went on for a while\n\nuntil it stopped\n": "Page",
		"https://example.com/a b\n\nText below.\n":            "Page",
		"Nothing below this line":                             "Page",
		"A first line that goes on and on without ever coming to the point that its writer may have had in mind\n\nText.\n": "Page",
	} {
		if got := mustParse(t, "page.txt", content).Title; got != want {
			t.Errorf("%q has the title %q, want %q", content, got, want)
		}
	}
	for _, placeholder := range []string{"Untitled", "Microsoft Word - report.docx", "Document1", "PowerPoint Presentation", "Untitled document"} {
		if got := mustParse(t, "a.html", "<title>"+placeholder+"</title><h1>Harbour rules</h1><p>Keep right.").Title; got != "Harbour rules" {
			t.Errorf("%q gives the title %q", placeholder, got)
		}
	}
	if got := mustParse(t, "document.html", "<title>Document safety</title><p>Keep right.").Title; got != "Document safety" {
		t.Errorf("a title that begins like a placeholder became %q", got)
	}
}

func TestKeywordsAreParted(t *testing.T) {
	t.Parallel()
	for keywords, want := range map[string][]string{
		"tides, cranes, Tides":    {"tides", "cranes"},
		"tides; deep water":       {"tides", "deep water"},
		"\"tides;cranes, locks\"": {"tides", "cranes", "locks"},
		"潮汐、起重机，船闸":               {"潮汐", "起重机", "船闸"},
	} {
		if got := mustParse(t, "a.md", "---\nkeywords: "+keywords+"\n---\nText.\n").Tags; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", keywords, got, want)
		}
	}
}

func TestDatesAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	want := time.Date(2024, 3, 1, 12, 30, 0, 0, time.UTC)
	for _, text := range []string{
		"2024-03-01T12:30:00Z", "2024-03-01T12:30", "2024-03-01 13:30:00 +0100", "D:20240301123000Z", "D:20240301133000+01'00'", "Fri, 1 Mar 2024 12:30:00 +0000",
		"Fri Mar  1 12:30:00 2024", "2024-03-01T12:30:00+0000",
	} {
		doc := mustParse(t, "a.md", "---\nmodified: \""+text+"\"\n---\nText.\n")
		if !doc.UpdatedAt.Equal(want) || doc.Metadata["modified"] != nil {
			t.Errorf("%s is %s, metadata %v", text, doc.UpdatedAt, doc.Metadata)
		}
	}
	for _, text := range []string{"1.3.2024", "01.03.2024", "20240301", "2024年3月1日", "March 1, 2024"} {
		if got := mustParse(t, "a.md", "---\ncreated: \""+text+"\"\n---\nText.\n").CreatedAt; !got.Equal(want.Truncate(24 * time.Hour)) {
			t.Errorf("%s is %s", text, got)
		}
	}
	doc := mustParse(t, "a.md", "---\ncreated: in spring\nmodified: 1601-01-01\n---\nText.\n")
	if !doc.CreatedAt.IsZero() || !doc.UpdatedAt.IsZero() || doc.Metadata["created"] != "in spring" {
		t.Errorf("no dates: %s, %s, %v", doc.CreatedAt, doc.UpdatedAt, doc.Metadata)
	}
}

func TestTheLanguageOfAPageThatIsWronglyDeclaredEnglish(t *testing.T) {
	t.Parallel()
	long := ""
	for _, line := range written("de") {
		long += "<p>" + line + "</p>"
	}
	if got := mustParse(t, "a.html", `<html lang="en">`+long).Language; got != "de" {
		t.Errorf("a long German page declared English has language %q", got)
	}
	if got := mustParse(t, "a.html", `<html lang="en"><p>`+written("de")[0]).Language; got != "en" {
		t.Errorf("one German sentence on a page declared English gives %q", got)
	}
	if got := mustParse(t, "en/a.html", `<html lang="en">`+long).Language; got != "en" {
		t.Errorf("a German page in an English folder has language %q", got)
	}
}
