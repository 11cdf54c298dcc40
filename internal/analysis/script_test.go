package analysis_test

import (
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
)

// What a person types finds what a document says, whatever the forms of the characters.
func TestScripts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text, language, query, want string
		terms                       []string
	}{
		"Thai":                           {"การสำรองข้อมูล", "th", "ข้อมูล", "การสำรอง[ข้อมูล]", nil},
		"Thai with a space of no width":  {"การสำรอง\u200bข้อมูล", "th", "สำรองข้อมูล", "การ[สำรอง]\u200b[ข้อมูล]", nil},
		"Thai digits":                    {"รุ่น ๑๒", "th", "12", "รุ่น [๑๒]", []string{"รุ่น", "12"}},
		"Lao":                            {"ຖານຂໍ້ມູນ", "lo", "ຂໍ້ມູນ", "ຖານ[ຂໍ້ມູນ]", nil},
		"Khmer":                          {"មូលដ្ឋាន\u200bទិន្នន័យ", "km", "ទិន្នន័យ", "មូលដ្ឋាន\u200b[ទិន្នន័យ]", nil},
		"Burmese":                        {"ဒေတာဘေ့စ်", "my", "ဒေတာ", "[ဒေတာ]ဘေ့စ်", nil},
		"Japanese":                       {"データベースのバックアップ", "ja", "バックアップ", "データベースの[バックアップ]", nil},
		"half-width kana":                {"ﾃﾞｰﾀのﾊﾞｯｸｱｯﾌﾟ", "ja", "バックアップ", "ﾃﾞｰﾀの[ﾊﾞｯｸｱｯﾌﾟ]", nil},
		"decomposed kana":                {"か\u3099くせい", "ja", "がくせい", "[か\u3099くせい]", nil},
		"Chinese":                        {"安装Helm客户端", "zh", "helm 客户端", "安装[Helm客户端]", nil},
		"Chinese with full-width Latin":  {"安装Ｈｅｌｍ３", "zh", "helm3", "安装[Ｈｅｌｍ３]", nil},
		"Han beyond the first plane":     {"𠮷野家", "ja", "𠮷野", "[𠮷野]家", nil},
		"Korean":                         {"데이터베이스를 백업", "ko", "데이터베이스", "[데이터베이스]를 백업", nil},
		"decomposed Korean":              {"\u1103\u1166\u110b\u1175\u1110\u1165", "ko", "데이터", "[\u1103\u1166\u110b\u1175\u1110\u1165]", nil},
		"Arabic with vowel points":       {"قَاعِدَةُ البَيَانَات", "ar", "قاعدة", "[قَاعِدَةُ] البَيَانَات", nil},
		"Arabic without hamza":           {"إدارة الأنظمة", "ar", "اداره الانظمه", "[إدارة] [الأنظمة]", nil},
		"Arabic stretched":               {"قـــاعدة", "ar", "قاعدة", "[قـــاعدة]", nil},
		"Arabic digits":                  {"الإصدار ٢٠٢٤", "ar", "2024", "الإصدار [٢٠٢٤]", nil},
		"Arabic presentation forms":      {"\ufedb\ufe98\ufe8e\ufe91", "ar", "كتاب", "[\ufedb\ufe98\ufe8e\ufe91]", nil},
		"Persian yeh and kaf":            {"می\u200cخواهم کتاب", "fa", "كتاب ميخواهم", "[می\u200cخواهم] [کتاب]", nil},
		"Hebrew with vowel points":       {"שָׁלוֹם עולם", "he", "שלום", "[שָׁלוֹם] עולם", nil},
		"right-to-left marks":            {"\u200fשלום\u200f \u202bHelm\u202c", "he", "שלום helm", "\u200f[שלום]\u200f \u202b[Helm]\u202c", []string{"שלומ", "helm"}},
		"Hindi":                          {"हिन्दी में डेटाबेस", "hi", "डेटाबेस", "हिन्दी में [डेटाबेस]", nil},
		"Hindi nukta":                    {"फ\u093cाइल", "hi", "\u095eाइल", "[फ\u093cाइल]", nil},
		"Hindi digits":                   {"संस्करण १२", "hi", "12", "संस्करण [१२]", nil},
		"Vietnamese":                     {"Cơ sở dữ liệu Điện", "vi", "cơ sở dữ liệu điện", "[Cơ] [sở] [dữ] [liệu] [Điện]", nil},
		"Vietnamese decomposed":          {"Vie\u0302\u0323t", "vi", "Việt", "[Vie\u0302\u0323t]", nil},
		"Turkish dotted and dotless":     {"İSTANBUL ISPARTA ışık", "tr", "istanbul ısparta isik", "[İSTANBUL] [ISPARTA] [ışık]", nil},
		"Greek accents and final sigma":  {"ΒΆΣΗ δεδομένων ΛΌΓΟΣ", "el", "βαση δεδομενων λόγος", "[ΒΆΣΗ] [δεδομένων] [ΛΌΓΟΣ]", nil},
		"Ukrainian":                      {"Резервне копіювання їжака", "uk", "копіювання їжака", "Резервне [копіювання] [їжака]", nil},
		"Ukrainian apostrophes":          {"комп'ютер комп’ютер компʼютер", "uk", "комп’ютер", "[комп]&#39;[ютер] [комп]’[ютер] [комп]ʼ[ютер]", nil},
		"Russian yo":                     {"Всё копиями", "ru", "все", "[Всё] копиями", nil},
		"ligature":                       {"The ﬁles of the œuvre", "en", "file oeuvre", "The [ﬁles] of the [œuvre]", nil},
		"full-width Latin":               {"Ｒｅｓｔｏｒｉｎｇ", "en", "restore", "[Ｒｅｓｔｏｒｉｎｇ]", nil},
		"soft hyphen":                    {"Abhängig\u00adkeiten", "de", "Abhängigkeit", "[Abhängig\u00adkeiten]", []string{"abhang"}},
		"no-width break in identifier":   {"set kv.\u200brangefeed.\u200benabled", "en", "kv.rangefeed.enabled", "set [kv.\u200brangefeed.\u200benabled]", nil},
		"byte order mark":                {"\ufeffBackup\ufeff is", "en", "backup", "\ufeff[Backup]\ufeff is", []string{"backup", "is"}},
		"combining marks on Latin":       {"Mu\u0308ller Zu\u0308rich", "de", "müller zurich", "[Mu\u0308ller] [Zu\u0308rich]", nil},
		"many marks":                     {"Z\u0351\u036b\u0343a\u0334lgo", "en", "zalgo", "[Z\u0351\u036b\u0343a\u0334lgo]", nil},
		"Scandinavian letters":           {"Smørrebrød Århus Łódź Þór", "da", "smorrebrod arhus lodz thor", "[Smørrebrød] [Århus] [Łódź] [Þór]", nil},
		"sharp s":                        {"STRASSE Straße STRAẞE", "de", "straße", "[STRASSE] [Straße] [STRAẞE]", nil},
		"emoji part words":               {"deploy🚀done 👨‍👩‍👧 ok", "en", "done", "deploy🚀[done] 👨‍👩‍👧 ok", []string{"deploy", "done", "ok"}},
		"keycaps are digits":             {"1️⃣ first", "en", "1", "[1️⃣] first", []string{"1", "first"}},
		"superscript":                    {"10 m² big", "en", "m2", "10 [m²] big", nil},
		"Roman numeral":                  {"Part Ⅷ", "en", "VIII", "Part [Ⅷ]", nil},
		"acute for an apostrophe":        {"l´eau de l‘île", "fr", "eau ile", "l´[eau] de l‘[île]", nil},
		"half the word right to left":    {"קובץ backup.conf", "he", "backup.conf", "קובץ [backup.conf]", nil},
		"ideographic space and brackets": {"備份　（数据库）", "zh", "数据库", "備份　（[数据库]）", nil},
		"Georgian and Armenian":          {"მონაცემთა Տվյալների", "ka", "მონაცემთა տվյալների", "[მონაცემთა] [Տվյալների]", nil},
		"Amharic":                        {"የውሂብ ጎታ", "am", "ጎታ", "የውሂብ [ጎታ]", nil},
		"Tamil":                          {"தரவுத்தளம் காப்பு", "ta", "தரவுத்தளம்", "[தரவுத்தளம்] காப்பு", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := analysis.New()
			for _, asked := range []string{"", c.language} {
				q := a.Parse(c.query, asked)
				m := analysis.Marks{}
				for _, w := range q.Words {
					m.Terms = append(m.Terms, w.Terms...)
				}
				if got := a.HighlightMarks(c.text, m, c.language, "[", "]"); got != c.want {
					t.Errorf("%q, asked in %q:\ngot  %q\nwant %q\nterms %q of %q", c.query, asked, got, c.want, m.Terms, termsOf(a.Tokens(c.text, c.language)))
				}
			}
			if got := termsOf(a.Tokens(c.text, c.language)); c.terms != nil && !slices.Equal(got[:min(len(c.terms), len(got))], c.terms) {
				t.Errorf("terms: got %q, want first %q", got, c.terms)
			}
		})
	}
}
