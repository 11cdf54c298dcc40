package xmlscan_test

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// events writes the tokens of a document in one line each, neighbouring texts joined.
func events(source string) (string, error) {
	s := xmlscan.New(strings.NewReader(source))
	var b strings.Builder
	text := ""
	for {
		kind, err := s.Next()
		if kind != xmlscan.Text && text != "" {
			b.WriteString("text " + text + "\n")
			text = ""
		}
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		switch kind {
		case xmlscan.Start:
			b.WriteString("start " + s.Name())
			for _, attr := range s.Attrs() {
				b.WriteString(" " + attr.Name + "=" + attr.Value)
			}
			b.WriteByte('\n')
		case xmlscan.End:
			b.WriteString("end " + s.Name() + "\n")
		case xmlscan.Text:
			text += s.Text()
		}
	}
}

// oracle is events by encoding/xml.
func oracle(source string) (string, error) {
	decoder := xml.NewDecoder(strings.NewReader(source))
	var b strings.Builder
	text := ""
	depth := 0
	for {
		token, err := decoder.RawToken()
		if _, isText := token.(xml.CharData); !isText && text != "" {
			if _, isComment := token.(xml.Comment); !isComment {
				if _, isInstruction := token.(xml.ProcInst); !isInstruction {
					b.WriteString("text " + text + "\n")
					text = ""
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			b.WriteString("start " + token.Name.Local)
			for _, attr := range token.Attr {
				b.WriteString(" " + attr.Name.Local + "=" + attr.Value)
			}
			b.WriteByte('\n')
		case xml.EndElement:
			depth--
			b.WriteString("end " + token.Name.Local + "\n")
		case xml.CharData:
			if depth > 0 {
				text += string(token)
			}
		}
	}
}

func TestTokensAreThoseOfTheStandardLibrary(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		`<a/>`,
		`<?xml version="1.0" encoding="UTF-8"?><!-- c > - > --><w:p xmlns:w="x"><w:t xml:space='preserve'> a &amp; b &#x41;&#66; </w:t><w:br/></w:p>`,
		"<a>one\r\ntwo\rthree</a>",
		`<a b="x > y" c='"'>t<![CDATA[ <raw> ]] & ]]>u</a>`,
		`<!DOCTYPE a [<!ENTITY x "y"> <!-- > -->]><a>t</a>`,
		`<a ><b
		 c = "d"/></a >`,
		"<a>" + strings.Repeat("long text ", 20_000) + "<b c='" + strings.Repeat("v", 100_000) + "'/></a>",
		`<ä ö="ü">ß</ä>`,
	} {
		want, err := oracle(source)
		if err != nil {
			t.Fatalf("%.60q: the oracle says %v", source, err)
		}
		if got, err := events(source); got != want || err != nil {
			t.Errorf("%.60q: got %.300q, %v; want %.300q", source, got, err, want)
		}
	}
}

// pieces is a reader that gives a few bytes at a time.
func pieces(source string, size int) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		if source == "" {
			return 0, io.EOF
		}
		n := copy(p[:min(len(p), size)], source)
		source = source[n:]
		return n, nil
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestTokensDoNotDependOnHowTheInputIsRead(t *testing.T) {
	t.Parallel()
	source := `<?xml version="1.0"?><!-- c -- ><![CDATA[ --><x:a xmlns:x="u" y:b = "1 > 0 &amp; 2" b='2'><![CDATA[]]]]><b/>tä&#65;` + "\r\n" +
		strings.Repeat("0123456789", 14_000) + `<c d="` + strings.Repeat(">", 140_000) + `"/></x:a>`
	want, err := events(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 7, 4096} {
		s := xmlscan.New(pieces(source, size))
		var elements, length int
		for {
			kind, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%d: %v", size, err)
			}
			switch kind {
			case xmlscan.Start:
				elements++
				length += len(s.Attr("d"))
			case xmlscan.Text:
				length += len(s.Bytes())
			case xmlscan.End:
			}
		}
		if elements != 3 || length != len("]]tä")+len("A\n")+280_000 || s.Offset() != int64(len(source)) {
			t.Errorf("%d bytes at a time: %d elements, %d characters up to byte %d of %d\n%.200q", size, elements, length, s.Offset(), len(source), want)
		}
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	s := xmlscan.New(strings.NewReader(`<a x:r="1" r="2&lt;" y:r="3" long="more than sixteen bytes"><b/>text</a>`))
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	if value, found := s.AttrBytes("r"); string(value) != "2<" || !found {
		t.Errorf("%q", value)
	}
	if value, found := s.AttrBytes("long"); string(value) != "more than sixteen bytes" || !found {
		t.Errorf("%q", value)
	}
	if value, found := s.AttrBytes("x"); value != nil || found || s.Attr("r") != "2<" {
		t.Errorf("%q", value)
	}
	want := []xmlscan.Attr{{Prefix: "x", Name: "r", Value: "1"}, {Name: "r", Value: "2<"}, {Prefix: "y", Name: "r", Value: "3"}, {Name: "long", Value: "more than sixteen bytes"}}
	if got := s.Attrs(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if _, err := s.Next(); err != nil || len(s.Attrs()) != 0 || s.Attr("r") != "" {
		t.Errorf("%q, %v", s.Attrs(), err)
	}
}

func TestDamageIsReported(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"", " ", "text", "<a>", "<a></b>", "</a>", "<a", "<a b>", "<a b=c/>", `<a b="c/>`, "<a><![CDATA[x</a>", "<!-- x", "<a/><b/>", "<a>< b</a>", "<?xml",
		"<!DOCTYPE a [", strings.Repeat("<a>", 20_000),
	} {
		_, err := events(source)
		if syntax, ok := errors.AsType[*xmlscan.SyntaxError](err); !ok {
			t.Errorf("%.40q: %v", source, err)
		} else if len(syntax.Error()) > 300 {
			t.Errorf("%.40q: a long error: %s", source, syntax.Error())
		}
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"\xEF\xBB\xBF<a>é</a>", "\xFF\xFE<\x00a\x00>\x00\xE9\x00<\x00/\x00a\x00>\x00", "\xFE\xFF\x00<\x00a\x00>\x00\xE9\x00<\x00/\x00a\x00>",
		"<\x00a\x00>\x00\xE9\x00<\x00/\x00a\x00>\x00", `<?xml version="1.0" encoding="ISO-8859-1"?>` + "<a>\xE9</a>",
	} {
		if got, err := events(source); got != "start a\ntext é\nend a\n" || err != nil {
			t.Errorf("%q: %q, %v", source, got, err)
		}
	}
	if got, err := events("<a>\xff</a>"); got != "start a\ntext \uFFFD\nend a\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestSkipAndInnerText(t *testing.T) {
	t.Parallel()
	s := xmlscan.New(strings.NewReader(`<a><b x="1"><c/>t<d>u</d></b><e>v<f>w</f></e><g/></a>`))
	next := func(want xmlscan.Kind, name string) {
		t.Helper()
		if kind, err := s.Next(); err != nil || kind != want || s.Name() != name {
			t.Fatalf("%v %s, %v", kind, s.Name(), err)
		}
	}
	next(xmlscan.Start, "a")
	next(xmlscan.Start, "b")
	if value, found := s.LookupAttr("x"); value != "1" || !found || s.Attr("y") != "" {
		t.Error("attributes")
	}
	if err := s.Skip(); err != nil {
		t.Fatal(err)
	}
	next(xmlscan.Start, "e")
	if text, err := s.InnerText(); text != "vw" || err != nil {
		t.Fatalf("%q, %v", text, err)
	}
	next(xmlscan.Start, "g")
	if err := s.Skip(); err != nil || s.Depth() != 1 {
		t.Fatal(err)
	}
	next(xmlscan.End, "a")
}

// FuzzScanner looks for inputs that break the scanner, and for well-formed ones that it reads in another way than the
// standard library.
func FuzzScanner(f *testing.F) {
	f.Add(`<?xml version="1.0"?><a b="c &gt;">t<![CDATA[x]]><d/></a>`)
	f.Add("<a>\r\n&#65;&unknown;</a>")
	f.Add("\xFF\xFE<\x00a\x00/\x00>\x00")
	f.Fuzz(func(t *testing.T, source string) {
		got, err := events(source)
		if syntax := (&xmlscan.SyntaxError{}); err != nil && !errors.As(err, &syntax) {
			t.Fatalf("%q: %v", source, err)
		}
		if want, oracleErr := oracle(source); err == nil && oracleErr == nil && alike(source) && got != want {
			t.Fatalf("%q: got %q, want %q", source, got, want)
		}
	})
}

// alike reports input that both readers are to read alike: no definitions, whose entities the oracle refuses or
// keeps, no declaration of an encoding, and no references, where the oracle is stricter.
func alike(source string) bool {
	return !strings.Contains(source, "<!") && !strings.Contains(source, "<?") && !strings.Contains(source, "&") && utf8.ValidString(source) &&
		!strings.HasPrefix(source, "\uFEFF") && !strings.Contains(source, "\x00") && !strings.ContainsAny(source, ":")
}

func BenchmarkScanner(b *testing.B) {
	row := `<row r="1" spans="1:4"><c r="A1" s="2" t="s"><v>17</v></c><c r="B1"><v>3.25</v></c><c r="C1" t="inlineStr"><is><t>a &amp; b</t></is></c></row>`
	source := "<sheetData>" + strings.Repeat(row, 20_000) + "</sheetData>"
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		s := xmlscan.New(strings.NewReader(source))
		for {
			if _, err := s.Next(); err != nil {
				break
			}
		}
	}
}
