package parse_test

import (
	"archive/zip"
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
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
		if got := parsetest.Read(t, "page.txt", content).Title; got != want {
			t.Errorf("%q has the title %q, want %q", content, got, want)
		}
	}
	for _, placeholder := range []string{"Untitled", "Microsoft Word - report.docx", "Document1", "PowerPoint Presentation", "Untitled document"} {
		if got := parsetest.Read(t, "a.html", "<title>"+placeholder+"</title><h1>Harbour rules</h1><p>Keep right.").Title; got != "Harbour rules" {
			t.Errorf("%q gives the title %q", placeholder, got)
		}
	}
	if got := parsetest.Read(t, "document.html", "<title>Document safety</title><p>Keep right.").Title; got != "Document safety" {
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
		if got := parsetest.Read(t, "a.md", "---\nkeywords: "+keywords+"\n---\nText.\n").Tags; !slices.Equal(got, want) {
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
		doc := parsetest.Read(t, "a.md", "---\nmodified: \""+text+"\"\n---\nText.\n")
		if !doc.UpdatedAt.Equal(want) || doc.Metadata["modified"] != nil {
			t.Errorf("%s is %s, metadata %v", text, doc.UpdatedAt, doc.Metadata)
		}
	}
	for _, text := range []string{"1.3.2024", "01.03.2024", "20240301", "2024年3月1日", "March 1, 2024"} {
		if got := parsetest.Read(t, "a.md", "---\ncreated: \""+text+"\"\n---\nText.\n").CreatedAt; !got.Equal(want.Truncate(24 * time.Hour)) {
			t.Errorf("%s is %s", text, got)
		}
	}
	doc := parsetest.Read(t, "a.md", "---\ncreated: in spring\nmodified: 1601-01-01\n---\nText.\n")
	if !doc.CreatedAt.IsZero() || !doc.UpdatedAt.IsZero() || doc.Metadata["created"] != "in spring" {
		t.Errorf("no dates: %s, %s, %v", doc.CreatedAt, doc.UpdatedAt, doc.Metadata)
	}
}

func TestTheLanguageOfAPageThatIsWronglyDeclaredEnglish(t *testing.T) {
	t.Parallel()
	long := ""
	for _, line := range parsetest.Sentences("de") {
		long += "<p>" + line + "</p>"
	}
	if got := parsetest.Read(t, "a.html", `<html lang="en">`+long).Language; got != "de" {
		t.Errorf("a long German page declared English has language %q", got)
	}
	if got := parsetest.Read(t, "a.html", `<html lang="en"><p>`+parsetest.Sentences("de")[0]).Language; got != "en" {
		t.Errorf("one German sentence on a page declared English gives %q", got)
	}
	if got := parsetest.Read(t, "en/a.html", `<html lang="en">`+long).Language; got != "en" {
		t.Errorf("a German page in an English folder has language %q", got)
	}
}

// wordFile makes a document of Word with properties, and the text of two paragraphs.
func wordFile(t *testing.T, properties string) string {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, content := range map[string]string{
		"[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>` +
			`<Override PartName="/docProps/core.xml" ContentType="application/vnd.openxmlformats-package.core-properties+xml"/></Types>`,
		"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>` +
			`<Relationship Id="2" Type="http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties" Target="docProps/core.xml"/></Relationships>`,
		"word/document.xml": `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Rules of the pier</w:t></w:r></w:p>` +
			`<w:p><w:r><w:t>Keep right.</w:t></w:r></w:p></w:body></w:document>`,
		"docProps/core.xml": `<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" ` +
			`xmlns:dcterms="http://purl.org/dc/terms/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` + properties + `</cp:coreProperties>`,
	} {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPropertiesOfOfficeFiles(t *testing.T) {
	t.Parallel()
	doc := parsetest.Read(t, "handbook/pier-rules.docx", wordFile(t, `<dc:title>Microsoft Word - pier-rules.docx</dc:title><dc:creator>admin</dc:creator>`+
		`<cp:keywords>tides; cranes, locks</cp:keywords><cp:category>Policy</cp:category><dc:subject>Mooring</dc:subject><cp:lastModifiedBy>B.</cp:lastModifiedBy>`+
		`<dcterms:created xsi:type="dcterms:W3CDTF">2024-03-01T12:00:00Z</dcterms:created><dcterms:modified xsi:type="dcterms:W3CDTF">2024-03-02T12:00:00Z</dcterms:modified>`))
	if doc.Title != "Rules of the pier" || doc.Author != "admin" || doc.Section != "handbook" || !slices.Equal(doc.Tags, []string{"tides", "cranes", "locks", "Policy"}) {
		t.Errorf("title %q, author %q, section %q, tags %q", doc.Title, doc.Author, doc.Section, doc.Tags)
	}
	if doc.CreatedAt.Day() != 1 || doc.UpdatedAt.Day() != 2 {
		t.Errorf("created %s, updated %s", doc.CreatedAt, doc.UpdatedAt)
	}
	if doc.Metadata["subject"] != "Mooring" || doc.Metadata["last_modified_by"] != "B." || doc.Metadata["category"] != nil || doc.Metadata["modified"] != nil {
		t.Errorf("metadata %v", doc.Metadata)
	}
	for title, want := range map[string]string{
		"pier-rules":          "Rules of the pier",
		"Pier-Rules.docx":     "Rules of the pier",
		"draft 3.doc":         "Rules of the pier",
		"Untitled":            "Rules of the pier",
		"Mooring at the pier": "Mooring at the pier",
	} {
		if got := parsetest.Read(t, "pier-rules.docx", wordFile(t, "<dc:title>"+title+"</dc:title>")).Title; got != want {
			t.Errorf("%q gives the title %q, want %q", title, got, want)
		}
	}
}
