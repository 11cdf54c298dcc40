package charset_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/unicode/norm"

	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

// encodingOf returns an encoding by the name it has on the web, and some that have none there.
func encodingOf(t *testing.T, name string) encoding.Encoding {
	t.Helper()
	switch name {
	case "ibm850":
		return charmap.CodePage850
	case "ibm852":
		return charmap.CodePage852
	case "iso-8859-1":
		return charmap.ISO8859_1
	case "iso-8859-9":
		return charmap.ISO8859_9
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	case "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	}
	found, _ := charset.Lookup(name)
	if found == nil {
		t.Fatalf("no encoding %s", name)
	}
	return found
}

// Each language with the encodings its texts are found in.
func encodingsOfLanguages() map[string]string {
	western := "windows-1252 iso-8859-1 iso-8859-15 macintosh ibm850 utf-16le utf-16be"
	central := "windows-1250 iso-8859-2 ibm852 utf-16le"
	return map[string]string{
		"de": western, "fr": western, "es": western, "pt": western, "it": western, "nl": western, "sv": western, "da": western, "fi": western,
		"pl": central, "cs": central, "hu": central, "ro": central, "hr": central,
		"ru": "windows-1251 koi8-r iso-8859-5 ibm866 x-mac-cyrillic utf-16le utf-16be", "uk": "windows-1251 koi8-u iso-8859-5 utf-16be",
		"bg": "windows-1251 koi8-r iso-8859-5", "el": "windows-1253 iso-8859-7 utf-16le", "tr": "windows-1254 iso-8859-9",
		"he": "windows-1255 iso-8859-8 utf-16le", "ar": "windows-1256 iso-8859-6 utf-16le", "lt": "windows-1257 iso-8859-13 iso-8859-4",
		"vi": "windows-1258 utf-16le", "th": "windows-874 utf-16le", "ja": "shift_jis euc-jp iso-2022-jp utf-16le utf-16be utf-32le",
		"zh": "gbk gb18030 utf-16le utf-16be utf-32be", "zh-Hant": "big5 utf-16le", "ko": "euc-kr utf-16le utf-16be",
	}
}

// forEncoding writes a text with what the encodings of its time had.
func forEncoding(text, name string) string {
	if name == "windows-1258" {
		// Tones are characters of their own there, the other marks are not.
		text = norm.NFD.String(text)
		for _, pair := range [][2]string{
			{"a\u0302", "â"}, {"a\u0306", "ă"}, {"e\u0302", "ê"}, {"o\u0302", "ô"}, {"o\u031b", "ơ"}, {"u\u031b", "ư"},
			{"A\u0302", "Â"}, {"A\u0306", "Ă"}, {"E\u0302", "Ê"}, {"O\u0302", "Ô"}, {"O\u031b", "Ơ"}, {"U\u031b", "Ư"},
		} {
			text = strings.ReplaceAll(text, pair[0], pair[1])
		}
		for _, base := range "aAeEoO" { // a mark below comes before the others when marks are taken apart
			for _, mark := range []string{"\u0302", "\u0306"} {
				text = strings.ReplaceAll(text, string(base)+"\u0323"+mark, norm.NFC.String(string(base)+mark)+"\u0323")
			}
		}
		return text
	}
	if !strings.HasPrefix(name, "utf") {
		text = strings.NewReplacer("ș", "ş", "ț", "ţ", "Ș", "Ş", "Ț", "Ţ", "ѝ", "й").Replace(text)
	}
	return text
}

// samples cuts a text into pieces of about size encoded bytes, which begin at different words.
func samples(t *testing.T, text, name string, size int) [][2]string {
	t.Helper()
	words, glue := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' }), " "
	if len(words) < 40 {
		words, glue = strings.Split(text, ""), ""
	}
	encoder := encodingOf(t, name).NewEncoder()
	var found [][2]string
	for start := 0; start < len(words) && len(found) < 6; start += max(len(words)/6, 1) {
		var b strings.Builder
		for i := start; ; i++ {
			b.WriteString(words[i%len(words)])
			encoded, err := encoder.String(b.String())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(encoded) >= size {
				if strings.ContainsFunc(b.String(), func(r rune) bool { return r > unicode.MaxASCII }) {
					found = append(found, [2]string{b.String(), encoded})
				}
				break
			}
			b.WriteString(glue)
		}
	}
	return found
}

func folded(text string) string {
	text = strings.NewReplacer("ș", "ş", "ț", "ţ", "Ș", "Ş", "Ț", "Ţ").Replace(text) // the same letters, in older encodings
	return strings.Join(strings.FieldsFunc(norm.NFC.String(text), func(r rune) bool { return unicode.IsSpace(r) || r == '#' || r == '\\' }), "")
}

func TestEncodingsAreToldApart(t *testing.T) {
	t.Parallel()
	// The least share, in percent, of texts of a length that must be read right.
	for size, least := range map[int]float64{20: 94, 40: 96, 80: 98, 160: 99, 400: 99, 1000: 99.9, 4000: 99.9} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			right, all := make(map[string]int), make(map[string]int)
			parser := parse.New(parse.Options{})
			for language, names := range encodingsOfLanguages() {
				text := strings.Join(parsetest.Sentences(language), " ")
				if size >= 1000 {
					text = strings.Join(parsetest.Sentences(language), "\n")
				}
				for name := range strings.FieldsSeq(names) {
					for _, sample := range samples(t, forEncoding(text, name), name, size) {
						all[name]++
						all[""]++
						doc, err := parser.Parse(t.Context(), parse.Input{Name: "a.txt", Content: []byte(sample[1])})
						if err == nil && folded(doc.Markdown()) == folded(sample[0]) {
							right[name]++
							right[""]++
							continue
						}
						if size >= 80 || testing.Verbose() {
							if err != nil {
								t.Logf("%s, %s: %v", language, name, err)
							} else {
								t.Logf("%s, %s read as %v: %.70q", language, name, doc.Metadata["charset"], doc.Markdown())
							}
						}
					}
				}
			}
			var report strings.Builder
			for _, name := range slices.Sorted(maps.Keys(all)) {
				fmt.Fprintf(&report, " %s %.0f%%", name, 100*float64(right[name])/float64(all[name]))
			}
			share := 100 * float64(right[""]) / float64(all[""])
			t.Logf("%d bytes: %.2f%% of %d are right:%s", size, share, all[""], report.String())
			if share < least {
				t.Errorf("%.2f%% of %d texts of %d bytes are right, want %.0f%%", share, all[""], size, least)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	utf16 := func(text string, big, mark bool) string {
		var b strings.Builder
		if mark {
			text = "\ufeff" + text
		}
		for _, r := range text {
			if big {
				b.WriteByte(byte(r >> 8))
			}
			b.WriteByte(byte(r))
			if !big {
				b.WriteByte(byte(r >> 8))
			}
		}
		return b.String()
	}
	for name, c := range map[string]struct{ file, content, want string }{
		"UTF-8":                        {"a.txt", "naïve 数据", "naïve 数据"},
		"UTF-8 with mark":              {"a.txt", "\xef\xbb\xbfnaïve", "naïve"},
		"UTF-16 little end":            {"a.txt", utf16("naïve 数据", false, true), "naïve 数据"},
		"UTF-16 big end":               {"a.txt", utf16("naïve 数据", true, true), "naïve 数据"},
		"UTF-16 without mark":          {"a.txt", utf16("plain Western text", false, false), "plain Western text"},
		"Western":                      {"a.txt", "Caf\xe9 na\xefve, d\xe9j\xe0 vu, \xe0 bient\xf4t, o\xf9 \xeates-vous?", "Café naïve, déjà vu, à bientôt, où êtes-vous?"},
		"Japanese":                     {"a.txt", "\x83f\x81[\x83^\x83x\x81[\x83X\x82\xcc\x83o\x83b\x83N\x83A\x83b\x83v\x82\xf0\x8e\xe6\x82\xe8\x82\xdc\x82\xb7\x81B", "データベースのバックアップを取ります。"},
		"broken UTF-8":                 {"a.txt", strings.Repeat("überall ", 60) + "\xff", strings.Repeat("überall ", 60) + "\uFFFD"},
		"HTML that names its encoding": {"a.html", "<meta charset=iso-8859-2><p>\xb3\xf3d\xbc</p>", "łódź"},
		"line ends and controls":       {"a.txt", "one\r\ntwo\rthree and\x07 more text", "one\ntwo\nthree and more text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := parsetest.Read(t, c.file, c.content).Markdown(); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
