package analysis

import "strings"

// stopWords tells for each word of a query, given in lower case without diacritics, whether it is a stop word. Where the
// language is not known the list that knows most of the words is used, so that "die" is a stop word in a German question and
// not in an English one; the earlier list wins a tie, and one word alone proves no language but the first.
func stopWords(words []string, languages audience) []bool {
	stops := make([]bool, len(words))
	best, most := "", 0
	for _, list := range stopLists() {
		if !languages.has(list.code) {
			continue
		}
		count := 0
		for _, word := range words {
			if list.has(word) {
				count++
			}
		}
		if len(languages) != 1 && list.code != "en" && count < 2 {
			continue
		}
		if count > most {
			best, most = list.words, count
		}
	}
	if most == 0 {
		return stops
	}
	list := stopList{words: best}
	for i, word := range words {
		stops[i] = list.has(word)
	}
	return stops
}

// stopList is the closed-class words of a language, in lower case, without diacritics, each between blanks.
type stopList struct{ code, words string }

func (l stopList) has(word string) bool { return strings.Contains(l.words, " "+word+" ") }

func stopLists() []stopList {
	return []stopList{
		{"en", " a about am an and are as at be been being but by can could did do does doing don for from had has have having he her hers him his how i if in into is isn it its me my of on or our ours she should so some than that the their them then there these they this those to too us was we were what when where which while who whom why will with would you your yours "},
		{"de", " aber als am an auch auf aus bei bin bis da damit dann das dass dein dem den der des dessen die dies diese diesem diesen dieser dieses doch du durch ein eine einem einen einer eines er es euer fur habe haben hat hatte ich ihr im in ist ja kann kein keine konnen mein mich mir mit nach noch nur oder ohne sein seine sich sie sind so uber um und uns unter vom von vor war waren was welche welcher wenn wer werden wie wird wo wurde zu zum zur zwischen "},
		{"fr", " a ai au aux avec ce ces cet cette comme comment dans de des du elle elles en est et etre eu il ils je la le les leur leurs lui ma mais me mes mon ne nos notre nous on ont ou par pas peut plus pour pourquoi qu quand que quel quelle quelles quels qui sa sans se ses si son sont sous sur ta te tes ton tu un une vos votre vous "},
		{"es", " a al como con cual cuales cuando de del donde e el ella ellas ellos en entre era es esa ese eso esta estan este esto estos fue ha han hay la las le les lo los mas me mi mis muy no nos o para pero por porque puede que quien se ser si sin sobre son su sus tambien te tiene tu un una unas uno unos y ya yo "},
		{"it", " a ad al alla anche che chi ci come con cosa da dal dalla de dei del della delle di do dove e ed era gli ha hanno ho i il in io la le lei li lo loro ma mi nel nella non o per perche piu puo qual quale quando questa questo se si sono su sul sulla tra un una uno "},
		{"pt", " a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi ha isso isto ja mais mas me meu minha muito na nao nas no nos o os ou para pela pelo por porque qual quando que quem se sem ser seu sua sao tambem te tem um uma voce "},
		{"nl", " aan als bij dan dat de der deze die dit door een en er had heb heeft het hij hoe hun ik in is je kan maar me met mijn na naar niet nog of om onder ons ook op over te tot uit van voor waar wanneer waren was wat we werd wie wij wordt ze zich zij zijn "},
		{"ru", " а без бы был была были было быть в вам вас во вот все вы где да для до его ее если есть еще же за и из или им их к как когда кто ли между меня мне мы на над не него нее нет ни них но о об он она они оно от по под при с со так также там то только у уже чем что чтобы это этот я "},
		{"sv", " alla att av da de den denna det detta dig din du ej eller en er ett for fran han har hon hur i inte jag kan man med men mig min mot nar ni nu och om oss pa sa sig sin ska som till upp ut vad var vara vi vid vilka vilken ar "},
		{"no", " a alle at av da de den denne det dette du eller en enn er et for fra ha han har hun hva hvor hvordan hvorfor i ikke jeg kan kva man med meg men min mot nar og om opp oss pa sa seg sin ska skal som til under ut var vi ved vil "},
		{"hu", " a az azt be csak de egy el en es ez ezt fel ha hogy hol igen is itt ki kell le lehet mar meg mely mi miert mikor milyen mint mit most nem o ok ott s sem ti van vagy volt "},
	}
}

// StopWords returns the stop words of every language that has a list, in lower case, without diacritics, unsorted and
// possibly repeated.
func StopWords() []string {
	var all []string
	for _, list := range stopLists() {
		all = append(all, strings.Fields(list.words)...)
	}
	return all
}
