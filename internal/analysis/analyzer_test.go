package analysis_test

import (
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
)

func termsOf(tokens []analysis.Token) []string {
	terms := make([]string, len(tokens))
	for i, token := range tokens {
		terms[i] = token.Term
	}
	return terms
}

func TestTokensOfTexts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text, language string
		want           []string
	}{
		"English stems":           {"Restoring the Backups quickly", "en", []string{"restor", "the", "backup", "quick"}},
		"unknown is English":      {"Restoring backups", "", []string{"restor", "backup"}},
		"unsupported keeps words": {"paigaldada paketid", "et", []string{"paigaldada", "paketid"}},
		"Polish":                  {"instalować pakiety", "pl", []string{"instal", "pakiet"}},
		"Italian":                 {"installare i pacchetti dell'applicazione", "it", []string{"install", "i", "pacchett", "applic"}},
		"Portuguese":              {"instalações e cópias de segurança", "pt", []string{"instal", "e", "cop", "de", "seguranc"}},
		"Dutch":                   {"Gebruikers herstellen afhankelijkheden", "nl", []string{"gebruiker", "herstell", "afhank"}},
		"German":                  {"Die Häuser der Abhängigkeiten, Straße", "de", []string{"die", "haus", "der", "abhang", "strass"}},
		"French elision":          {"l’installation d'un résumé", "fr", []string{"install", "un", "resum"}},
		"English possessive":      {"the user's files don't", "en", []string{"the", "user", "file", "don"}},
		"Spanish":                 {"canción canciones", "es", []string{"cancion", "cancion"}},
		"Russian":                 {"резервные копии", "ru", []string{"резервн", "коп"}},
		"English in Russian":      {"Helm charts и", "ru", []string{"helm", "chart", "и"}},
		"dotted identifier":       {"kv.rangefeed.enabled", "en", []string{"kv.rangefeed.enabled", "kv", "rangefe", "enabl"}},
		"snake case":              {"max_sql_memory", "en", []string{"max_sql_memory", "max", "sql", "memori"}},
		"double underscore":       {"__init__ a__b", "en", []string{"init", "a__b", "a", "b"}},
		"kebab flag":              {"--dry-run", "en", []string{"dry-run", "dri", "run"}},
		"camel case":              {"rangeFeedEnabled HTTPServer", "en", []string{"rangefeeden", "rang", "feed", "enabl", "httpserver", "http", "server"}},
		"plural acronym":          {"URLs IDs", "en", []string{"url", "id"}},
		"path":                    {"/etc/app.conf", "en", []string{"etc/app.conf", "etc", "app.conf", "app", "conf"}},
		"version":                 {"since v1.2.3.", "en", []string{"sinc", "v1.2.3", "1.2.3", "1", "2", "3"}},
		"address":                 {"10.0.0.1:8080", "en", []string{"10.0.0.1:8080", "10.0.0.1", "10", "0", "0", "1", "8080"}},
		"mail":                    {"ada@example.org", "en", []string{"ada@example.org", "ada", "example.org", "exampl", "org"}},
		"qualified name":          {"std::vector", "en", []string{"std::vector", "std", "vector"}},
		"letters and digits":      {"sha256 S3Bucket", "en", []string{"sha256", "s3bucket", "s3", "bucket"}},
		"languages with signs":    {"C++ and C#, not C", "en", []string{"c", "c++", "and", "c", "c#", "not", "c"}},
		"Chinese pairs":           {"数据库备份", "zh", []string{"数据", "据库", "库备", "备份"}},
		"single character":        {"猫 and 狗", "zh", []string{"猫", "and", "狗"}},
		"Chinese with Latin":      {"安装Helm客户端v3", "zh", []string{"安装", "helm", "客户", "户端", "v3"}},
		"Japanese":                {"チャートを使う", "ja", []string{"チャート", "を", "使", "う"}},
		"halfwidth kana":          {"ﾊﾞｯｸ", "ja", []string{"バック"}},
		"full width Latin":        {"Ｈｅｌｍ　３", "ja", []string{"helm", "3"}},
		"Korean":                  {"한국어", "ko", []string{"한국", "국어"}},
		"Thai words":              {"การสำรองข้อมูลที่นี่", "th", []string{"การ", "สํารอง", "ข้อมูล", "ที่", "นี่"}},
		"decomposed accents":      {"re\u0301sume\u0301", "et", []string{"resume"}},
		"Devanagari keeps marks":  {"हिन्दी", "ta", []string{"हिन्दी"}},
		"Hindi":                   {"हिन्दी", "hi", []string{"हिंद"}},
		"Arabic vowel points":     {"كِتَاب", "ar", []string{"كتاب"}},
		"Turkish capital":         {"İstanbul", "tr", []string{"istanbul"}},
		"nothing":                 {" \t\n…—!?", "en", []string{}},
		"broken encoding":         {"a\xffb \xc3", "en", []string{"a", "b"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := termsOf(analysis.New().Tokens(c.text, c.language)); !slices.Equal(got, c.want) {
				t.Errorf("terms of %q: got %q, want %q", c.text, got, c.want)
			}
		})
	}
}
