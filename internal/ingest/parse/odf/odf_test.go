package odf_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/odf"
	"github.com/magpie-search/magpie/internal/safetext"
)

type readFunc func(context.Context, document.Source) (*document.Draft, error)

func source(content []byte, limits document.Limits) document.Source {
	limits = limits.WithDefaults()
	return document.Source{
		Name: "file", Content: content, Limits: limits, Budget: document.NewBudget(limits),
		Nested: func(context.Context, string, string, []byte) (*document.Draft, error) {
			return nil, &document.UnsupportedError{Reason: "no files in files"}
		},
	}
}

// flat makes a flat XML document. The kind is "text", "spreadsheet" or "presentation".
func flat(kind, styles, body string) []byte {
	return []byte(`<?xml version="1.0" encoding="UTF-8"?><office:document xmlns:office="o">` + styles +
		`<office:body><office:` + kind + `>` + body + `</office:` + kind + `></office:body></office:document>`)
}

// pack makes a package of parts.
func pack(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		part, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write([]byte(parts[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func mustRead(t testing.TB, read readFunc, content []byte) *document.Draft {
	t.Helper()
	draft, err := read(t.Context(), source(content, document.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

func markdown(draft *document.Draft) string {
	return (&document.Document{Blocks: draft.Blocks}).Markdown()
}

func TestPackageGivesContentPropertiesAndMargins(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, odf.ReadText, pack(t, map[string]string{
		"meta.xml": `<office:document-meta><office:meta><dc:title>Pumps</dc:title><meta:initial-creator>A</meta:initial-creator>` +
			`<dc:creator>B</dc:creator><dc:subject>Water</dc:subject><meta:keyword>one</meta:keyword><meta:keyword>two</meta:keyword>` +
			`<meta:creation-date>2024-01-02T03:04:05</meta:creation-date><dc:date>2024-02-03T04:05:06.7</dc:date><dc:language>de-AT</dc:language>` +
			`<meta:user-defined meta:name="x">y</meta:user-defined><meta:document-statistic meta:page-count="7"/></office:meta></office:document-meta>`,
		"styles.xml": `<office:document-styles><office:automatic-styles><style:style style:name="P1" style:family="paragraph"><style:text-properties text:display="none"/></style:style></office:automatic-styles>` +
			`<office:master-styles><style:master-page><style:header><text:p>Pump works</text:p><text:p text:style-name="P1">unseen</text:p></style:header>` +
			`<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer><style:header-first style:display="false"><text:p>off</text:p></style:header-first></style:master-page>` +
			`<style:master-page><style:header><text:p>Pump works</text:p></style:header></style:master-page></office:master-styles></office:document-styles>`,
		"content.xml": `<office:document-content><office:body><office:text><text:p text:style-name="P1">Text.</text:p></office:text></office:body></office:document-content>`,
	}))
	if got, want := markdown(draft), "Text.\n\nPump works"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for key, want := range map[string]string{
		"title": "Pumps", "author": "A", "last_modified_by": "B", "subject": "Water", "created": "2024-01-02T03:04:05", "modified": "2024-02-03T04:05:06.7", "language": "de-AT",
	} {
		if draft.Meta[key] != want {
			t.Errorf("%s is %q, want %q", key, draft.Meta[key], want)
		}
	}
	if keywords, _ := draft.Meta["keywords"].([]any); len(keywords) != 2 || keywords[1] != "two" {
		t.Errorf("keywords are %v", draft.Meta["keywords"])
	}
	if draft.Pages != 7 || !draft.Prose || len(draft.Extra) != 0 {
		t.Errorf("%d pages, prose %v, extra %v", draft.Pages, draft.Prose, draft.Extra)
	}
}

func TestEncryptedPackagesAreToldApart(t *testing.T) {
	t.Parallel()
	content := `<office:document-content><office:body><office:text><text:p>Text.</text:p></office:text></office:body></office:document-content>`
	entry := func(path, inside string) string {
		return `<manifest:manifest><manifest:file-entry manifest:full-path="` + path + `">` + inside + `</manifest:file-entry></manifest:manifest>`
	}
	for name, c := range map[string]struct {
		parts     map[string]string
		encrypted bool
	}{
		"content":          {map[string]string{"content.xml": "garbage", "META-INF/manifest.xml": entry("content.xml", "<manifest:encryption-data/>")}, true},
		"whole package":    {map[string]string{"encrypted-package": "garbage", "META-INF/manifest.xml": entry("encrypted-package", "")}, true},
		"a picture":        {map[string]string{"content.xml": content, "META-INF/manifest.xml": entry("Pictures/1.png", "<manifest:encryption-data/>")}, false},
		"no manifest":      {map[string]string{"content.xml": content}, false},
		"a broken listing": {map[string]string{"content.xml": content, "META-INF/manifest.xml": "<a><b>"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft, err := odf.ReadText(t.Context(), source(pack(t, c.parts), document.Limits{}))
			var encrypted *document.EncryptedError
			switch {
			case c.encrypted && !errors.As(err, &encrypted):
				t.Errorf("the error is %v", err)
			case !c.encrypted && (err != nil || markdown(draft) != "Text."):
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestDamageKeepsWhatWasReadBefore(t *testing.T) {
	t.Parallel()
	cut := func(inside string) []byte {
		return pack(t, map[string]string{"content.xml": `<office:document-content><office:body><office:text>` + inside})
	}
	for name, c := range map[string]struct{ inside, want string }{
		"between paragraphs": {`<text:p>One.</text:p><text:p>Two.</text:p>`, "One.\n\nTwo."},
		"in a paragraph":     {`<text:p>One.</text:p><text:p>Tw`, "One.\n\nTw"},
		"in a list":          {`<text:list><text:list-item><text:p>One.</text:p></text:list-item><text:list-item><text:p>Two`, "- One.\n- Two"},
		"in a table": {`<table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell><text:p>B</text:p></table:table-cell></table:table-row>` +
			`<table:table-row><table:table-cell><text:p>C`, "| A | B |\n| --- | --- |\n| C |  |"},
		"in a note":     {`<text:p>One<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Side`, "One[1]\n\n- [1] Side"},
		"in a text box": {`<text:p>One <draw:frame><draw:text-box><text:p>Boxed`, "One\n\nBoxed"},
		"no entity":     {`<text:p>One &nothing; and &#xZZ; done.</text:p></x>`, "One &nothing; and &#xZZ; done."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			draft := mustRead(t, odf.ReadText, cut(c.inside))
			if got := markdown(draft); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if text, _ := draft.Extra["damaged"].(string); !strings.Contains(text, "content.xml") {
				t.Errorf("damaged is %q", text)
			}
		})
	}
	var damaged *document.DamagedError
	for name, content := range map[string][]byte{
		"nothing at all": cut(""), "no content": pack(t, map[string]string{"mimetype": "x"}), "no package": []byte("PK\x03\x04 cut"),
		"no XML": pack(t, map[string]string{"content.xml": "plain text"}), "empty": {}, "flat": []byte("<office:document><office:body>"),
	} {
		if draft, err := odf.ReadText(t.Context(), source(content, document.Limits{})); !errors.As(err, &damaged) {
			t.Errorf("%s: %v, %v", name, draft, err)
		}
	}
}

func TestDamagedStylesAndPropertiesCostNoText(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, odf.ReadText, pack(t, map[string]string{
		"meta.xml": "<office:document-meta><office:meta><dc:title>T</dc:title>", "styles.xml": "<<<",
		"content.xml": `<office:document-content><office:body><office:text><text:p>Text.</text:p></office:text></office:body></office:document-content>`,
	}))
	if markdown(draft) != "Text." || draft.Meta["title"] != "T" {
		t.Errorf("%q, %v", markdown(draft), draft.Meta)
	}
}

func TestTemplateOfStylesAloneHasNoText(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, odf.ReadText, pack(t, map[string]string{
		"styles.xml":            `<office:document-styles/>`,
		"META-INF/manifest.xml": `<manifest:manifest><manifest:file-entry manifest:full-path="styles.xml"/></manifest:manifest>`,
	}))
	if len(draft.Blocks) != 0 {
		t.Errorf("%v", draft.Blocks)
	}
}

func TestContentDecidesWhatKindOfDocumentItIs(t *testing.T) {
	t.Parallel()
	content := flat("spreadsheet", "", `<table:table table:name="S"><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>`)
	if draft := mustRead(t, odf.ReadText, content); !strings.HasPrefix(markdown(draft), "## S\n\nx") || draft.Pages != 1 {
		t.Errorf("%q", markdown(draft))
	}
}

func TestLimitsAndTheContextEndReading(t *testing.T) {
	t.Parallel()
	var limit *document.LimitError
	long := flat("text", "", strings.Repeat("<text:p>some text</text:p>", 5000))
	if _, err := odf.ReadText(t.Context(), source(long, document.Limits{MaxText: 1000})); !errors.As(err, &limit) {
		t.Errorf("text: %v", err)
	}
	sheets := flat("spreadsheet", "", strings.Repeat(`<table:table table:name="S"/>`, 10))
	if _, err := odf.ReadSpreadsheet(t.Context(), source(sheets, document.Limits{MaxPages: 9})); !errors.As(err, &limit) {
		t.Errorf("sheets: %v", err)
	}
	slides := flat("presentation", "", strings.Repeat(`<draw:page/>`, 10))
	if _, err := odf.ReadPresentation(t.Context(), source(slides, document.Limits{MaxPages: 9})); !errors.As(err, &limit) {
		t.Errorf("slides: %v", err)
	}
	bomb := pack(t, map[string]string{"content.xml": "<a>" + strings.Repeat(" ", 20<<20) + "</a>"})
	if _, err := odf.ReadText(t.Context(), source(bomb, document.Limits{})); !errors.As(err, &limit) {
		t.Errorf("bomb: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := odf.ReadText(ctx, source(long, document.Limits{})); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
}

func TestDeepNestingKeepsTheText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ open, shut string }{
		"lists":       {"<text:list><text:list-item>", "</text:list-item></text:list>"},
		"tables":      {"<table:table><table:table-row><table:table-cell>", "</table:table-cell></table:table-row></table:table>"},
		"text boxes":  {"<text:p><draw:frame><draw:text-box>", "</draw:text-box></draw:frame></text:p>"},
		"notes":       {"<text:p>n<text:note><text:note-body>", "</text:note-body></text:note></text:p>"},
		"comments":    {"<text:p><office:annotation>", "</office:annotation></text:p>"},
		"sections":    {"<text:section>", "</text:section>"},
		"unknown":     {"<x:y>", "</x:y>"},
		"spans":       {"<text:p><text:span>", "</text:span></text:p>"},
		"row groups":  {"<table:table><table:table-row-group><table:table-row><table:table-cell>", "</table:table-cell></table:table-row></table:table-row-group></table:table>"},
		"ruby":        {"<text:p><text:ruby><text:ruby-base>", "</text:ruby-base></text:ruby></text:p>"},
		"groups":      {"<draw:g>", "</draw:g>"},
		"lists, text": {"<text:list><text:list-item><text:p>x</text:p>", "</text:list-item></text:list>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			depth := 9900 / strings.Count(c.open, "<")
			content := flat("text", "", strings.Repeat(c.open, depth)+"<text:p>innermost</text:p>"+strings.Repeat(c.shut, depth))
			draft := mustRead(t, odf.ReadText, content)
			if got := markdown(draft); strings.Count(got, "innermost") != 1 || len(got) > 1<<20 {
				t.Errorf("%d bytes, %q", len(got), safetext.TruncateBytes(got, 300))
			}
		})
	}
}
