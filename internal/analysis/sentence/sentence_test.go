package sentence_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis/sentence"
)

func TestTextIsSplitIntoSentences(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ language, in, want string }{
		"marks":             {"en", "One. Two! Three? Four", "One.|Two!|Three?|Four"},
		"initials":          {"en", "The Yuan by Frederick W. Mote is long. T. T. Tsui gave money. So did J. R. R. Tolkien.", "The Yuan by Frederick W. Mote is long.|T. T. Tsui gave money.|So did J. R. R. Tolkien."},
		"titles":            {"en", "Dr. Who met Prof. Lee and Mrs. Day. St. Louis won.", "Dr. Who met Prof. Lee and Mrs. Day.|St. Louis won."},
		"latin":             {"en", "Use a mark, e.g. A. It is (i.e. Unicode) fine.", "Use a mark, e.g. A.|It is (i.e. Unicode) fine."},
		"acronyms":          {"en", "The U.S. Army came. They left the U.S. The war ended.", "The U.S. Army came.|They left the U.S.|The war ended."},
		"companies":         {"en", "Apple Inc. Chairman Levinson spoke. He left Apple Inc. In 2011 he came back.", "Apple Inc. Chairman Levinson spoke.|He left Apple Inc.|In 2011 he came back."},
		"numbers":           {"en", "See No. 5 and Fig. 12. He said no. Pi is 3.14. It was v1.2. Then 2.0 came.", "See No. 5 and Fig. 12.|He said no.|Pi is 3.14.|It was v1.2.|Then 2.0 came."},
		"a century ended":   {"en", "It was 1990. Many came. World War I. The end.", "It was 1990.|Many came.|World War I.|The end."},
		"years begin":       {"de", "So war die Richtung. 1950 ernannte er ihn. Siehe Kap. 3 und S. 4 dort.", "So war die Richtung.|1950 ernannte er ihn.|Siehe Kap. 3 und S. 4 dort."},
		"times":             {"en", "At 6 p.m. Eastern it began. It ended at 9 p.m. The crowd left.", "At 6 p.m. Eastern it began.|It ended at 9 p.m.|The crowd left."},
		"quoted ends":       {"en", "He said “stop.” Then it stopped. (It did.) \"Go!\" he cried. Yes.", "He said “stop.”|Then it stopped.|(It did.)|\"Go!\" he cried.|Yes."},
		"emphasis":          {"en", "**First.** Then *this.* End.", "**First.**|Then *this.*|End."},
		"footnotes":         {"en", "It ended.[5] Next it began.[12] Done.", "It ended.[5]|Next it began.[12]|Done."},
		"names of files":    {"en", "Edit /etc/app.conf. Set kv.Range to 1. See example.Com now.", "Edit /etc/app.conf.|Set kv.Range to 1.|See example.Com now."},
		"code":              {"en", "Run `a. B. c` now. Then wait. A ` here. And there.", "Run `a. B. c` now.|Then wait.|A ` here.|And there."},
		"an ellipsis":       {"en", "Wait… Then go… on.", "Wait…|Then go… on."},
		"german":            {"de", "Am 3. Mai, d. h. bald, kam z. B. Dr. Weiß. Im 19. Jahrhundert lebte Ludwig XIV. Capet nicht, vgl. Abs. 3. Er starb 1715. Das Schloss usw. blieb.", "Am 3. Mai, d. h. bald, kam z. B. Dr. Weiß.|Im 19. Jahrhundert lebte Ludwig XIV. Capet nicht, vgl. Abs. 3.|Er starb 1715.|Das Schloss usw. blieb."},
		"russian":           {"ru", "А. С. Пушкин, т. е. поэт, родился в г. Москва. Он жил в XIX в. и писал, т.е. творил. См. рис. 5. Конец.", "А. С. Пушкин, т. е. поэт, родился в г. Москва.|Он жил в XIX в. и писал, т.е. творил.|См. рис. 5.|Конец."},
		"hindi":             {"hi", "यह डॉ. राम हैं। वह घर गया।क्या हुआ? एच. जी. वेल्स लेखक थे।", "यह डॉ. राम हैं।|वह घर गया।|क्या हुआ?|एच. जी. वेल्स लेखक थे।"},
		"arabic":            {"ar", "ما هذا؟ هذا كتاب. كتبه د. طه حسين عام 1926 م. وكان مشهورا. انتهى.وبعد ذلك مات.", "ما هذا؟|هذا كتاب.|كتبه د. طه حسين عام 1926 م.|وكان مشهورا.|انتهى.|وبعد ذلك مات."},
		"urdu":              {"ur", "یہ کتاب ہے۔ وہ گھر گیا۔", "یہ کتاب ہے۔|وہ گھر گیا۔"},
		"chinese":           {"zh", "这是第一句。这是第二句！“是吗？”他问。价格是3.14元。", "这是第一句。|这是第二句！|“是吗？”|他问。|价格是3.14元。"},
		"japanese":          {"ja", "これは文です。次の文です！終わり", "これは文です。|次の文です！|終わり"},
		"vietnamese":        {"vi", "TP. Hồ Chí Minh rất lớn. GS. Ngô Bảo Châu sống ở đó, v.v. Ông dạy toán.", "TP. Hồ Chí Minh rất lớn.|GS. Ngô Bảo Châu sống ở đó, v.v.|Ông dạy toán."},
		"thai, short":       {"th", "ในปี พ.ศ. 2500 เขาเกิด ที่นี่", "ในปี พ.ศ. 2500 เขาเกิด ที่นี่"},
		"unknown":           {"", "Am 3. Mai um 8 Uhr z. B. nicht. Use No. 5, e.g. this. Ask him. Да, т. е. нет.", "Am 3. Mai um 8 Uhr z. B. nicht.|Use No. 5, e.g. this.|Ask him.|Да, т. е. нет."},
		"paragraphs":        {"en", "# A title. Or two\n\nOne goes\non. Two\n\nThree", "A title. Or two|One goes\non.|Two|Three"},
		"lists":             {"en", "Three:\n- One. It\n  goes on\n- Two\n3. Three", "Three:|One.|It\n  goes on|Two|Three"},
		"tables":            {"en", "Before\n| A. B | c |\n|---|---|\n| d. E | f |\nAfter", "Before|| A. B | c ||| d. E | f ||After"},
		"blocks of code":    {"en", "Run:\n```sh\nls. -L\n  cd. X\n```\nDone.", "Run:|ls. -L|cd. X|Done."},
		"a quotation":       {"en", "> One is\n> quoted. Two.", "One is\n> quoted.|Two."},
		"nothing":           {"en", " \n\n***\n---\n", ""},
		"a number and text": {"en", "3. Fix it. Then go.", "Fix it.|Then go."},
	} {
		got := strings.Join(sentence.Split(test.in, test.language), "|")
		if got != test.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, test.want)
		}
	}
}

func TestThaiIsSplitIntoClauses(t *testing.T) {
	t.Parallel()
	const text = "กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย อย่างไรก็ตาม เมืองนี้เป็นศูนย์กลางการปกครอง การศึกษา การคมนาคมขนส่ง " +
		"การเงินการธนาคาร การพาณิชย์ การสื่อสาร และความเจริญของประเทศ ในปี 2557 มีประชากรประมาณ 8 ล้านคน ตั้งอยู่บนสามเหลี่ยมปากแม่น้ำเจ้าพระยา"
	got := sentence.Split(text, "th")
	if len(got) < 3 {
		t.Fatalf("got %d clauses: %q", len(got), got)
	}
	if !strings.HasPrefix(got[1], "อย่างไรก็ตาม") {
		t.Errorf("the second clause is %q", got[1])
	}
	for _, clause := range got {
		if n := utf8.RuneCountInString(clause); n > 200 {
			t.Errorf("a clause has %d characters: %q", n, clause)
		}
	}
}

func FuzzSpans(f *testing.F) {
	f.Add("One. T. T. Tsui… \n\n- a. B\n```\nx\n", "en")
	f.Add("यह। वह। ในปี พ.ศ. 2500 เขาเกิด", "")
	f.Add("`a. `B. [5] x.[5] Y.\xff。\n", "de")
	f.Fuzz(func(t *testing.T, text, language string) {
		at := 0
		for _, s := range sentence.Spans(text, language) {
			if s.Start < at || s.End <= s.Start || s.End > len(text) {
				t.Fatalf("span %v after %d of %d bytes", s, at, len(text))
			}
			at = s.End
			if piece := text[s.Start:s.End]; piece != strings.TrimSpace(piece) {
				t.Fatalf("%q has white space around it", piece)
			}
		}
		if got := sentence.Split(text, language); len(got) != len(slices.Clip(sentence.Spans(text, language))) {
			t.Fatalf("Split and Spans differ")
		}
	})
}
