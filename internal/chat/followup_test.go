package chat_test

import (
	"slices"
	"testing"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/search"
)

func TestFollowUpsComeFromUnusedHeadings(t *testing.T) {
	t.Parallel()
	in := func(language string, hits ...search.Hit) []search.Hit {
		for i := range hits {
			hits[i].Language = language
		}
		return hits
	}
	untitled := passage("", "", "", 0.5)
	untitled.Headings = nil
	for name, test := range map[string]struct {
		question string
		hits     []search.Hit
		used     []int
		want     []string
	}{
		"english": {"How do retries work?", in("en",
			passage("Retries", "The retry policy", "", 0.9),
			passage("Queues", "Create a `queue`", "", 0.8),
			passage("Queues", "How to pause a queue", "", 0.8),
			passage("FAQ", "Can I run two servers?", "", 0.7),
			passage("Nodes", "What a node does", "", 0.7),
		), []int{0}, []string{"How do I create a queue?", "How do I pause a queue?", "Can I run two servers?", "What a node does?"}},
		"german": {"Wie geht eine Sicherung?", in("de-AT",
			passage("Sicherung", "Eine Sicherung einspielen", "", 0.9),
			passage("Knoten", "Knoten einrichten", "", 0.8),
			passage("Grenzen", "2.1 Größe der Nutzdaten", "", 0.8),
		), nil, []string{"Wie geht „Eine Sicherung einspielen“?", "Wie geht „Knoten einrichten“?", "Was steht in den Dokumenten über „Größe der Nutzdaten“?"}},
		"another language": {"Comment faire une sauvegarde ?", in("fr", passage("Sauvegarde", "Restaurer un serveur", "", 0.9)),
			nil, []string{"Restaurer un serveur?"}},
		"other languages are left out": {"How do I install it on my server?", append(
			in("de", passage("Knoten", "Knoten einrichten", "", 0.8)), passage("Nodes", "Add nodes later", "", 0.7)),
			nil, []string{"How do I add nodes later?"}},
		"one word needs its title": {"How do I install it on my server?", in("en", passage("Installation", "Files", "", 0.8)),
			nil, []string{"What do the documents say about “Installation: Files”?"}},
		"idle headings give way": {"How do I install it on my server?", in("en",
			passage("Large payloads", "Overview", "", 0.8), passage("Large payloads", "See also:", "", 0.8), passage("***", "12.", "", 0.8), untitled),
			nil, []string{"What do the documents say about “Large payloads”?"}},
		"what was asked is not offered": {"How do I create a queue?", in("en", passage("Queues", "Create a queue", "", 0.8)), nil, []string{}},
		"a used heading in another version": {"How is it done, and why?", in("en",
			passage("Backup", "Restore a backup", "", 0.8), passage("Backup 1.0", "Restore a backup", "", 0.8)), []int{0}, []string{}},
	} {
		if got := chat.FollowUps(test.question, test.hits, test.used...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestLanguagesOfQuestions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"How do I install it?": "en", "signing key leaked": "", "Wie installiere ich das?": "de", "Schlüssel": "de",
		"was ist eine Warteschlange": "de", "what is a queue": "en", "kv.rangefeed.enabled": "", "Comment installer ?": "",
	} {
		if got := chat.LanguageOf(text); got != want {
			t.Errorf("%q = %q, want %q", text, got, want)
		}
	}
}
