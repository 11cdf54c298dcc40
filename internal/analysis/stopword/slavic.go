package stopword

const russian = `
я меня мне мной мною мой моя моё мои моего моей моих ты тебя тебе тобой твой твоя твоё твои он его ему им нём него нему ним она её ей ею неё ней оно мы нас нам нами наш наша наше наши нашего нашей наших вы вас вам вами ваш ваша ваше ваши вашего вашей ваших они их ими них ними себя себе собой свой своя своё свои своего своей своих своим свою
этот эта это эту эти этого этой этому этим этих этими тот та то те того той тому тем тех теми такой такая такое такие весь вся всё все всего всей всем всех каждый каждая каждое
кто кого кому кем что чего чему чем чём который которая которое которые которого которой которому котором которых которым какой какая какое какие какого каких когда где куда откуда почему зачем как сколько чей ли
и а но или да если то чтобы потому хотя пока так также тоже либо
в во на с со из изо к ко у о об обо от ото до для по за под над при про через без между перед после около
быть есть был была было были будет будут буду будем бы может могут можно мочь нужно надо
не ни нет ещё уже только лишь же вот там тут здесь ведь даже нельзя тогда теперь сейчас этом
`

const ukrainian = `
я мене мені мною мій моя моє мої мого моєї моїх ти тебе тобі тобою твій твоя твоє твої він його йому ним ньому нього вона її їй нею ній неї воно ми нас нам нами наш наша наше наші нашого нашої наших ви вас вам вами ваш ваша ваше ваші вашого вашої ваших вони їх їм ними них їхній їхня їхнє їхні себе собі собою свій своя своє свої свого своєї своїх своїм
цей ця це ці цього цієї цьому цим цих цими той та те ті того тієї тому тим тих тими такий така таке такі весь вся все всі всього всієї всім всіх усі усе кожен кожна кожне кожний
хто кого кому ким що чого чому чим який яка яке які якого якої якому яким яких якими коли де куди звідки навіщо як скільки чий чи
і й а але або та якщо щоб бо хоча поки так також теж отже проте тобто
в у на з із зі зо до для від од по за під над при про через без між перед після біля крізь о об к
бути є був була було були буде будуть буду будемо би б може можуть можна можете могти треба слід
не ні ні ще вже лише тільки ж же ось там тут
`

const bulgarian = `
аз мен мене ме ми мой моя мое мои ти теб тебе те твой твоя твое твои той него го му негов негова негово негови тя нея я ѝ неин нейна нейно нейни то ние нас ни наш наша наше наши вие вас ви ваш ваша ваше ваши те тях ги им техен тяхна тяхно техни себе си се свой своя свое свои
този тази това тези онзи онази онова онези такъв такава такова такива всеки всяка всяко всички всичко един една едно едни някой някоя някое някои друг друга друго други
кой коя кое кои кого кому който която което които какъв каква какво какви кога къде откъде защо как колко чий дали ли що
и а но или ако че да за защото докато въпреки макар нито така също
в във на с със от до по при под над пред след без между през към около у относно
съм си е сме сте са бях беше бяха бъде бъдат бил била било били ще може могат можете трябва има няма
не само още вече много там тук
`

const polish = `
ja mnie mi mną mój moja moje moi mojego mojej moich ty ciebie cię tobie ci tobą twój twoja twoje twoi on jego go jemu mu nim niego niemu ona jej ją nią niej ono je my nas nam nami nasz nasza nasze nasi naszego naszej naszych wy was wam wami wasz wasza wasze oni one ich im nimi nich siebie się sobie sobą swój swoja swoje swoi swojego swojej swoich
ten ta to ci te tego tej temu tym tych tymi tę tą tamten tamta tamto taki taka takie takich każdy każda każde wszystko wszystkie wszystkich wszyscy cały cała całe inny inna inne innych jakiś
kto kogo komu kim co czego czemu czym który która które którego której którym których którzy którą jaki jaka jakie jakiego jakich kiedy gdzie skąd dokąd dlaczego czemu jak ile czyj czy
i a ale lub albo oraz ani jeśli jeżeli gdy żeby aby że bo ponieważ więc chociaż choć niż także też również
w we na z ze do od ode dla po za pod nad przy przez bez między przed o u ku wśród podczas według
być jest są był była było były będzie będą jestem jesteś jesteśmy został została zostało zostały może mogą można móc należy trzeba ma mają mieć
nie tak już jeszcze tylko bardzo tu tam tutaj się
`

const czech = `
já mě mne mi mně mnou můj má moje mé mého mých ty tě tebe ti tobě tebou tvůj tvá tvoje tvé on jeho ho jemu mu jej něj něho něm ním ona jí ji ní ono my nás nám námi náš naše našeho našich vy vás vám vámi váš vaše vašeho vašich vaší oni ony jejich jim jimi je nich nim nimi se si sebe sobě sebou svůj svá své svého svých svým
ten ta to ti ty toho té tomu tím těch těm těmi tu tento tato toto tyto této tohoto tomto těchto takový taková takové každý každá každé všechno všechny všech všichni vše celý celá celé jiný jiná jiné některý některé
kdo koho komu kým co čeho čemu čím který která které kterého kterou kterých kterým kteří jaký jaká jaké jakých kdy kde kam odkud proč jak kolik čí zda
a i ale nebo anebo ani jestli jestliže pokud když aby že protože neboť ačkoli ač než také též tedy však
v ve na s se z ze do od ode pro po za pod nad při přes bez mezi před o u k ke ku během podle kolem
být je jsou jsem jsi jsme jste byl byla bylo byli byly bude budou budete by bych může mohou můžete lze musí má mají mít
ne ano už již ještě jen pouze velmi tady zde tam
`

const slovak = `
ja mňa ma mne mi mnou môj moja moje mojej mojich ty teba ťa tebe ti tebou tvoj tvoja tvoje on jeho ho jemu mu neho ňom ním ona jej ju ňou nej ono my nás nám nami náš naša naše našej našich vy vás vám vami váš vaša vaše vašej vašich oni ony ich im nimi nich sa si seba sebe sebou svoj svoja svoje svojej svojich svojho
ten tá to tí tie toho tej tomu tým tých tým tú tento táto toto títo tieto tejto tohto tomto týchto taký taká také každý každá každé všetko všetky všetkých všetci celý celá celé iný iná iné niektorý niektoré
kto koho komu kým čo čoho čomu čím ktorý ktorá ktoré ktorého ktorej ktorú ktorých ktorým ktorí aký aká aké akých kedy kde kam odkiaľ prečo ako koľko čí či
a aj i ale alebo ani ak keď aby že pretože lebo hoci než tiež teda však
v vo na s so z zo do od odo pre po za pod nad pri cez bez medzi pred o u k ku počas podľa okolo
byť je sú som si sme ste bol bola bolo boli bude budú budete by môže môžu môžete možno musí má majú mať
nie áno už ešte len iba veľmi tu tam
`

const croatian = `
ja mene me meni mi mnom moj moja moje moji mojeg mojih ti tebe te tebi tobom tvoj tvoja tvoje on njega ga njemu mu njim njegov njegova njegovo ona nje njoj ju njom njezin njezina njen njena ono mi nas nama nam naš naša naše naši vi vas vama vam vaš vaša vaše vaši vašeg vaših oni one njih ih njima im njihov njihova njihovo sebe se sebi sobom svoj svoja svoje svoji svojeg svojih
ovaj ova ovo ovi ove ovog ovoj ovom ovim ovih taj ta to ti te tog toga tom tome tim tih onaj ona ono takav takva takvo svaki svaka svako sve svi svih sav sva drugi druga drugo neki neka neko neke
tko ko koga kome kim što šta čega čemu čim koji koja koje kojeg kojega kojem kojoj kojim kojih kojima kakav kakva kakvo kada kad gdje gde kamo odakle zašto kako koliko čiji da li
i a ali ili pa te ako kad dok jer iako nego ni niti također takođe stoga
u na s sa iz do od za po pod nad pri kroz bez između pred prije poslije nakon preko oko o k ka prema kod tijekom tokom zbog
biti je jesam jesi jeste su sam si smo ste bio bila bilo bili bile bit će ću ćete ćemo bi bih može mogu možete moći treba mora ima imaju imati
ne nije nisu već još samo vrlo ovdje ovde tu tamo
`

const serbian = croatian + `
ја мене ме мени ми мном мој моја моје моји ти тебе те теби твој твоја твоје он њега га њему му њим његов његова његово она ње њој ју њом њен њена оно нас нама нам наш наша наше наши ви вас вама вам ваш ваша ваше ваши вашег ваших они оне њих их њима им њихов њихова себе се себи собом свој своја своје своји својих
овај ова ово ови ове овог овој овом овим ових тај та то тог тога том томе тим тих онај такав таква такво сваки свака свако све сви свих други друга друго неки нека неко неке
ко кога коме ким шта што чега чему чим који која које којег којем којој којим којих којима какав каква какво када кад где одакле зашто како колико чији да ли
и а али или па ако док јер иако него ни нити такође
у на с са из до од за по под над при кроз без између пред пре после након преко око о к ка према код током због
бити је јесам су сам си смо сте био била било били биле ће ћу ћете ћемо би бих може могу можете моћи треба мора има имају имати
не није нису већ још само врло овде ту тамо
`
