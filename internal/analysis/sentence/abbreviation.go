package sentence

import (
	"strings"
	"sync"
	"unicode"
)

// kind says what an abbreviation is followed by.
type kind uint8

const (
	noAbbreviation kind = iota
	title               // never ends a sentence: Dr., e.g.
	beforeNumber        // ends none before a number: No. 5
	ordinary            // ends one before a word that often begins sentences: Inc.
)

// rules are the suppressions of one language.
type rules struct {
	abbreviations map[string]kind // in lower case, without the last point
	starters      map[string]bool // words that often begin a sentence
	ordinals      bool            // a number with a point is an ordinal: 3. Mai
}

// starts reports whether a word often begins a sentence.
func (r *rules) starts(word string) bool { return r.starters[word] }

// language is the data of one language; words are separated by blanks.
type language struct {
	codes                           string // of the languages that share it
	titles, numbered, other, starts string
	ordinals                        bool
}

// rulesOf returns the rules of a language with those that are common to all. A text of an
// unknown language has the rules of English, German and the languages of other scripts:
// an abbreviation of one language that is written in Latin is often a word of another.
func rulesOf(code string) *rules {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(code, "_", "-")), "-")
	all := allRules()
	if r := all[base]; r != nil {
		return r
	}
	if base == "" {
		return all["all"]
	}
	return all["common"]
}

var allRules = sync.OnceValue(func() map[string]*rules {
	all := map[string]*rules{"common": newRules(), "all": newRules()}
	all["all"].ordinals = true
	for _, l := range languages() {
		if l.codes == "" {
			all["common"].add(&l)
		}
		if l.codes == "" || l.codes == "en" || l.codes == "de" || !isLatin(l.titles) {
			all["all"].add(&l)
		}
	}
	for _, l := range languages() {
		for code := range strings.FieldsSeq(l.codes) {
			r := newRules()
			for word, k := range all["common"].abbreviations {
				r.abbreviations[word] = k
			}
			r.add(&l)
			r.ordinals = l.ordinals
			all[code] = r
		}
	}
	return all
})

// isLatin reports whether a list has only Latin letters.
func isLatin(words string) bool {
	return !strings.ContainsFunc(words, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}

func newRules() *rules {
	return &rules{abbreviations: make(map[string]kind), starters: make(map[string]bool)}
}

func (r *rules) add(l *language) {
	for k, words := range []string{title: l.titles, beforeNumber: l.numbered, ordinary: l.other} {
		for word := range strings.FieldsSeq(words) {
			r.abbreviations[word] = kind(k) // #nosec G115 -- one of the constants
		}
	}
	for word := range strings.FieldsSeq(l.starts) {
		r.starters[word] = true
	}
}

// languages returns the lists, first the one that every language shares: names and titles
// are written alike in many.
func languages() []language {
	return []language{{
		titles:   "dr drs mr mrs ms prof st ste gen col maj capt cpt lt sgt cmdr adm brig rev fr msgr hon gov sen e.g i.e cf vs viz ca",
		numbered: "no nos nr num fig figs sec sect art vol vols p pp ch chap ed eq tab bd op cit § pt",
		other:    "jr sr inc ltd co corp bros dept univ assn al approx est max min resp a.m p.m u.s u.k u.n ph.d m.d b.a m.a d.c",
	}, {
		codes:  "en",
		titles: "messrs mme mlle supt pres rep reps det insp ald atty mt",
		other:  "jan feb mar apr jun jul aug sept sep oct nov dec ave blvd rd hwy bldg apt ft lb oz hr hrs sq mfg mgmt intl natl govt",
		starts: `the a an this that these those it he she they we you i his her its their our my your there here in on at by from for with without as if when while
			where after before since during until although though because but and or so yet however moreover furthermore therefore thus then also both each every
			some many most several such other another all no not one what how why who which only even once under over between among through according according
			to despite unlike instead meanwhile today later`,
	}, {
		codes:    "de",
		titles:   "z.b d.h u.a o.ä i.d.r z.t u.u v.a s.o s.u bzw vgl ggf evtl inkl exkl bspw sog zzgl hr fr frl dipl ing nat med phil hl geb gest verh jh jhd mio mrd tel str",
		numbered: "abs abb anm art bd bde kap nr s seite teil ziff z aufl",
		other:    "usw etc jan feb apr jun jul aug sept okt nov dez mo std min sek gmbh co",
		starts: `der die das ein eine einer eines dieser diese dieses diesem es er sie wir ich ihr man sein seine ihre in im am an auf bei mit nach von vor zu zum zur
			für durch aus als wenn wann während da dort hier so doch aber und oder auch nur nicht kein keine alle viele einige mehrere jeder jede jedes zudem
			außerdem jedoch dennoch daher deshalb trotz seit bis ab unter über zwischen laut obwohl weil nachdem danach dann dabei damit dazu was wie wer wo warum`,
		ordinals: true,
	}, {
		codes:    "nl",
		titles:   "bijv b.v d.w.z o.a m.a.w dhr mevr mw ir drs",
		numbered: "blz art afb nr",
		other:    "enz jan feb mrt apr jun jul aug sept okt nov dec",
		starts:   "de het een dit dat deze die hij zij ze wij we ik er in op aan bij met na van voor om als toen terwijl maar en of ook niet daarom echter",
	}, {
		codes:    "fr",
		titles:   "m mm mme mmes mlle mgr p.ex c.-à-d env av apr",
		numbered: "fig art chap vol p n tél",
		other:    "etc janv févr avr juil sept oct nov déc",
		starts:   "le la les l un une des ce cet cette ces il elle ils elles on nous vous je en au aux à dans sur pour par avec sans après avant depuis pendant lorsque quand si mais et ou donc or ainsi cependant toutefois son sa ses leur leurs d c qu",
	}, {
		codes:    "es ca gl",
		titles:   "sr sra srta dña d p.ej p.e ee.uu av avda gral ing lic",
		numbered: "núm art cap fig pág págs vol n.º tel",
		other:    "etc ene feb abr ago sept oct nov dic s.a",
		starts:   "el la los las un una unos unas este esta estos estas eso él ella ellos se su sus en de del a al por para con sin según desde hasta cuando mientras aunque pero y o también además sin no como si entre durante tras",
	}, {
		codes:    "pt",
		titles:   "sr sra dra srta p.ex exmo eng av",
		numbered: "núm art cap fig pág págs vol n.º tel",
		other:    "etc jan fev abr mai jun jul ago set out nov dez s.a",
		starts:   "o a os as um uma este esta esse essa ele ela eles elas isto isso em no na nos nas de do da por para com sem segundo desde até quando enquanto embora mas e ou também além não como se entre durante após",
	}, {
		codes:    "it",
		titles:   "sig sig.ra sigg dott dott.ssa avv ing p.es",
		numbered: "art cap fig pag pagg vol n tel",
		other:    "ecc gen feb apr mag giu lug ago set ott nov dic s.p.a",
		starts:   "il lo la i gli le l un una uno questo questa questi queste egli ella essi si in nel nella di del della a al alla per con senza da dal quando mentre sebbene ma e o anche inoltre non come se tra fra durante dopo",
	}, {
		codes: "ru uk bg sr be",
		titles: "т.е т.к т.н напр им г-н г-жа гр д-р проф акад доц инж ген полк кап св о п ул пр просп пл пер бул р оз тов чл корр род ум др т.наз " +
			"т.зв тобто напр ім",
		numbered: "стр с рис табл гл ст п пп т тт вып изд № кн ч рис мал вип",
		other:    "т.д т.п др пр в вв г гг н.э н. э руб коп тыс млн млрд трлн кг км см мм мин сек час янв фев мар апр авг сент окт нояб дек обл р-н ок",
		starts: `в во на по с со из за от до для при о об это этот эта эти он она оно они его её ее их мы вы я как когда если хотя но и а или однако также кроме после
			перед во время между тем поэтому затем потом все многие некоторые каждый такой такая такие там здесь не что кто где почему согласно
			у це цей ця вони він вона та але`,
	}, {
		codes:    "pl",
		titles:   "np m.in tzn tzw prof inż mgr ks ul al św płk gen im ur zm wg",
		numbered: "nr str rys tab art ust pkt poz s t r",
		other:    "itd itp r w tys mln mld zł godz",
		starts:   "w we na po z ze za od do dla przy o to ten ta te on ona oni jego jej ich my jak kiedy jeśli choć ale i a lub jednak także oprócz po przed między dlatego potem wszystkie wiele niektóre każdy nie co kto gdzie",
		ordinals: true,
	}, {
		codes:    "cs sk",
		titles:   "např tj tzv ing mudr judr mgr bc doc ul sv gen napr",
		numbered: "č str obr tab odst s r",
		other:    "atd apod aj tis mil mld kč hod",
		starts:   "v ve na po s se z ze za od do pro při o to ten ta ty on ona oni jeho její jejich my jak když pokud ale i a nebo však také kromě před mezi proto potom všechny mnoho některé každý ne co kdo kde",
		ordinals: true,
	}, {
		codes:    "da nb nn no sv is fo",
		titles:   "f.eks bl.a dvs t.ex dr hr fr ca m.a.o o.l s.k d.v.s bl",
		numbered: "nr s kap fig bd § art",
		other:    "osv m.m m.fl mfl jan feb mar apr jun jul aug sep sept okt nov dec des mio mia mill kl",
		starts:   "den det de en et ett denne dette disse han hun hon de vi jeg jag i på av af til till med for för fra från som når när hvis om men og och eller også även efter etter före under mellan ikke inte hvad vad hvem vem",
		ordinals: true,
	}, {
		codes:    "fi et hu hr bs sl lv lt ro tr",
		titles:   "esim mm ns ym eli t.s pl ill kb ún vö dr özv npr tj tzv oz dipl t.j örn bkz vb alb av prof doç yrd arş sn",
		numbered: "nr s str sz o br čl št lk lpk lp no",
		other:    "jne yms stb itd ipd vs jan feb okt nov dec mld mln",
		starts: `se tämä hän he ne kun mutta ja myös a az ez ő ők és de hogy to on ona oni i ali u na bu o bir ve ancak fakat bunlar onlar
			acest această el ea ei ele în la pe din și dar`,
		ordinals: true,
	}, {
		codes:    "vi",
		titles:   "tp tx tt ts gs pgs ths th.s bs ks ths.s lm đ.c q p h st",
		numbered: "tr tr.cn số điều",
		other:    "v.v vv tcn scn",
		starts:   "các những một ông bà anh chị họ nó đây đó này việc trong ngoài trên dưới khi nếu tuy nhưng và hoặc vì do để từ theo sau trước năm ngày tại ở với cũng không người hầu nhiều mỗi tất",
	}, {
		codes:    "id ms",
		titles:   "tn ny sdr bpk h hj ir drs dra prof kh jl kec kab mis yth a.n",
		numbered: "no hlm hal pasal bab gbr tab",
		other:    "dll dsb dkk jan feb mar apr jun jul agu sep okt nov des",
		starts:   "ini itu dia ia mereka kami kita saya di ke dari pada untuk dengan tanpa sejak hingga ketika jika meskipun tetapi dan atau juga namun setelah sebelum antara semua banyak beberapa setiap tidak",
	}, {
		codes: "hi mr ne",
		titles: "डॉ डा प्रो श्री श्रीमती सुश्री पं कु स्व ले कर्नल ए बी सी डी ई एफ जी एच आई जे के एल एम एन ओ पी क्यू आर एस टी यू वी डब्ल्यू डब्लू एक्स वाई जेड ज़ेड " +
			"ई.पू ईसा.पू कि कि.मी कि.ग्रा मी से.मी मि.मी वर्ग कि० पी.एच एम.ए बी.ए",
		numbered: "सं नं क्र पृ खण्ड धारा",
		other:    "रु ई मि घं आदि",
		starts:   "यह ये वह वे इस इन उस उन इसके उनके इसमें हालांकि लेकिन और जब यदि",
	}, {
		codes:    "ar fa ur",
		titles:   "د أ ا م.م السيد",
		numbered: "ص ج ط رقم",
		other:    "م هـ ه ق.م ق ب.م كم سم إلخ الخ",
		starts:   "في وفي كان كانت وكان وكانت هذا هذه وهذا وهذه وقد قد ثم لم ولم كما إن وإن من ومن على وعلى هو هي وهو وهي بعد وبعد عندما وعندما لكن ولكن تم وتم این آن در از که و",
	}, {
		codes:    "el",
		titles:   "π.χ δηλ κ κα κος κ.ά κ.λπ κλπ αγ στρ λεωφ οδ",
		numbered: "αρ σ σελ τ τόμ εικ κεφ άρθρο",
		other:    "μ.χ π.μ μ.μ εκ δισ χιλ",
		starts:   "ο η το οι τα αυτός αυτή αυτό σε στο στη στην στον από για με όταν αν αλλά και επίσης όμως μετά πριν μεταξύ",
	}, {
		codes:    "he yi",
		titles:   "פרופ גב מר עו״ד",
		numbered: "עמ מס",
		starts:   "הוא היא הם הן זה זו אלה אך אבל גם כאשר אם",
	}}
}
