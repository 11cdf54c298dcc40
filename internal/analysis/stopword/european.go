package stopword

const hungarian = `
a az egy
én engem nekem velem te téged neked veled ő őt neki vele mi minket nekünk velünk ti titeket nektek ők őket nekik velük maga önt ön önök saját
ez ezt ezek ezen ennek erre ebben ebből ehhez az azt azok azon annak arra abban abból ahhoz ilyen olyan ilyet minden mindegyik összes más valamely valami
ki kit kinek kik mi mit minek mik mely melyik amely amelyet amelyek ami amit aki akit mikor hol hová honnan miért hogy hogyan hány mennyi milyen
és s vagy de hanem ha mert mint bár míg hogy is sem se
alatt által előtt után között mellett nélkül fölött felett szerint számára miatt át be ki le fel meg el
van vannak volt voltak lesz lesznek lenni lehet lehetett legyen kell kellett tud tudja nincs nincsenek
nem ne igen már még csak most itt ott így úgy
`

const finnish = `
minä minun minut minua minulla minulle sinä sinun sinut sinua hän hänen hänet häntä hänelle me meidän meidät meitä te teidän teidät teitä he heidän heidät heitä se sen sitä siinä siihen siitä sillä ne niiden niitä niissä niihin niistä niillä itse
tämä tämän tätä tässä tähän tästä tällä nämä näiden näitä näissä näistä tuo tuon tuota tuossa nuo noiden jokainen kaikki kaikkien kaikkia muu muut muiden jokin joku jonkin jotkin
kuka kenen ketä kenelle kuka ketkä mikä minkä mitä missä mihin mistä milloin mitkä joka jonka jota jossa johon josta jolla jotka joiden joita joissa miksi miten kuinka kumpi millainen montako paljonko
ja tai eli mutta vaan sekä jos kun että koska vaikka kuin jotta siis myös kunnes
ilman kanssa ennen jälkeen alla alle päällä päälle läpi mukaan varten vastaan välillä aikana kautta sisällä
on olen olet olemme olette ovat oli olivat ollut olla olisi ole voi voivat voit voidaan voida voisi pitää täytyy
ei en et emme ette eivät älä vain jo vielä nyt täällä siellä niin näin
`

const greek = `
ο η το οι τα του της των τον την τη τους τις στο στη στον στην στα στους στις στου ένας μια μία ένα ενός μιας έναν
εγώ εμένα με μου εσύ εσένα σε σου αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν αυτούς εμείς εμάς μας εσείς εσάς σας τους ίδιος ίδια ίδιο
εκείνος εκείνη εκείνο τέτοιος τέτοια κάθε όλα όλος όλη όλες όλοι όλων άλλος άλλη άλλο άλλα άλλες κάποιος κάποια κάποιο κανένας
ποιος ποια ποιο ποιοι ποιες ποιον ποιου που πού πότε όταν πώς πως τι γιατί πόσο πόσα πόσοι πόσες οποίος οποία οποίο οποίοι οποίες οποίου οποίων οποίας όσο όσα
και κι ή είτε αλλά όμως αν εάν ότι να θα ώστε επειδή διότι ενώ αφού μήπως ούτε δηλαδή ας
από απ σε για με μετά πριν χωρίς κατά προς μέχρι έως ως μεταξύ παρά αντί εντός εκτός πάνω κάτω μέσα μέσω υπό περί δίπλα
είμαι είσαι είναι είμαστε είστε ήταν ήμουν έχω έχεις έχει έχουμε έχετε έχουν είχε είχαν μπορεί μπορώ μπορείς μπορείτε μπορούν πρέπει
δεν δε μην μη όχι ναι μόνο ήδη ακόμα ακόμη πολύ επίσης εδώ εκεί τώρα έτσι
`

const turkish = `
bir
ben beni bana benim bende benden sen seni sana senin sende senden o onu ona onun onda ondan biz bizi bize bizim bizde bizden siz sizi size sizin sizde sizden onlar onları onlara onların kendi kendisi kendini
bu bunu buna bunun bunda bundan bunlar bunları bunların şu şunu şuna şunun şunlar böyle şöyle öyle her hepsi bütün tüm bazı bazıları başka diğer hiçbir herhangi birkaç
kim kimi kime kimin ne neyi neye neden niçin niye nasıl nerede nereye nereden nere hangi hangisi kaç zaman
ve veya ya yahut ile ama fakat ancak lakin çünkü eğer ki de da ise hem gibi kadar
için göre üzere doğru karşı rağmen beri sonra önce dolayı ait dair
var yok olan olarak olur oldu olduğu olması olmak olup olsa ol değil idi imiş iken edilir etmek eder mi mı mu mü midir mıdır mudur müdür
daha çok en az artık hala şimdi burada orada sadece bile
`
