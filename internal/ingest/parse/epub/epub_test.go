package epub_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/epub"
)

// page stands in for the reader of web pages: headings, paragraphs and list items, everything else as text.
func page(_ context.Context, _, mediaType string, content []byte) (*document.Draft, error) {
	if mediaType != "application/xhtml+xml" || bytes.Contains(content, []byte("UNREADABLE")) {
		return nil, &document.DamagedError{Format: "page", Detail: "it is broken"}
	}
	draft := &document.Draft{Pages: 3}
	var text strings.Builder
	kind, level, hidden := document.Paragraph, 0, 0
	flush := func() {
		if line := strings.ToValidUTF8(strings.Join(strings.Fields(text.String()), " "), "?"); line != "" {
			block := document.Block{Kind: kind, Level: level, Text: line, Page: 9}
			if kind == document.Heading {
				block.Anchor = strings.ToLower(strings.ReplaceAll(line, " ", "-"))
			}
			draft.Blocks = append(draft.Blocks, block)
		}
		text.Reset()
		kind, level = document.Paragraph, 0
	}
	tokens := html.NewTokenizer(bytes.NewReader(content))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			flush()
			if !errors.Is(tokens.Err(), io.EOF) {
				return nil, tokens.Err()
			}
			return draft, nil
		case html.TextToken:
			if hidden == 0 {
				text.Write(tokens.Text())
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			switch name := token.Data; {
			case name == "title" || name == "script" || name == "style":
				hidden = 0
				if token.Type == html.StartTagToken {
					hidden = 1
				}
			case name == "a" && token.Type == html.StartTagToken:
				for _, attr := range token.Attr {
					if attr.Key == "href" {
						text.WriteString("{" + attr.Val + "}")
					}
				}
			case name == "img":
				for _, attr := range token.Attr {
					if attr.Key == "alt" {
						text.WriteString(attr.Val)
					}
				}
			case len(name) == 2 && name[0] == 'h' && '1' <= name[1] && name[1] <= '6':
				flush()
				if token.Type == html.StartTagToken {
					kind, level = document.Heading, int(name[1]-'0')
				}
			case name != "a" && name != "sup" && name != "b" && name != "span":
				flush()
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

func source(content []byte, limits document.Limits) document.Source {
	limits = limits.WithDefaults()
	return document.Source{Name: "book.epub", Content: content, Limits: limits, Budget: document.NewBudget(limits), Nested: page}
}

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

// book makes a book of chapters, which are its files in the order of their names, with more files or others in their place.
func book(t testing.TB, chapters []string, more map[string]string) []byte {
	t.Helper()
	parts := map[string]string{
		"mimetype":               "application/epub+zip",
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`,
	}
	items, spine := "", ""
	for i, chapter := range chapters {
		name := "c" + string(rune('1'+i))
		parts["OEBPS/text/"+name+".xhtml"] = chapter
		items += `<item id="` + name + `" href="text/` + name + `.xhtml" media-type="application/xhtml+xml"/>`
		spine += `<itemref idref="` + name + `"/>`
	}
	parts["OEBPS/book.opf"] = `<package><metadata><dc:title>A book</dc:title></metadata><manifest>` + items +
		`<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine toc="ncx">` + spine + `</spine></package>`
	maps.Copy(parts, more)
	for name, content := range parts {
		if content == "" {
			delete(parts, name)
		}
	}
	return pack(t, parts)
}

func markdown(draft *document.Draft) string {
	return (&document.Document{Blocks: draft.Blocks}).Markdown()
}

func mustRead(t testing.TB, content []byte) *document.Draft {
	t.Helper()
	draft, err := epub.Read(t.Context(), source(content, document.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	return draft
}

func TestChaptersInOrder(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, book(t, []string{"<h1>One</h1><p>first</p>", "<h1>One</h1><p>second</p>", ""}, nil))
	if got, want := markdown(draft), "# One\n\nfirst\n\n# One\n\nsecond"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if draft.Blocks[0].Anchor != "one" || draft.Blocks[2].Anchor != "one-1" || draft.Pages != 0 || !draft.Prose {
		t.Errorf("%+v", draft)
	}
	for _, block := range draft.Blocks {
		if block.Page != 0 {
			t.Errorf("%q has a page", block.Text)
		}
	}
}

func TestReadingOrder(t *testing.T) {
	t.Parallel()
	opf := func(inside string) string { return `<package>` + inside + `</package>` }
	item := func(id, href, more string) string {
		return `<item id="` + id + `" href="` + href + `" media-type="application/xhtml+xml" ` + more + `/>`
	}
	chapters := []string{"<p>one</p>", "<p>two</p>", "<p>three</p>"}
	for name, c := range map[string]struct {
		more map[string]string
		want string
	}{
		"spine":                              {map[string]string{"OEBPS/book.opf": opf(`<manifest>` + item("a", "text/c2.xhtml", "") + item("b", "./text/../text/c1.xhtml#x", "") + `</manifest><spine><itemref idref="a"/><itemref idref="a"/><itemref idref="none"/><itemref idref="b"/></spine>`)}, "two\n\none"},
		"asides last":                        {map[string]string{"OEBPS/book.opf": opf(`<manifest>` + item("a", "text/c1.xhtml", "") + item("b", "text/c2.xhtml", "") + `</manifest><spine><itemref idref="a" linear="no"/><itemref idref="b"/></spine>`)}, "two\n\none"},
		"navigation dropped":                 {map[string]string{"OEBPS/book.opf": opf(`<manifest>` + item("a", "text/c1.xhtml", `properties="nav"`) + item("b", "text/c2.xhtml", "") + `</manifest><spine><itemref idref="a"/><itemref idref="b"/></spine>`)}, "two"},
		"fallback":                           {map[string]string{"OEBPS/book.opf": opf(`<manifest><item id="pic" href="p.svg" media-type="image/svg+xml" fallback="a"/><item id="loop" href="q.svg" media-type="image/svg+xml" fallback="loop"/>` + item("a", "text/c1.xhtml", "") + `</manifest><spine><itemref idref="loop"/><itemref idref="pic"/></spine>`)}, "one"},
		"escaped paths":                      {map[string]string{"OEBPS/book.opf": opf(`<manifest>` + item("a", "text/my%20chapter.xhtml", "") + `</manifest><spine><itemref idref="a"/></spine>`), "OEBPS/text/my chapter.xhtml": "<p>mine</p>"}, "mine"},
		"no container":                       {map[string]string{"META-INF/container.xml": ""}, "one\n\ntwo\n\nthree"},
		"a broken container":                 {map[string]string{"META-INF/container.xml": "<container><root"}, "one\n\ntwo\n\nthree"},
		"a container that leads nowhere":     {map[string]string{"META-INF/container.xml": `<container><rootfile full-path="gone.opf"/></container>`}, "one\n\ntwo\n\nthree"},
		"no package document":                {map[string]string{"OEBPS/book.opf": ""}, "one\n\ntwo\n\nthree"},
		"a package document that is cut off": {map[string]string{"OEBPS/book.opf": `<package><manifest>` + item("a", "text/c3.xhtml", "") + `</manifest><spine><itemref idref="a"/>`}, "three"},
		"no spine":                           {map[string]string{"OEBPS/book.opf": "<package/>"}, "one\n\ntwo\n\nthree"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(mustRead(t, book(t, chapters, c.more))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	draft := mustRead(t, book(t, []string{"<p>x</p>"}, map[string]string{"OEBPS/book.opf": `<package unique-identifier="pub"><metadata>` +
		`<dc:title id="t2">A subtitle</dc:title><dc:title id="t1">The
		title</dc:title><meta refines="#t1" property="title-type">main</meta>` +
		`<dc:creator id="c1">Ann Author</dc:creator><dc:creator opf:role="trl">Tom Translator</dc:creator><dc:creator id="c2">Ed Editor</dc:creator><meta refines="#c2" property="role">edt</meta><dc:creator opf:role="aut">Bo Author</dc:creator>` +
		`<dc:identifier>other</dc:identifier><dc:identifier id="pub">urn:isbn:9780000000002</dc:identifier><dc:language>de</dc:language><dc:publisher>House</dc:publisher>` +
		`<dc:subject>Tides</dc:subject><dc:subject>Mills</dc:subject><dc:description>&lt;p&gt;About &lt;b&gt;mills&lt;/b&gt;.&lt;/p&gt;&lt;p&gt;Tides &amp;amp; stones.&lt;/p&gt;</dc:description>` +
		`<dc:date opf:event="creation">2001</dc:date><dc:date opf:event="publication">2008-05-01</dc:date><meta property="dcterms:modified">2020-01-02T03:04:05Z</meta>` +
		`</metadata><manifest><item id="a" href="text/c1.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>`}))
	for name, want := range map[string]string{
		"title": "The title", "identifier": "urn:isbn:9780000000002", "language": "de", "publisher": "House", "published": "2008-05-01", "modified": "2020-01-02T03:04:05Z",
		"description": "About mills. Tides & stones.",
	} {
		if draft.Meta[name] != want {
			t.Errorf("%s is %v, want %q", name, draft.Meta[name], want)
		}
	}
	if authors, _ := draft.Meta["author"].([]any); !slices.Equal(authors, []any{"Ann Author", "Bo Author"}) {
		t.Errorf("authors are %v", draft.Meta["author"])
	}
	if subjects, _ := draft.Meta["keywords"].([]any); !slices.Equal(subjects, []any{"Tides", "Mills"}) {
		t.Errorf("subjects are %v", draft.Meta["keywords"])
	}
}

func TestTitlesOfTheContents(t *testing.T) {
	t.Parallel()
	ncx := `<ncx><docTitle><text>A book</text></docTitle><navMap><navPoint><navLabel><text>Part one</text></navLabel><content src="text/c1.xhtml#top"/>` +
		`<navPoint><navLabel><text>Second</text></navLabel><content src="text/c2.xhtml"/></navPoint></navPoint><navPoint><navLabel><text>Third</text></navLabel><content src="text/c3.xhtml"/></navPoint></navMap></ncx>`
	chapters := []string{"<p>one</p>", "<p><b>SECOND</b></p><p>two</p>", "<h2>Own</h2><p>three</p>"}
	want := "# Part one\n\none\n\n## Second\n\ntwo\n\n## Own\n\nthree"
	if got := markdown(mustRead(t, book(t, chapters, map[string]string{"OEBPS/toc.ncx": ncx}))); got != want {
		t.Errorf("NCX: got %q, want %q", got, want)
	}
	items := ""
	for _, name := range []string{"c1", "c2", "c3"} {
		items += `<item id="` + name + `" href="text/` + name + `.xhtml" media-type="application/xhtml+xml"/>`
	}
	nav := map[string]string{
		"OEBPS/toc.ncx": strings.ReplaceAll(ncx, "Part one", "not this"),
		"OEBPS/nav.xhtml": `<html><body><nav epub:type="landmarks"><ol><li><a href="text/c1.xhtml">Start</a></li></ol></nav><nav epub:type="toc"><h2>Contents</h2><ol><li><a href="text/c1.xhtml">Part <b>one</b></a>` +
			`<ol><li><a href="text/c2.xhtml">Second</a></li></ol></li><li><a href="text/c3.xhtml">Third</a></li></ol></nav></body></html>`,
		"OEBPS/book.opf": `<package><manifest>` + items + `<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="scripted nav"/><item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>` +
			`<spine toc="ncx"><itemref idref="nav"/><itemref idref="c1"/><itemref idref="c2"/><itemref idref="c3"/></spine></package>`,
	}
	if got := markdown(mustRead(t, book(t, chapters, nav))); got != want {
		t.Errorf("navigation document: got %q, want %q", got, want)
	}
}

func TestTitlesOfPlacesInAChapter(t *testing.T) {
	t.Parallel()
	ncx := `<ncx><navMap><navPoint><navLabel><text>Whole</text></navLabel><content src="text/c1.xhtml"/></navPoint><navPoint><navLabel><text>First</text></navLabel><content src="text/c1.xhtml#a"/></navPoint>` +
		`<navPoint><navLabel><text>Second &amp; last</text></navLabel><content src="text/c1.xhtml#b"/></navPoint><navPoint><navLabel><text>Later</text></navLabel><content src="text/c2.xhtml#a"/></navPoint></navMap></ncx>`
	draft := mustRead(t, book(t, []string{
		`<html><body><p>intro</p><p id="a" class="t">FIRST</p><p>one</p><p><span id="b">Second &amp; last</span></p><p id="a">two</p></body></html>`,
		`<html><body><h1>Headed</h1><p id="a">x</p></body></html>`,
	}, map[string]string{"OEBPS/toc.ncx": ncx}))
	if got, want := markdown(draft), "# Whole\n\nintro\n\n# First\n\none\n\n# Second & last\n\ntwo\n\n# Headed\n\nx"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCoversAndContentsAreDropped(t *testing.T) {
	t.Parallel()
	cover := `<html><head><title>Cover</title></head><body><p>Cover</p></body></html>`
	contents := `<html><head><title>Contents of the book</title></head><body><h3>Contents</h3><p><a href="c1.xhtml">Chapter 1</a></p><p><a href="c3.xhtml#a">Chapter 2</a></p></body></html>`
	notContents := `<body><p>As was said in <a href="c1.xhtml">chapter one</a> and in <a href="c2.xhtml">chapter two</a>, this is a chapter with words of its own.</p></body>`
	draft := mustRead(t, book(t, []string{cover, contents, notContents}, map[string]string{"OEBPS/book.opf": `<package><manifest>` +
		`<item id="c1" href="text/c1.xhtml" media-type="application/xhtml+xml"/><item id="c2" href="text/c2.xhtml" media-type="application/xhtml+xml"/><item id="c3" href="text/c3.xhtml" media-type="application/xhtml+xml"/></manifest>` +
		`<spine><itemref idref="c1"/><itemref idref="c2"/><itemref idref="c3"/></spine><guide><reference type="cover" href="text/c1.xhtml"/></guide></package>`}))
	if got, want := markdown(draft), "As was said in chapter one and in chapter two, this is a chapter with words of its own."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChaptersArePrepared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ chapter, want string }{
		"links":                 {`<p><a href="c2.xhtml">there</a> <a href="#x">here</a> <a id="x"/> <a href="https://a.example/">out</a> <A HREF='mailto:a@b.example'>mail</A></p>`, "there here {https://a.example/}out {mailto:a@b.example}mail"},
		"notes":                 {`<p>word<a epub:type="noteref" href="#n1"><sup>1</sup></a>, word<sup><a href="c9.xhtml#n2">2</a></sup>, word<a class="footnote-ref" href="#n3">[3]</a>, year <a href="#y">1984</a></p><aside epub:type="footnote" id="n1" hidden=""><p>The note.</p></aside><div role="doc-footnote" id="n3"><p>3. Numbered. <a href="#r3" role="doc-backlink">↩</a></p></div>`, "word[1], word[2], word[3], year 1984\n\n[1] The note.\n\n3. Numbered."},
		"stars":                 {`<p>word<a href="#n">*</a> and <a href="#m">*</a></p>`, "word[*] and *"},
		"pages of print":        {`<p>one<span epub:type="pagebreak" id="p12">12</span> two<span epub:type="pagebreak" id="p13"/> three</p>`, "one two three"},
		"a document type":       {`<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x "<p>no</p>">]><p>text</p>`, "text"},
		"comments and sections": {`<p>a<!-- <a href="x">no</a> -->b</p>`, "ab"},
		"signs":                 {`<p>1 < 2 and <3, a<b </p><p title="a > b">c</p>`, "1 < 2 and <3, a\n\nc"},
		"style sheets":          {"<Style>p > a { }</Style><p>text</p><script>if (a<b) c();</script>", "text"},
		"an end that is cut":    {`<p>text</p><p title="`, "text"},
		"an open script":        {`<p>text</p><script>a<a href="c2.xhtml">`, "text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := markdown(mustRead(t, book(t, []string{"<html><body>" + c.chapter}, nil))); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLocksAndDamage(t *testing.T) {
	t.Parallel()
	encryption := func(algorithm, file string) map[string]string {
		return map[string]string{"META-INF/encryption.xml": `<encryption><enc:EncryptedData><enc:EncryptionMethod Algorithm="` + algorithm + `"/><ds:KeyInfo/><enc:CipherData><enc:CipherReference URI="` + file + `"/></enc:CipherData></enc:EncryptedData></encryption>`}
	}
	one := []string{"<p>one</p>", "<p>two</p>"}
	var encrypted *document.EncryptedError
	if _, err := epub.Read(t.Context(), source(book(t, one, encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/text/c1.xhtml")), document.Limits{})); !errors.As(err, &encrypted) {
		t.Errorf("a locked chapter: %v", err)
	}
	for name, more := range map[string]map[string]string{
		"a font": encryption("http://www.idpf.org/2008/embedding", "OEBPS/text/c1.xhtml"), "a picture": encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OEBPS/x.png"),
		"nonsense": {"META-INF/encryption.xml": "<x"},
	} {
		if got := markdown(mustRead(t, book(t, one, more))); got != "one\n\ntwo" {
			t.Errorf("%s: %q", name, got)
		}
	}
	draft := mustRead(t, book(t, []string{"<p>one</p>", "UNREADABLE", "<p>three</p>"}, map[string]string{"OEBPS/text/c3.xhtml": ""}))
	if markdown(draft) != "one" || draft.Extra["damaged"] != "2 of 3 chapters are missing or broken" {
		t.Errorf("%q, %v", markdown(draft), draft.Extra)
	}
	var damaged *document.DamagedError
	for name, content := range map[string][]byte{
		"nothing": {}, "no book": pack(t, map[string]string{"a.txt": "x"}), "cut off": book(t, one, nil)[:300], "all broken": book(t, []string{"UNREADABLE"}, nil),
	} {
		if draft, err := epub.Read(t.Context(), source(content, document.Limits{})); !errors.As(err, &damaged) {
			t.Errorf("%s: %v, %v", name, draft, err)
		}
	}
	if draft := mustRead(t, book(t, []string{"<html><body><img src='a.png'/></body></html>"}, nil)); len(draft.Blocks) != 0 {
		t.Errorf("pictures alone: %v", draft.Blocks)
	}
}

func TestLimitsAndTheContextEndReading(t *testing.T) {
	t.Parallel()
	long := book(t, []string{"<p>" + strings.Repeat("word ", 1000) + "</p>", "<p>x</p>"}, nil)
	var limit *document.LimitError
	if _, err := epub.Read(t.Context(), source(long, document.Limits{MaxText: 1000})); !errors.As(err, &limit) {
		t.Errorf("text: %v", err)
	}
	if _, err := epub.Read(t.Context(), source(long, document.Limits{MaxExpanded: 2000})); !errors.As(err, &limit) {
		t.Errorf("budget: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := epub.Read(ctx, source(long, document.Limits{})); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
}
