package parse_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/archive"
)

const (
	hostileTime = time.Minute
	// hostileHeap is how much the heap may grow while one hostile file is read, what waits for collection included.
	hostileHeap = 1 << 30
	secret      = "Quetzalcoatl" // stands in files whose errors must not quote them
)

// hostile is a file made to do harm. What makes it, makes it when it is its turn.
type hostile struct {
	title, name string
	content     func() []byte
	limits      document.Limits
}

// loose are limits that a patient attacker gets: noise beside what compresses well keeps the ratio low.
func loose() document.Limits { return document.Limits{MaxBytes: 100 << 20, MaxRatio: 1 << 40} }

// TestHostileFiles reads one file after the other alone, because it measures the heap of the process.
func TestHostileFiles(t *testing.T) { // measures the heap
	parser := newParser(t)
	for _, file := range slices.Concat(hostileArchives(), hostileOffice(), hostilePDF(), hostileText()) {
		t.Run(file.title, func(t *testing.T) { survives(t, parser, file) })
	}
}

// survives reads a hostile file and looks at what that has cost.
func survives(t *testing.T, parser *parse.Parser, file hostile) {
	t.Helper()
	content := file.content()
	ctx, cancel := context.WithTimeout(t.Context(), hostileTime)
	defer cancel()
	growth := watchHeap()
	begin := time.Now()
	_, err := parser.Parse(ctx, parse.Input{Name: file.name, Content: content, Limits: file.limits})
	took, grown := time.Since(begin), growth()
	checkRefusal(t, file.title, err)
	if took > hostileTime+5*time.Second || grown > hostileHeap {
		t.Errorf("took %v and %d MiB", took, grown>>20)
	}
	t.Logf("%6.2f s %5d MiB for %d KiB: %.120v", took.Seconds(), grown>>20, len(content)>>10, err)
}

// checkRefusal looks at the error of a hostile file, nil among them.
func checkRefusal(t *testing.T, title string, err error) {
	t.Helper()
	if fault, ok := errors.AsType[*parse.PanicError](err); ok {
		t.Errorf("%s: %v\n%s", title, fault.Value, fault.Stack)
	}
	if err != nil && (len(err.Error()) > 500 || strings.Contains(err.Error(), secret)) {
		t.Errorf("%s: the error quotes the file: %.600s", title, err)
	}
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// watchHeap watches the heap until the function it returns is called, which says how much larger it was at its largest.
func watchHeap() (growth func() uint64) {
	runtime.GC()
	base := heapBytes()
	done, largest := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		most := base
		for {
			select {
			case <-done:
				largest <- max(most, heapBytes())
				return
			case <-tick.C:
				most = max(most, heapBytes())
			}
		}
	}()
	return func() uint64 { close(done); return <-largest - base }
}

func again(text string, times int) func() []byte {
	return func() []byte { return []byte(strings.Repeat(text, times)) }
}

// packed is a zip archive of members, each a name and its content.
func packed(method uint16, members ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i+1 < len(members); i += 2 {
		part, err := w.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err == nil {
			_, err = io.WriteString(part, members[i+1])
		}
		if err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func gzipped(content []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// entries is an archive whose directory lists the same member n times, whatever it says their number is.
func entries(n, size int) []byte {
	one := packed(zip.Deflate, "12345678.md", strings.Repeat("a\n\n", size/3))
	directory, end := bytes.LastIndex(one, []byte("PK\x01\x02")), bytes.LastIndex(one, []byte("PK\x05\x06"))
	out := bytes.Clone(one[:directory])
	for i := range n {
		at := len(out)
		out = append(out, one[directory:end]...)
		copy(out[at+46:], fmt.Sprintf("%08d", i))
	}
	last := bytes.Clone(one[end:])
	binary.LittleEndian.PutUint16(last[10:], uint16(n&0xFFFF))
	binary.LittleEndian.PutUint32(last[12:], uint32(len(out)-directory))
	return append(out, last...)
}

// holes is a tar archive of sparse files without any data.
func holes(n, size int) []byte {
	var b bytes.Buffer
	record := func(key, value string) string { // which begins with its own length
		rest := " " + key + "=" + value + "\n"
		length := len(rest) + 1
		for length != len(rest)+len(fmt.Sprint(length)) {
			length++
		}
		return fmt.Sprint(length) + rest
	}
	block := func(name string, kind byte, content string) {
		h := make([]byte, 512)
		copy(h, name)
		copy(h[100:], "0000644\x000000000\x000000000\x00")
		copy(h[124:], fmt.Sprintf("%011o\x00%011o\x00        ", len(content), 0))
		h[156] = kind
		copy(h[257:], "ustar\x0000")
		sum := 0
		for _, c := range h {
			sum += int(c)
		}
		copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
		b.Write(h)
		b.WriteString(content + strings.Repeat("\x00", (512-len(content)%512)%512))
	}
	for i := range n {
		name := fmt.Sprintf("%d.txt", i)
		block("pax", tar.TypeXHeader, record("GNU.sparse.major", "1")+record("GNU.sparse.minor", "0")+record("GNU.sparse.name", name)+record("GNU.sparse.realsize", fmt.Sprint(size)))
		block(name, tar.TypeReg, fmt.Sprintf("1\n%d\n0\n%s", size, strings.Repeat("\x00", 507-len(fmt.Sprint(size)))))
	}
	return append(b.Bytes(), make([]byte, 1024)...)
}

func members(n int, extension, content string) func() []byte {
	return func() []byte {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%d.%s", i, extension), content)
		}
		return packed(zip.Deflate, list...)
	}
}

func hostileArchives() []hostile {
	nested := func() []byte {
		content := packed(zip.Deflate, "a.txt", "innermost")
		for range 20 {
			content = packed(zip.Deflate, "inner.zip", string(content), "note.txt", "a note")
		}
		return content
	}
	return []hostile{
		{"zip of 300 MiB of zeros", "a.zip", func() []byte { return packed(zip.Deflate, "a.txt", string(make([]byte, 300<<20))) }, document.Limits{MaxBytes: 100 << 20}},
		{"zip 20 deep", "a.zip", nested, document.Limits{}},
		{"zip of one member 20,000 times", "a.zip", func() []byte { return entries(20_000, 1<<20) }, loose()},
		{"zip with a million entries", "a.zip", func() []byte { return entries(1_000_000, 100) }, loose()},
		{"docx with a million entries", "a.docx", func() []byte { return entries(1_000_000, 100) }, loose()},
		{"zip of small paragraphs", "a.zip", members(300, "txt", strings.Repeat("a b c d e f\n\n", 80_000)), loose()},
		{"zip of names", "a.zip", func() []byte {
			return packed(zip.Store, "../../etc/"+secret+".bin", "\x00", "a\x00"+secret+".bin", "\x00", "", "x", "..", "x", strings.Repeat("../", 9000)+"a.bin", "\x00")
		}, document.Limits{}},
		{"tar of holes", "a.tar", func() []byte { return holes(300, 99<<20) }, loose()},
		{"tar with a header of 1 GB", "a.tar", func() []byte {
			b := holes(1, 1)
			copy(b[124:], "07777777777\x00")
			return b
		}, document.Limits{}},
		{"gzip bomb", "a.gz", func() []byte { return gzipped(make([]byte, 300<<20)) }, document.Limits{}},
		{"gzip of empty members", "a.txt.gz", func() []byte { return bytes.Repeat(gzipped(nil), 1_000_000) }, loose()},
	}
}

// office is an Office file: its main part, and more parts.
func office(main, content string, more ...string) []byte {
	return packed(zip.Deflate, append([]string{
		"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"_rels/.rels", related("officeDocument", main), main, content,
	}, more...)...)
}

// related is a part of relationships: kinds and targets.
func related(list ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(list); i += 2 {
		mode := ""
		if strings.Contains(list[i+1], "://") {
			mode = ` TargetMode="External"`
		}
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"%s/>`, i/2+1, list[i], list[i+1], mode)
	}
	return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + b.String() + `</Relationships>`
}

func hostileOffice() []hostile {
	word := func(title, begin string, times int, end string, more ...string) hostile {
		return hostile{"docx of " + title, "a.docx", func() []byte {
			return office("word/document.xml", "<w:document><w:body>"+strings.Repeat(begin, times)+end+"</w:body></w:document>", more...)
		}, loose()}
	}
	sheet := func(title, begin string, times int, end string, more ...string) hostile {
		return hostile{"xlsx of " + title, "a.xlsx", func() []byte {
			return office("xl/workbook.xml", `<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>`, append([]string{
				"xl/_rels/workbook.xml.rels", related("worksheet", "sheet1.xml", "sharedStrings", "sharedStrings.xml"),
				"xl/sheet1.xml", "<worksheet><sheetData>" + strings.Repeat(begin, times) + "</sheetData>" + end + "</worksheet>",
			}, more...)...)
		}, loose()}
	}
	flat := func(title, kind, begin string, times int, end string) hostile {
		return hostile{kind + " of " + title, "a." + kind, func() []byte {
			body := map[string]string{"fods": "spreadsheet", "fodt": "text"}[kind]
			return []byte(`<office:document office:mimetype="application/vnd.oasis.opendocument.` + body + `"><office:body><office:` + body + `>` + strings.Repeat(begin, times) + end +
				`</office:` + body + `></office:body></office:document>`)
		}, loose()}
	}
	const cell = `<w:tc><w:tcPr><w:gridSpan w:val="2147483648"/><w:vMerge/></w:tcPr><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>`
	return []hostile{
		word("nested tables", "<w:tbl><w:tr><w:tc>", 1_000_000, ""),
		word("nested boxes", "<w:p><w:r><w:txbxContent>", 3000, "<w:p><w:r><w:t>x</w:t></w:r></w:p>"+strings.Repeat("</w:txbxContent></w:r></w:p>", 3000)),
		word("wide cells", "<w:tbl><w:tr>"+strings.Repeat(cell, 1000)+"</w:tr></w:tbl>", 100, ""),
		word("empty runs", "<w:r/>", 5_000_000, ""),
		word("small paragraphs", "<w:p><w:r><w:t>a</w:t></w:r></w:p>", 2_000_000, ""),
		word("itself", `<w:altChunk r:id="r1"/><w:p><w:r><c:chart r:id="r1"/></w:r></w:p>`, 1000, "", "word/_rels/document.xml.rels", related("aFChunk", "document.xml")),
		sheet("corners", `<row r="1"><c r="A1"><v>1</v></c></row><row r="4294967296"><c r="ZZZZZZZZ1048576"><v>1e308</v></c><c r="XFD1048576" t="s"><v>-1</v></c></row>`, 1, `<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>`),
		sheet("empty strings", `<row><c t="s"><v>4294967296</v></c></row>`, 1, "", "xl/sharedStrings.xml", "<sst>"+strings.Repeat("<si/>", 3_000_000)+"</sst>"),
		flat("repeated cells", "fods", `<table:table><table:table-row table:number-rows-repeated="2147483647"><table:table-cell table:number-columns-repeated="2147483647"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`, 100, ""),
		flat("nested tables", "fodt", "<table:table><table:table-row><table:table-cell>", 1_000_000, ""),
		{"epub of one chapter 100,000 times", "a.epub", func() []byte {
			return packed(zip.Deflate, "mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>`,
				"o.opf", `<package version="3.0"><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest><spine>`+strings.Repeat(`<itemref idref="c"/>`, 100_000)+`</spine></package>`,
				"c.xhtml", "<p>"+strings.Repeat("text ", 1000))
		}, loose()},
	}
}

// document of PDF objects, from the first.
func objects(list ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var table strings.Builder
	for i, object := range list {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	begin := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(list)+1, table.String(), len(list)+1, begin)
	return b.Bytes()
}

func hostilePDF() []hostile {
	const catalog, font = "<</Type/Catalog/Pages 2 0 R>>", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
	page := func(content, form, more string) func() []byte {
		return func() []byte {
			return objects(catalog, "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"+more+">>",
				fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", len(content), content), font,
				fmt.Sprintf("<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 6 0 R>>>>/Length %d>>stream\n%s\nendstream", len(form), form))
		}
	}
	pdf := func(title string, content func() []byte) hostile {
		return hostile{"pdf with " + title, "a.pdf", content, document.Limits{}}
	}
	return []hostile{
		pdf("a cycle of pages", func() []byte {
			return objects(catalog, "<</Type/Pages/Kids[2 0 R 3 0 R]/Count 2147483647>>", "<</Type/Pages/Kids[2 0 R 3 0 R]/Count 9/Parent 2 0 R>>")
		}),
		pdf("100,000 pages", func() []byte {
			return objects(catalog, "<</Type/Pages/Count 100000/Kids["+strings.Repeat("3 0 R ", 100_000)+"]>>", "<</Type/Page/Parent 2 0 R>>")
		}),
		pdf("a form in itself", page("/X Do", "/X Do", "/MediaBox[0 0 100000 100000]")),
		pdf("nested arrays", page(strings.Repeat("[", 1_000_000), "", "/Q "+strings.Repeat("[", 1_000_000))),
		pdf("scripts", page("BT /F 12 Tf (x) Tj ET", "", "/MediaBox[0 0 99 99]/AA<</O<</S/JavaScript/JS(for\\(;;\\);)>>>>")),
	}
}

func hostileText() []hostile {
	text := func(name string, content func() []byte) hostile {
		return hostile{name, name[strings.LastIndexByte(name, ' ')+1:], content, loose()}
	}
	wrap := func(begin, unit string, times int, end string) func() []byte {
		return func() []byte { return []byte(begin + strings.Repeat(unit, times) + end) }
	}
	laughs := func() []byte {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, `<!ENTITY e%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&e%d;", i), 10))
		}
		return []byte(`<!DOCTYPE article [<!ENTITY e0 "` + secret + `">` + b.String() + "]><article><para>&e30;</para></article>")
	}
	return []hostile{
		text("groups in a.rtf", wrap(`{\rtf1 `, "{", 1_000_000, "x")),
		text("lengths in a.rtf", wrap(`{\rtf1 a`, `\bin2147483647 \uc2147483647 \u-1 ?`, 100_000, "x}")),
		text("entities in a.xml", laughs),
		text("depth in a.xml", again("<a>", 1_000_000)),
		text("depth in a.html", again("<div><b>", 200_000)),
		text("tables in a.html", again("<table><tr><td rowspan=65534 colspan=1000>x", 10_000)),
		text("paragraphs in a.html", again("<p>a", 4_000_000)),
		text("brackets in a.md", again("[", 500_000)),
		text("stars in a.md", again("*a_ ", 100_000)),
		text("quotes in a.md", again(">", 50_000)),
		text("depth in a.json", again("[", 10_000_000)),
		text("a number in a.json", wrap("[", "9", 30<<20, "]")),
		text("cells in a.csv", again("a,", 5_000_000)),
		text("a quote in a.csv", wrap("a,b\n\"", "x,\n", 5_000_000, "")),
		text("paragraphs in a.txt", again("a\n\n", 10_000_000)),
		text("substitutions in a.rst", func() []byte {
			var b strings.Builder
			for i := range 40 {
				fmt.Fprintf(&b, ".. |a%d| replace:: |a%d| |a%d|\n", i, i+1, i+1)
			}
			return []byte(b.String() + "\n|a0|\n")
		}),
		text("attributes in a.adoc", func() []byte {
			var b strings.Builder
			for i := range 40 {
				fmt.Fprintf(&b, ":a%d: {a%d}{a%d}\n", i+1, i, i)
			}
			return []byte("= T\n:a0: text\n" + b.String() + "\n{a40}\n")
		}),
		text("braces in a.go", again("{", 1_000_000)),
		text("parts in a.eml", func() []byte {
			var b strings.Builder
			for i := range 5000 {
				fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", i, i)
			}
			bomb := base64.StdEncoding.EncodeToString(gzipped(make([]byte, 50<<20)))
			return []byte("From: a@b\nMIME-Version: 1.0\n" + b.String() + "Content-Transfer-Encoding: base64\nContent-Type: application/gzip; name=a.gz\n\n" + bomb)
		}),
	}
}

// TestHostileBytes reads bytes of every kind under every extension, and the files of testdata/formats cut off, damaged
// and misnamed.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	random := rand.New(rand.NewPCG(1, 2))
	try := func(title, name string, content []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), hostileTime)
		defer cancel()
		begin := time.Now()
		_, err := parser.Parse(ctx, parse.Input{Name: name, Content: content})
		checkRefusal(t, title+" as "+name, err)
		if took := time.Since(begin); took > hostileTime+5*time.Second {
			t.Errorf("%s as %s: %v", title, name, took)
		}
	}
	extensions := strings.Fields("md mdx html txt rst adoc csv tsv ipynb json jsonl xml rss svg yaml toml ini go py js c sh sql css tex tmpl unknown " +
		"pdf rtf epub zip tar gz bz2 eml mbox msg doc docx ppt pptx xls xlsx odt ods odp fodt fods fodp")
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(random.UintN(256))
	}
	for title, content := range map[string][]byte{
		"zeros": make([]byte, 1<<20), "ones": bytes.Repeat([]byte{0xFF}, 1<<20), "noise": noise, "parentheses": bytes.Repeat([]byte("("), 1<<20),
		"lines": append(bytes.Repeat([]byte("\n"), 1<<20), 'x'), "blanks": append(bytes.Repeat([]byte(" "), 1<<20), 'x'),
	} {
		for _, extension := range extensions {
			try(title, "a."+extension, content)
		}
	}
	files, err := filepath.Glob(filepath.Join(formatsFolder, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.Contains(path, "manifest") || strings.HasSuffix(path, ".golden") || isPicture(path) {
			continue // tesseract takes half a second for a picture
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{filepath.Base(path), "a." + extensions[random.IntN(len(extensions))]} {
			try(path+" cut off", name, content[:random.IntN(len(content))])
			for range 2 - i {
				damaged := bytes.Clone(content)
				for range 50 {
					damaged[random.IntN(len(damaged))] = byte(random.UintN(256))
				}
				try(path+" damaged", name, damaged)
			}
		}
	}
}

func isPicture(path string) bool {
	return slices.Contains([]string{".png", ".jpg", ".tiff", ".gif", ".bmp", ".webp"}, filepath.Ext(path))
}

// TestNothingIsFetched reads files that name an address wherever a format has a place for one.
func TestNothingIsFetched(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			_ = connection.Close()
		}
	}()
	at := "http://" + listener.Addr().String() + "/x"
	parser := newParser(t)
	external := `<!DOCTYPE article SYSTEM "` + at + `.dtd" [<!ENTITY e SYSTEM "` + at + `"><!ENTITY % p SYSTEM "` + at + `">%p;]>`
	for name, content := range map[string]string{
		"a.xml": `<?xml-stylesheet href="` + at + `.xsl" type="text/xsl"?>` + external + `<article xmlns:xi="http://www.w3.org/2001/XInclude" xsi:schemaLocation="a ` + at + `"><para>&e; text</para><xi:include href="` + at + `"/></article>`,
		"a.svg": external + `<svg><image href="` + at + `"/><use href="` + at + `#a"/><text>text</text></svg>`,
		"a.html": `<html><head><base href="` + at + `"><link rel=stylesheet href="` + at + `"><meta http-equiv=refresh content="0;url=` + at + `"><script src="` + at + `"></script></head><body><img src="` + at +
			`"><iframe src="` + at + `"></iframe><iframe srcdoc="<img src=` + at + `>"></iframe><object data="` + at + `"></object><p>text</p></body></html>`,
		"a.md":   "![x](" + at + ")\n\n<img src=\"" + at + "\">\n\n{% include " + at + " %}\n\ntext\n",
		"a.rst":  ".. include:: " + at + "\n\n.. image:: " + at + "\n\n.. csv-table::\n   :url: " + at + "\n\n.. raw:: html\n   :url: " + at + "\n\ntext\n",
		"a.adoc": "= T\n\ninclude::" + at + "[]\n\nimage::" + at + "[]\n\ntext\n",
		"a.json": `{"openapi":"3.0.0","info":{"title":"x"},"paths":{"/a":{"$ref":"` + at + `"}},"components":{"schemas":{"A":{"$ref":"` + at + `"}}}}`,
		"a.rss":  external + `<rss><channel><title>text</title><item><title>a</title><link>` + at + `</link><enclosure url="` + at + `"/><description>&lt;img src="` + at + `"&gt; text</description></item></channel></rss>`,
		"a.rtf":  `{\rtf1{\*\template ` + at + `}{\field{\*\fldinst INCLUDEPICTURE "` + at + `"}{\fldrslt text}}{\field{\*\fldinst INCLUDETEXT "` + at + `"}{\fldrslt text}}}`,
		"a.eml":  "From: a@b\nMIME-Version: 1.0\nMessage-ID: <x>\nContent-Type: message/external-body; access-type=URL; URL=\"" + at + "\"\n\nContent-Type: text/html\n\n<img src=\"" + at + "\">text",
		"a.pdf":  string(objects("<</Type/Catalog/Pages 2 0 R/OpenAction<</S/URI/URI("+at+")>>>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/AA<</O<</S/SubmitForm/F("+at+")>>>>>>", "<</Length 0/F<</FS/URL/F("+at+")>>>>stream\n\nendstream")),
		"a.docx": string(office("word/document.xml", external+`<w:document><w:body><w:p><w:r><w:t>&e; text</w:t></w:r><w:r><a:blip r:link="r2"/></w:r></w:p><w:altChunk r:id="r3"/><w:subDoc r:id="r3"/></w:body></w:document>`,
			"word/_rels/document.xml.rels", related("settings", "settings.xml", "image", at, "aFChunk", at, "hyperlink", at, "styles", at, "numbering", at), "word/settings.xml", `<w:settings><w:attachedTemplate r:id="r1"/></w:settings>`,
			"word/_rels/settings.xml.rels", related("attachedTemplate", at))),
		"a.xlsx": string(office("xl/workbook.xml", external+`<workbook><sheets><sheet name="S" sheetId="1" r:id="r1"/><sheet name="T" sheetId="2" r:id="r2"/></sheets><externalReferences><externalReference r:id="r3"/></externalReferences></workbook>`,
			"xl/_rels/workbook.xml.rels", related("worksheet", "sheet1.xml", "worksheet", at, "externalLink", at, "sharedStrings", at), "xl/sheet1.xml", `<worksheet><sheetData><row><c t="str"><f>WEBSERVICE("`+at+`")</f><v>text</v></c></row></sheetData></worksheet>`)),
		"a.pptx": string(office("ppt/presentation.xml", external+`<p:presentation><p:sldIdLst><p:sldId r:id="r1"/><p:sldId r:id="r2"/></p:sldIdLst></p:presentation>`, "ppt/_rels/presentation.xml.rels", related("slide", "slide1.xml", "slide", at),
			"ppt/slide1.xml", `<p:sld><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>text</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`, "ppt/_rels/slide1.xml.rels", related("notesSlide", at, "slideLayout", at))),
		"a.fodt": external + `<office:document office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text><text:section><text:section-source xlink:href="` + at + `"/><text:p>text &e;<draw:frame><draw:image xlink:href="` + at +
			`"/><draw:object xlink:href="` + at + `"/></draw:frame></text:p></text:section></office:text></office:body></office:document>`,
		"a.epub": string(packed(zip.Deflate, "mimetype", "application/epub+zip", "META-INF/container.xml", `<container><rootfiles><rootfile full-path="o.opf"/></rootfiles></container>`,
			"o.opf", external+`<package><manifest><item id="c" href="c.xhtml" media-type="application/xhtml+xml"/><item id="d" href="`+at+`" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="c"/><itemref idref="d"/></spine></package>`,
			"c.xhtml", `<html><body><img src="`+at+`"/><p>text</p></body></html>`)),
	} {
		_, err := parser.Parse(t.Context(), parse.Input{Name: name, Content: []byte(content), URL: at})
		t.Logf("%s: %v", name, err)
		checkRefusal(t, name, err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if n := connections.Load(); n > 0 {
		t.Errorf("%d connections", n)
	}
}

// TestHostileMembers walks archives as a source does that takes each member for a document.
func TestHostileMembers(t *testing.T) {
	t.Parallel()
	parser := newParser(t)
	for _, file := range hostileArchives() {
		if strings.HasPrefix(file.title, "docx") {
			continue
		}
		total := 0
		err := parser.Entries(t.Context(), parse.Input{Name: file.name, Content: file.content(), Limits: file.limits}, func(m archive.Entry) error {
			total += len(m.Content)
			if m.Path == "" || len(m.Path) > 4096 || strings.HasPrefix(m.Path, "/") || strings.Contains("/"+m.Path+"/", "/../") || strings.ContainsRune(m.Path, 0) {
				t.Errorf("%s: %.100q", file.title, m.Path)
			}
			return nil
		})
		if total > 700<<20 {
			t.Errorf("%s: %d MiB came out", file.title, total>>20)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", file.title, err)
		}
	}
}
