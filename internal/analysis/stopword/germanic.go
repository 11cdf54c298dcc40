package stopword

const english = `
a an the
i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours ourselves
they them their theirs themselves this that these those
who whom whose which what when where why how
and or but if than then because while although though so nor yet
of at by for with about between into through during to from in out on off over under up down as per via without within
am is are was were be been being have has had having do does did doing can could will would shall should may might must ought
not no don doesn didn isn aren wasn weren won wouldn couldn shouldn
there here some any each such also too very just only
`

const german = `
der die das den dem des dessen deren denen ein eine einen einem einer eines kein keine keinen keinem keiner keines
ich mich mir mein meine meinen meinem meiner du dich dir dein deine deinen deinem deiner er ihn ihm sein seine seinen seinem seiner
sie ihr ihre ihren ihrem ihrer ihnen es wir uns unser unsere unseren unserem unserer euch euer eure man sich selbst
dies diese diesen diesem dieser dieses jene jenen jenem jener jenes jede jeden jedem jeder jedes alle alles allen allem aller andere anderen anderem anderer anderes einige einigen einigem einiger einiges manche manchen manchem mancher manches
solche solchen solchem solcher solches derselbe dieselbe dasselbe etwas nichts
wer wen wem wessen was welche welchen welchem welcher welches wann wo woher wohin warum wieso weshalb wie wozu womit wofür
und oder aber denn sondern wenn als ob dass daß weil damit obwohl während bevor nachdem sowie
an am ans auf aus bei beim bis durch für gegen hinter in im ins mit nach neben ohne über um unter von vom vor zu zum zur zwischen
bin bist ist sind seid war waren wäre wären gewesen habe hast hat haben hatte hatten hätte wird werden werde wurde wurden würde worden
kann können konnte könnte muss müssen musste soll sollen sollte will wollen wollte mag möchte
nicht nur noch auch schon so sehr da dann dort hier doch ja nein also dazu hin nun sonst wieder zwar jetzt
`

const dutch = `
de het een der den
ik mij me mijn jij je jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hen hun zich zelf men
dit dat deze die elk elke ieder iedere alle andere
wie wat welk welke wanneer waar waarom hoe waarmee waarvoor hoeveel
en of maar want dus als dan dat omdat doordat terwijl hoewel zodat toen voordat nadat
aan achter bij binnen boven buiten door in langs met na naar naast om onder op over per sinds te tegen ten ter tijdens tot tussen uit van vanaf via voor zonder
ben bent is zijn was waren geweest heb hebt heeft hebben had hadden word wordt worden werd werden geworden
kan kunt kunnen kon konden zal zult zullen zou zouden moet moeten moest mag mogen wil willen
niet geen ook nog al wel er hier daar zo zeer
`

const swedish = `
en ett den det de
jag mig min mitt mina du dig din ditt dina han honom hans hon henne hennes vi oss vår vårt våra ni er ert era dem deras sig sin sitt sina man själv
denna detta dessa varje alla allt all någon något några ingen inget inga annan annat andra
vem vems vad vilken vilket vilka när var vart varför hur
och eller men utan om att som än då medan därför eftersom så samt
av bakom efter enligt ej för från före genom hos i in inom med mellan mot på under upp ut utan vid åt över till
är var vara varit har hade ha haft blir blev bli blivit kan kunde kunna ska skall skulle vill ville måste får fick få bör borde
inte icke också bara här där nu då redan mycket sådan sådana
`

const norwegian = `
en ei et den det de
jeg eg meg min mi mitt mine du deg din ditt dine han ham hans hun ho henne hennes vi oss vår vårt våre dere deres dem seg sin sitt sine man selv
denne dette disse hver hvert alle alt noen noe ingen intet annen annet andre
hvem hvem hva hvilken hvilket hvilke når hvor hvorfor hvordan kva kven korleis kvifor kvar
og eller men om at som enn da mens fordi så samt
av bak etter for fra før gjennom hos i inn innen med mellom mot på under opp ut uten ved over til
er var være vært har hadde ha hatt blir ble bli blitt kan kunne skal skulle vil ville må måtte får fikk få bør burde
ikke ikkje også bare her der nå da allerede meget slik slike
`

const danish = `
en et den det de
jeg mig min mit mine du dig din dit dine han ham hans hun hende hendes vi os vores vor vort i jer jeres dem deres sig sin sit sine man selv
denne dette disse hver hvert alle alt nogen noget nogle ingen intet anden andet andre
hvem hvis hvad hvilken hvilket hvilke hvornår hvor hvorfor hvordan
og eller men om at som end da mens fordi så samt når der
af bag efter for fra før gennem hos i ind inden med mellem mod på under op ud uden ved over til ad
er var være været har havde have haft bliver blev blive blevet kan kunne skal skulle vil ville må måtte får fik få bør burde
ikke også kun her nu da allerede meget sådan sådanne
`
