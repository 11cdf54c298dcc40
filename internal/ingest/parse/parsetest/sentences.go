package parsetest

import "strings"

// Sentences returns sentences in a language, which is a key of AllSentences.
func Sentences(language string) []string {
	return strings.Split(strings.TrimSpace(AllSentences()[language]), "\n")
}

// AllSentences returns a paragraph in each of many languages, by language code. Each sentence is on a line of its own.
func AllSentences() map[string]string {
	return map[string]string{
		"en": `The old harbour crane still turns when the wind comes from the north.
Nobody had told the new librarian that the third shelf was only painted on the wall.
We keep the spare keys in a biscuit tin behind the flour.
After the storm the whole street smelled of wet pine and warm bread.
Please write down the number of the meter before you switch off the water.
The orchestra rehearses on Thursdays, and the neighbours have learned to love it.
If the lamp blinks twice, wait a minute and press the green button again.
Her grandmother could tell the hour from the shadow of the chimney.`,
		"de": `Der alte Hafenkran dreht sich noch immer, wenn der Wind von Norden kommt.
Niemand hatte der neuen Bibliothekarin gesagt, dass das dritte Regal nur gemalt war.
Wir bewahren die Ersatzschlüssel in einer Keksdose hinter dem Mehl auf.
Nach dem Gewitter roch die ganze Straße nach nassem Holz und frischen Brötchen.
Bitte notieren Sie den Zählerstand, bevor Sie das Wasser abstellen.
Das Orchester übt donnerstags, und die Nachbarn haben sich daran gewöhnt.
Blinkt die Lampe zweimal, so warten Sie eine Minute und drücken erneut die grüne Taste.
Ihre Großmutter konnte am Schatten des Schornsteins ablesen, wie spät es war.`,
		"fr": `La vieille grue du port tourne encore quand le vent vient du nord.
Personne n'avait prévenu la nouvelle bibliothécaire que la troisième étagère était peinte sur le mur.
Nous gardons les clés de secours dans une boîte à gâteaux, derrière la farine.
Après l'orage, toute la rue sentait le pin mouillé et le pain chaud.
Veuillez noter le relevé du compteur avant de couper l'arrivée d'eau.
L'orchestre répète le jeudi, et les voisins ont appris à l'aimer.
Si le voyant clignote deux fois, attendez une minute puis appuyez à nouveau sur la touche verte.
Sa grand-mère savait lire l'heure à l'ombre de la cheminée, même en août.`,
		"es": `La vieja grúa del puerto todavía gira cuando el viento sopla del norte.
Nadie le había dicho a la nueva bibliotecaria que el tercer estante estaba pintado en la pared.
Guardamos las llaves de repuesto en una lata de galletas, detrás de la harina.
Después de la tormenta toda la calle olía a pino mojado y a pan recién hecho.
Anote el número del contador antes de cerrar el agua, por favor.
La orquesta ensaya los jueves y los vecinos han aprendido a quererla.
Si la lámpara parpadea dos veces, espere un minuto y pulse otra vez el botón verde.
Su abuela sabía qué hora era mirando la sombra de la chimenea, también en otoño con niños alrededor.`,
		"pt": `O velho guindaste do porto ainda gira quando o vento vem do norte.
Ninguém tinha dito à nova bibliotecária que a terceira prateleira era pintada na parede.
Guardamos as chaves de reserva numa lata de bolachas atrás da farinha.
Depois da trovoada, a rua inteira cheirava a pinho molhado e a pão quente.
Anote a leitura do contador antes de fechar a água, por favor.
A orquestra ensaia às quintas-feiras, e os vizinhos aprenderam a gostar dela.
Se a lâmpada piscar duas vezes, espere um minuto e carregue outra vez no botão verde.
A avó dela sabia as horas pela sombra da chaminé, e nunca se enganava nas estações.`,
		"it": `La vecchia gru del porto gira ancora quando il vento soffia da nord.
Nessuno aveva detto alla nuova bibliotecaria che il terzo scaffale era dipinto sul muro.
Teniamo le chiavi di riserva in una scatola di biscotti dietro la farina.
Dopo il temporale tutta la strada profumava di pino bagnato e di pane caldo.
Si prega di annotare la lettura del contatore prima di chiudere l'acqua.
L'orchestra prova il giovedì, e i vicini hanno imparato a volerle bene.
Se la spia lampeggia due volte, aspettate un minuto e premete di nuovo il tasto verde.
Sua nonna capiva l'ora dall'ombra del camino, perché così le avevano insegnato in città.`,
		"nl": `De oude havenkraan draait nog altijd als de wind uit het noorden komt.
Niemand had de nieuwe bibliothecaresse verteld dat de derde plank op de muur was geschilderd.
We bewaren de reservesleutels in een koektrommel achter de bloem.
Na het onweer rook de hele straat naar nat dennenhout en warm brood.
Noteer de meterstand voordat u het water afsluit.
Het orkest repeteert op donderdag, en de buren zijn ervan gaan houden.
Als het lampje twee keer knippert, wacht dan een minuut en druk opnieuw op de groene knop.
Haar grootmoeder kon aan de schaduw van de schoorsteen zien hoe laat het was, zelfs één minuut te vroeg.`,
		"sv": `Den gamla hamnkranen vrider sig fortfarande när vinden kommer från norr.
Ingen hade berättat för den nya bibliotekarien att den tredje hyllan var målad på väggen.
Vi förvarar reservnycklarna i en kakburk bakom mjölet.
Efter åskvädret doftade hela gatan av våt tall och varmt bröd.
Skriv upp mätarställningen innan ni stänger av vattnet.
Orkestern övar på torsdagar, och grannarna har lärt sig att tycka om det.
Om lampan blinkar två gånger, vänta en minut och tryck på den gröna knappen igen.
Hennes mormor kunde se på skorstenens skugga hur mycket klockan var.`,
		"da": `Den gamle havnekran drejer stadig, når vinden kommer fra nord.
Ingen havde fortalt den nye bibliotekar, at den tredje hylde kun var malet på væggen.
Vi gemmer de ekstra nøgler i en kagedåse bag ved melet.
Efter tordenvejret duftede hele gaden af vådt fyrretræ og varmt brød.
Skriv venligst målerens tal ned, før I lukker for vandet.
Orkestret øver om torsdagen, og naboerne har lært at holde af det.
Hvis lampen blinker to gange, så vent et minut og tryk på den grønne knap igen.
Hendes bedstemor kunne se på skorstenens skygge, hvad klokken var blevet.`,
		"fi": `Vanha satamanosturi kääntyy yhä, kun tuuli puhaltaa pohjoisesta.
Kukaan ei ollut kertonut uudelle kirjastonhoitajalle, että kolmas hylly oli vain maalattu seinään.
Säilytämme vara-avaimia keksipurkissa jauhojen takana.
Myrskyn jälkeen koko katu tuoksui märältä männyltä ja lämpimältä leivältä.
Kirjoittakaa mittarin lukema muistiin ennen kuin suljette veden.
Orkesteri harjoittelee torstaisin, ja naapurit ovat oppineet pitämään siitä.
Jos lamppu vilkkuu kahdesti, odota minuutti ja paina vihreää nappia uudelleen.
Hänen isoäitinsä osasi lukea ajan savupiipun varjosta.`,
		"pl": `Stary dźwig portowy wciąż się obraca, gdy wiatr wieje z północy.
Nikt nie powiedział nowej bibliotekarce, że trzecia półka jest tylko namalowana na ścianie.
Zapasowe klucze trzymamy w puszce po ciastkach, za mąką.
Po burzy cała ulica pachniała mokrą sosną i ciepłym chlebem.
Proszę zapisać stan licznika przed zamknięciem wody.
Orkiestra ćwiczy w czwartki, a sąsiedzi zdążyli ją polubić.
Jeśli lampka mignie dwa razy, poczekaj minutę i ponownie naciśnij zielony przycisk.
Jej babcia potrafiła odczytać godzinę z cienia komina, nawet późną jesienią.`,
		"cs": `Starý přístavní jeřáb se pořád otáčí, když fouká vítr od severu.
Nikdo nové knihovnici neřekl, že třetí police je jen namalovaná na zdi.
Náhradní klíče máme v plechovce od sušenek za moukou.
Po bouřce voněla celá ulice mokrou borovicí a teplým chlebem.
Než zavřete vodu, zapište si prosím stav měřidla.
Orchestr zkouší ve čtvrtek a sousedé si na to už zvykli.
Jestliže kontrolka dvakrát blikne, počkejte minutu a znovu stiskněte zelené tlačítko.
Její babička uměla poznat čas podle stínu komína.`,
		"hu": `Az öreg kikötői daru még mindig elfordul, amikor északról fúj a szél.
Senki sem mondta meg az új könyvtárosnak, hogy a harmadik polcot csak a falra festették.
A tartalék kulcsokat egy kekszes dobozban őrizzük a liszt mögött.
A vihar után az egész utcában nedves fenyő és friss kenyér illata szállt.
Kérjük, írja fel a mérőóra állását, mielőtt elzárja a vizet.
A zenekar csütörtökönként próbál, és a szomszédok már megszerették.
Ha a lámpa kétszer felvillan, várjon egy percet, majd nyomja meg újra a zöld gombot.
A nagyanyja a kémény árnyékából is meg tudta mondani, hány óra van, és sosem tévedett hűvös időben.`,
		"ro": `Vechea macara din port încă se rotește când vântul bate dinspre nord.
Nimeni nu îi spusese noii bibliotecare că al treilea raft era doar pictat pe perete.
Păstrăm cheile de rezervă într-o cutie de biscuiți, în spatele făinii.
După furtună toată strada mirosea a pin ud și a pâine caldă.
Vă rugăm să notați indexul contorului înainte de a închide apa.
Orchestra repetă joia, iar vecinii au învățat să o îndrăgească.
Dacă becul clipește de două ori, așteptați un minut și apăsați din nou butonul verde.
Bunica ei știa cât este ceasul după umbra hornului.`,
		"tr": `Eski liman vinci, rüzgâr kuzeyden estiğinde hâlâ dönüyor.
Yeni kütüphaneciye üçüncü rafın yalnızca duvara boyandığını kimse söylememişti.
Yedek anahtarları unun arkasındaki bisküvi kutusunda saklıyoruz.
Fırtınadan sonra bütün sokak ıslak çam ve sıcak ekmek kokuyordu.
Lütfen suyu kapatmadan önce sayacın değerini not edin.
Orkestra perşembe günleri çalışıyor ve komşular bunu sevmeyi öğrendi.
Lamba iki kez yanıp sönerse bir dakika bekleyin ve yeşil düğmeye yeniden basın.
Büyükannesi bacanın gölgesine bakarak saatin kaç olduğunu bilirdi.`,
		"ru": `Старый портовый кран всё ещё поворачивается, когда ветер дует с севера.
Никто не сказал новой библиотекарше, что третья полка просто нарисована на стене.
Запасные ключи мы храним в жестянке из-под печенья, за мукой.
После грозы вся улица пахла мокрой сосной и тёплым хлебом.
Пожалуйста, запишите показания счётчика, прежде чем перекрыть воду.
Оркестр репетирует по четвергам, и соседи успели его полюбить.
Если лампа мигнёт дважды, подождите минуту и снова нажмите зелёную кнопку.
Её бабушка умела узнавать время по тени от печной трубы.`,
		"uk": `Старий портовий кран і досі повертається, коли вітер дме з півночі.
Ніхто не сказав новій бібліотекарці, що третю полицю лише намальовано на стіні.
Запасні ключі ми тримаємо в бляшанці з-під печива, за борошном.
Після грози вся вулиця пахла мокрою сосною та теплим хлібом.
Будь ласка, запишіть показники лічильника, перш ніж перекрити воду.
Оркестр репетирує щочетверга, і сусіди встигли його полюбити.
Якщо лампа блимне двічі, зачекайте хвилину й знову натисніть зелену кнопку.
Її бабуся вміла визначати час за тінню від димаря.`,
		"bg": `Старият пристанищен кран още се върти, когато вятърът духа от север.
Никой не беше казал на новата библиотекарка, че третият рафт е само нарисуван на стената.
Държим резервните ключове в кутия от бисквити зад брашното.
След бурята цялата улица миришеше на мокър бор и топъл хляб.
Моля, запишете показанието на водомера, преди да спрете водата.
Оркестърът репетира в четвъртък и съседите вече го обичат.
Ако лампата мигне два пъти, изчакайте една минута и отново натиснете зеления бутон.
Баба ѝ познаваше колко е часът по сянката на комина.`,
		"el": `Ο παλιός γερανός του λιμανιού γυρίζει ακόμα όταν ο άνεμος φυσά από τον βορρά.
Κανείς δεν είχε πει στη νέα βιβλιοθηκάριο ότι το τρίτο ράφι ήταν μόνο ζωγραφισμένο στον τοίχο.
Φυλάμε τα εφεδρικά κλειδιά σε ένα κουτί από μπισκότα, πίσω από το αλεύρι.
Μετά την καταιγίδα όλος ο δρόμος μύριζε βρεγμένο πεύκο και ζεστό ψωμί.
Παρακαλούμε σημειώστε την ένδειξη του μετρητή πριν κλείσετε το νερό.
Η ορχήστρα κάνει πρόβα κάθε Πέμπτη και οι γείτονες έμαθαν να την αγαπούν.
Αν η λάμπα αναβοσβήσει δύο φορές, περιμένετε ένα λεπτό και πατήστε ξανά το πράσινο κουμπί.
Η γιαγιά της ήξερε την ώρα από τη σκιά της καμινάδας.`,
		"he": `מנוף הנמל הישן עדיין מסתובב כשהרוח נושבת מצפון.
איש לא סיפר לספרנית החדשה שהמדף השלישי רק מצויר על הקיר.
אנחנו שומרים את המפתחות הרזרביים בקופסת עוגיות מאחורי הקמח.
אחרי הסערה הריח כל הרחוב מאורן רטוב ומלחם חם.
נא לרשום את קריאת המונה לפני שסוגרים את המים.
התזמורת מתאמנת בימי חמישי, והשכנים למדו לאהוב אותה.
אם הנורה מהבהבת פעמיים, המתינו דקה ולחצו שוב על הכפתור הירוק.
סבתה ידעה מה השעה לפי צל הארובה.`,
		"ar": `ما زالت رافعة الميناء القديمة تدور عندما تهب الريح من الشمال.
لم يخبر أحد أمينة المكتبة الجديدة أن الرف الثالث مرسوم على الجدار فقط.
نحتفظ بالمفاتيح الاحتياطية في علبة بسكويت خلف الدقيق.
بعد العاصفة كان الشارع كله يفوح برائحة الصنوبر المبلل والخبز الساخن.
يرجى تسجيل قراءة العداد قبل إغلاق الماء.
تتدرب الفرقة الموسيقية كل خميس، وقد تعلم الجيران أن يحبوها.
إذا ومض المصباح مرتين فانتظر دقيقة ثم اضغط على الزر الأخضر مرة أخرى.
كانت جدتها تعرف الساعة من ظل المدخنة.`,
		"th": `เครนเก่าที่ท่าเรือยังคงหมุนเมื่อลมพัดมาจากทิศเหนือ
ไม่มีใครบอกบรรณารักษ์คนใหม่ว่าชั้นที่สามเป็นเพียงภาพวาดบนผนัง
เราเก็บกุญแจสำรองไว้ในกล่องขนมหลังถุงแป้ง
หลังพายุฝน ทั้งถนนมีกลิ่นไม้สนเปียกและขนมปังอุ่น
กรุณาจดตัวเลขมิเตอร์ก่อนปิดน้ำ
วงดนตรีซ้อมทุกวันพฤหัสบดี และเพื่อนบ้านก็เริ่มชอบแล้ว
ถ้าหลอดไฟกะพริบสองครั้ง ให้รอหนึ่งนาทีแล้วกดปุ่มสีเขียวอีกครั้ง
คุณยายของเธอดูเวลาได้จากเงาของปล่องไฟ`,
		"vi": `Chiếc cần cẩu cũ ở bến cảng vẫn quay mỗi khi gió thổi từ phương bắc.
Không ai nói với cô thủ thư mới rằng cái kệ thứ ba chỉ được vẽ trên tường.
Chúng tôi cất chìa khóa dự phòng trong hộp bánh quy phía sau bao bột mì.
Sau cơn bão cả con phố thơm mùi gỗ thông ướt và bánh mì nóng.
Xin hãy ghi lại chỉ số đồng hồ trước khi khóa nước.
Dàn nhạc tập vào thứ năm, và hàng xóm đã học cách yêu thích điều đó.
Nếu đèn nhấp nháy hai lần, hãy đợi một phút rồi nhấn lại nút màu xanh.
Bà của cô ấy biết xem giờ theo bóng của ống khói.`,
		"lt": `Senasis uosto kranas vis dar sukasi, kai vėjas pučia iš šiaurės.
Niekas naujajai bibliotekininkei nepasakė, kad trečioji lentyna tik nupiešta ant sienos.
Atsarginius raktus laikome sausainių dėžutėje už miltų.
Po audros visa gatvė kvepėjo šlapia pušimi ir šilta duona.
Prieš užsukdami vandenį užsirašykite skaitiklio rodmenis.
Orkestras repetuoja ketvirtadieniais, ir kaimynai jį pamėgo.
Jei lemputė sumirksi du kartus, palaukite minutę ir vėl paspauskite žalią mygtuką.
Jos močiutė iš kamino šešėlio mokėjo pasakyti, kelinta valanda.`,
		"hr": `Stara lučka dizalica još se okreće kad vjetar puše sa sjevera.
Nitko novoj knjižničarki nije rekao da je treća polica samo naslikana na zidu.
Rezervne ključeve držimo u limenci od keksa iza brašna.
Nakon oluje cijela je ulica mirisala na mokri bor i topli kruh.
Molimo zapišite stanje brojila prije nego što zatvorite vodu.
Orkestar vježba četvrtkom, a susjedi su ga naučili voljeti.
Ako lampica dvaput zatreperi, pričekajte minutu i ponovno pritisnite zelenu tipku.
Njezina je baka po sjeni dimnjaka znala koliko je sati.`,
		"ja": `古い港のクレーンは、北風が吹くと今でもゆっくり回ります。
新しい司書に、三段目の棚は壁に描かれた絵だと誰も教えませんでした。
予備の鍵は、小麦粉の後ろにあるビスケットの缶に入れてあります。
嵐のあと、通り全体がぬれた松と温かいパンの香りに包まれました。
水を止める前に、メーターの数字を書き留めてください。
オーケストラは木曜日に練習し、近所の人たちもそれを楽しむようになりました。
ランプが二回点滅したら、一分待ってから緑のボタンをもう一度押してください。
彼女の祖母は、煙突の影を見て時刻がわかりました。`,
		"zh": `北风一吹，港口那台旧吊车还会慢慢转动。
没有人告诉新来的图书管理员，第三个书架只是画在墙上的。
我们把备用钥匙放在面粉后面的饼干盒里。
暴风雨过后，整条街都是湿松木和热面包的味道。
关水之前，请先记下水表上的数字。
乐队每个星期四排练，邻居们也渐渐喜欢上了。
如果灯闪两次，请等一分钟，然后再按一次绿色按钮。
她的祖母看着烟囱的影子就知道几点钟。`,
		"zh-Hant": `北風一吹，港口那臺舊吊車還會慢慢轉動。
沒有人告訴新來的圖書管理員，第三個書架只是畫在牆上的。
我們把備用鑰匙放在麵粉後面的餅乾盒裡。
暴風雨過後，整條街都是濕松木和熱麵包的味道。
關水之前，請先記下水錶上的數字。
樂隊每個星期四排練，鄰居們也漸漸喜歡上了。
如果燈閃兩次，請等一分鐘，然後再按一次綠色按鈕。
她的祖母看著煙囪的影子就知道幾點鐘。`,
		"ko": `북풍이 불면 항구의 낡은 크레인은 아직도 천천히 돌아간다.
새로 온 사서에게 세 번째 선반이 벽에 그린 그림이라는 것을 아무도 말해 주지 않았다.
우리는 여분의 열쇠를 밀가루 뒤에 있는 과자 상자에 보관한다.
폭풍이 지나간 뒤 거리 전체에서 젖은 소나무와 따뜻한 빵 냄새가 났다.
물을 잠그기 전에 계량기의 숫자를 적어 두십시오.
오케스트라는 목요일마다 연습하고 이웃들도 그것을 좋아하게 되었다.
등이 두 번 깜박이면 일 분 동안 기다렸다가 녹색 단추를 다시 누르십시오.
그녀의 할머니는 굴뚝의 그림자를 보고 시간을 알 수 있었다.`,
		"hi": `पुराने बंदरगाह की क्रेन अब भी घूमती है जब हवा उत्तर से आती है।
नई पुस्तकालयाध्यक्ष को किसी ने नहीं बताया था कि तीसरी अलमारी केवल दीवार पर बनाई गई है।
हम अतिरिक्त चाबियाँ आटे के पीछे बिस्कुट के डिब्बे में रखते हैं।
तूफान के बाद पूरी सड़क गीली लकड़ी और गरम रोटी की खुशबू से भर गई।
पानी बंद करने से पहले कृपया मीटर की संख्या लिख लें।
वाद्यवृंद हर गुरुवार को अभ्यास करता है और पड़ोसी अब उसे पसंद करते हैं।
अगर बत्ती दो बार जले तो एक मिनट रुकें और फिर से हरा बटन दबाएँ।
उसकी दादी चिमनी की छाया देखकर समय बता देती थीं।`,
	}
}
