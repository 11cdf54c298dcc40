package letter_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/parse/letter"
)

func TestLanguageIsDetectedByScriptAndLetters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The wind comes from the north and the crane turns.":          "en",
		"Der Wind kommt von Norden, und der Kran dreht sich noch.":    "de",
		"Кран поворачивается, когда дует ветер с севера.":             "ru",
		"Кран повертається, коли вітер дме з півночі.":                "uk",
		"Ο άνεμος φυσά από τον βορρά.":                                "el",
		"北風が吹くとクレーンが回ります。":                                            "ja",
		"北风一吹，吊车就会转动。":                                                "zh",
		"북풍이 불면 크레인이 돌아간다.":                                           "ko",
		"جب شمال سے ہوا چلتی ہے تو پرانی کرین گھومتی ہے اور بڑے لڑکے": "ur",
		"जेव्हा उत्तरेकडून वारा येतो तेव्हा ही क्रेन फिरते आणि ते होते": "mr",
		"1234 – 5678": "",
		"":            "",
	} {
		if got := letter.Language(text).Code; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestTextCostsLessThanAWrongDecoding(t *testing.T) {
	t.Parallel()
	scorer := letter.NewScorer()
	for _, pair := range [][2]string{
		{"Dévoilé à l'été", "DΓ©voilΓ© Γ  l'Γ©tΓ©"},
		{"wciąż się obraca", "wci±ż się obraca"},
		{"Привет, мир", "оПХБЕР, ЛХП"},
		{"北风一吹", "±±·çÒ»´µ"},
		{"größer", "gr”áer"},
		{"in spite of", "in\u0080spite of"},
	} {
		if right, wrong := scorer.Cost(pair[0]), scorer.Cost(pair[1]); right >= wrong {
			t.Errorf("%q costs %.1f, %q %.1f", pair[0], right, pair[1], wrong)
		}
	}
}

func FuzzLanguageAndCost(f *testing.F) {
	f.Add("Größe, Ελληνικά, 北風 и мир")
	f.Add("\xff\x00ẵ")
	f.Fuzz(func(t *testing.T, text string) {
		if found := letter.Language(text); found.Share < 0 || found.Share > 1.0001 || found.Letters < 0 {
			t.Fatalf("%+v", found)
		}
		if cost := letter.NewScorer().Cost(text); cost < 0 {
			t.Fatalf("cost %f", cost)
		}
	})
}

func BenchmarkLanguage(b *testing.B) {
	text := strings.Repeat("Der alte Hafenkran dreht sich noch immer, wenn der Wind von Norden kommt. ", 28)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		letter.Language(text)
	}
}

func BenchmarkCost(b *testing.B) {
	text := strings.Repeat("Der alte Hafenkran dreht sich noch immer, wenn der Wind von Norden kommt. ", 28)
	scorer := letter.NewScorer()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		scorer.Cost(text)
	}
}
