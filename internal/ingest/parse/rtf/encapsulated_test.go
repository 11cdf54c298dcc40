package rtf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/parse/rtf"
)

func TestEncapsulatedHTMLIsTakenOut(t *testing.T) {
	t.Parallel()
	content := "{\\rtf1\\ansi\\ansicpg1252\\fromhtml1 \\fbidis \\deff0{\\fonttbl\r\n{\\f0\\fswiss Arial;}{\\f1\\fmodern\\fcharset204 Courier New;}{\\f2\\fnil\\fcharset2 Symbol;}}\r\n" +
		"{\\colortbl\\red0\\green0\\blue0;}\r\n{\\*\\generator Mailer;}\r\n\\uc1\\pard\\plain\\deftab360 \\f0\\fs24 \r\n" +
		"{\\*\\htmltag19 <html>}\r\n{\\*\\htmltag2 \\par }\r\n{\\*\\htmltag241 <style>p \\{margin: 0\\}</style>}\r\n" +
		"{\\*\\htmltag64 <p class=\"a\\\\b\">}\\htmlrtf {\\htmlrtf0 Fee: 4 \\'80{\\*\\htmltag84 &nbsp;}\\htmlrtf\\'a0\\htmlrtf0 and {\\*\\htmltag84 &lt;}\\htmlrtf <\\htmlrtf0 5" +
		"{\\*\\htmltag84 <b>}\\htmlrtf {\\b \\htmlrtf0 {\\f1\\'cc\\'e8\\'f0} \\u26085?\\line\\tab\\lquote x\\rquote{\\*\\htmltag92 </b>}\\htmlrtf }\\htmlrtf0 " +
		"{\\*\\mhtmltag84 <img src=x>}{\\*\\htmltag84 <img src=\"cid:y\">}{\\pntext\\f2 \\'b7\\tab}\\htmlrtf\\par}\\htmlrtf0\r\n{\\*\\htmltag72 </p>}\r\n" +
		"{\\*\\htmltag116 <br>\\par}{\\*\\htmltag27 </html>}}"
	want := "<html>\r\n<style>p {margin: 0}</style><p class=\"a\\b\">Fee: 4 €&nbsp;and &lt;5<b>Мир 日\r\n\t‘x’</b><img src=\"cid:y\"></p><br>\r\n</html>"
	html, ok := rtf.Encapsulated([]byte(content))
	if diff := cmp.Diff(want, string(html)); !ok || diff != "" {
		t.Errorf("ok is %t (-want +got):\n%s", ok, diff)
	}
}

func TestOtherRTFHoldsNoHTML(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		"", "<html>", `{\rtf1 a}`, `{\rtf1\fromtext a}`, `{\rtf1\fromhtml0{\*\htmltag <p>}}`, `{\rtf1 text \fromhtml1{\*\htmltag <p>}}`, `{\rtf1\fromhtml1 }`,
		`{\rtf1{\fonttbl{\f0 A;}}\fromhtml1 a}`,
	} {
		if html, ok := rtf.Encapsulated([]byte(content)); ok {
			t.Errorf("%s: %q", content, html)
		}
	}
	if html, ok := rtf.Encapsulated([]byte(`{\rtf1\fromhtml1{\*\htmltag <p>}cut o`)); !ok || string(html) != "<p>cut o" {
		t.Errorf("ok is %t: %q", ok, html)
	}
	if html, ok := rtf.Encapsulated([]byte(`{\rtf1\fromhtml1` + strings.Repeat("{", 1_000_000) + "a")); !ok || string(html) != "a" {
		t.Errorf("ok is %t: %q", ok, html)
	}
}
