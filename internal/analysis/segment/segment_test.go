package segment_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis/segment"
)

func words(text string) []string {
	var out []string
	segment.Words(text, func(start, end int) { out = append(out, text[start:end]) })
	return out
}

func TestWordsOfEachScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"ภาษาไทยง่ายนิดเดียว":   "ภาษา ไทย ง่าย นิด เดียว",
		"ฐานข้อมูลเชิงสัมพันธ์": "ฐาน ข้อมูล เชิง สัมพันธ์",
		"การติดตั้งโปรแกรม":     "การ ติด ตั้ง โปรแกรม",
		"ພາສາລາວ":    "ພາສາ ລາວ",
		"ភាសាខ្មែរ":  "ភាសាខ្មែរ",
		"မြန်မာဘာသာ": "မြန်မာဘာသာ",
		"日本語":        "日本語",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

// What no dictionary has is one word, up to the next one that it has.
func TestUnknownCharactersAreOneWord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"เป็นฮฟฮฟฮฟบริษัท": "เป็น ฮฟฮฟฮฟ บริษัท",
		"ฮฟฮฟฮฟ": "ฮฟฮฟฮฟ",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("Words(%q) = %q, want %q", text, got, want)
		}
	}
}

// Long text is segmented in pieces; the pieces must not show.
func TestLongTextIsSegmentedAsShortText(t *testing.T) {
	t.Parallel()
	const sentence = "การติดตั้งโปรแกรมฐานข้อมูลเชิงสัมพันธ์"
	once := words(sentence)
	all := words(strings.Repeat(sentence, 1000))
	for i, w := range all {
		if w != once[i%len(once)] {
			t.Fatalf("word %d of the long text is %q, want %q", i, w, once[i%len(once)])
		}
	}
	if len(all) != 1000*len(once) {
		t.Errorf("%d words, want %d", len(all), 1000*len(once))
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{"ภาษาไทย", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "เเเเ", "็็็", "ก\xff", "្្្ក"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		segment.Words(text, func(start, end int) {
			if start != at || end <= start {
				t.Fatalf("a word of %q is at %d to %d, the one before it ended at %d", text, start, end, at)
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[start:end]) {
				t.Fatalf("a word of %q ends within a character", text)
			}
			at = end
		})
		if at != len(text) {
			t.Fatalf("the words of %q end at %d of %d", text, at, len(text))
		}
	})
}

func BenchmarkWords(b *testing.B) {
	text := strings.Repeat("การติดตั้งโปรแกรมฐานข้อมูลเชิงสัมพันธ์", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		segment.Words(text, func(int, int) {})
	}
}
