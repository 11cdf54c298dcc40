package stopword

const french = `
le la les l un une des du de d au aux
je j me m moi mon ma mes tu te t toi ton ta tes il elle on se s soi son sa ses nous notre nos vous votre vos ils elles leur leurs lui eux y en même mêmes
ce c cet cette ces ceci cela ça celui celle ceux celles chaque tout toute tous toutes quelque quelques aucun aucune autre autres
qui que qu quoi dont où quel quelle quels quelles lequel laquelle lesquels lesquelles quand comment pourquoi combien
et ou mais donc or ni car si comme lorsque puisque quoique parce afin ainsi
à dans par pour sur sous avec sans entre vers chez contre depuis pendant avant après dès jusque selon
suis es est sommes êtes sont était étaient été être sera seront serait soit ai as a avons avez ont avait avaient eu avoir aura auront
peut peuvent pouvez pouvoir doit doivent devez devoir fait faire faut va vont
ne n pas plus non aussi très
`

const spanish = `
el la los las lo un una unos unas al del
yo me mí mi mis mío tú te ti tu tus él ella ello le se sí su sus suyo nosotros nosotras nos nuestro nuestra nuestros nuestras vosotros os vuestro vuestra ellos ellas les usted ustedes
este esta esto estos estas ese esa eso esos esas aquel aquella aquello aquellos aquellas cada todo toda todos todas algún alguno alguna algunos algunas otro otra otros otras
quien quién quienes que qué cual cuál cuales cuáles cuando cuándo donde dónde como cómo cuanto cuánto cuánta cuántos cuántas porqué
y e o u pero sino ni si porque aunque mientras pues así
a ante bajo con contra de desde durante en entre hacia hasta para por según sin sobre tras
soy eres es somos son era eran fue fueron ser sido sea será estoy está están estaba estar estado he ha han había haber hay hemos hasta tiene tienen tener
puede pueden puedo podemos poder debe deben deber hace hacer
no ya muy también más menos
`

const italian = `
il lo la i gli le l un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal dallo dalla dai dagli dalle dall nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle sull col
io mi me mio mia miei mie tu ti te tuo tua tuoi tue lui lei egli ella esso essa si sé suo sua suoi sue noi ci nostro nostra nostri nostre voi vi vostro vostra vostri vostre loro essi esse ne
questo questa questi queste quello quella quelli quelle quei quegli ogni tutto tutta tutti tutte alcuni alcune altro altra altri altre
chi che cosa quale quali quando dove come perché quanto quanta quanti quante cui
e ed o od ma però né se anche mentre poiché quindi così
a ad con contro da di d in per su tra fra senza verso durante
sono sei è siamo siete era erano essere stato stata stati state sia sarà ho hai ha abbiamo avete hanno aveva avere
può possono posso possiamo potete potere deve devono devo dovere fa fare viene vengono
non più già molto
`

const portuguese = `
o a os as um uma uns umas ao aos à às do da dos das no na nos nas num numa pelo pela pelos pelas dum duma
eu me mim meu minha meus minhas tu te ti teu tua você vocês ele ela lhe lhes se si seu sua seus suas nós nosso nossa nossos nossas eles elas dele dela deles delas
este esta isto estes estas esse essa isso esses essas aquele aquela aquilo aqueles aquelas neste nesta desse dessa deste desta cada todo toda todos todas algum alguma alguns algumas outro outra outros outras
quem que quê qual quais quando onde como quanto quanta quantos quantas porquê
e ou mas nem se porque pois embora enquanto
a ante com contra de desde durante em entre para por perante sem sob sobre até após
sou é somos são era eram foi foram ser sido seja será estou está estão estava estar há havia haver tem têm tinha ter
pode podem posso podemos poder deve devem dever faz fazer
não já muito também mais
`

const romanian = `
un o unui unei unor niște cel cea cei cele celui celei celor al ai ale a lui
eu mă mie îmi mi meu mea mei mele tu te ție îți ți tău ta tăi tale el ea îl i se își și său sa săi sale noi ne nouă nostru noastră noștri noastre voi vă vouă vostru voastră voștri voastre ei ele le lor
acest această acești aceste acestui acestei acestor aceasta acesta acestea aceștia acel acea acei acele acela aceea fiecare tot toată toți toate alt altă alți alte unii unele
cine cui care cărui cărei căror ce când unde cum cât câtă câți câte
și sau dar iar ci însă dacă că să deși fiindcă deoarece pentru încât decât ori
la de din pe cu în într întru între prin până spre sub peste fără după despre către lângă contra dintre dintr printr
sunt ești este e suntem sunteți era erau fi fost fie va vor voi am ai are avem aveți au avea aș ar ați poate pot putea trebuie
nu mai foarte doar numai aici acolo atunci acum
`

const catalan = `
el la els les l lo un una uns unes al als del dels pel pels en na
jo em m me mi meu meva meus meves tu et t te teu teva teus teves ell ella es s se si seu seva seus seves nosaltres ens nostre nostra nostres vosaltres us vos vostre vostra vostres vostès vostè ells elles li els hi ho ne n
aquest aquesta aquests aquestes això aquell aquella aquells aquelles allò cada tot tota tots totes algun alguna alguns algunes altre altra altres cap
qui què que qual quals quan on com quant quanta quants quantes perquè
i o però ni si doncs sinó mentre encara així
a amb ab contra de d des durant entre fins malgrat per sense segons sobre sota vers cap
sóc ets és som sou són era eren fou ser sigut estat sigui serà estic està estan estava estar he has ha hem heu han havia haver hi tinc té tenen tenir
pot poden puc podeu poder cal ha vol voleu fa fer va van
no ja molt també més menys
`
