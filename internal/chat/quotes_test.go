package chat_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/chat"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// manual is a small manual as search would find it.
func manual() []search.Hit {
	german := passage("Sicherung", "Sicherung einspielen", "Halten Sie den Dienst an, bevor Sie eine Sicherung einspielen. Das dauert z. B. bei 2 GB etwa eine Minute. Danach starten Sie ihn neu:\n\n```sh\nsystemctl start tidewater\n```\n", 0.7)
	german.Language = "de"
	return []search.Hit{
		passage("Retries", "The retry policy", "Tidewater tries a failed job up to eight times, with a pause\nthat doubles after each attempt. Change it for one queue:\n\n```sh\ntidectl queue update shop/invoices --max-attempts 12\n# lines of code stay together. Always.\n```\n\nThe first pause of a failed job is five seconds, e.g. after a crash.", 0.81),
		passage("Retries", "Settings", "| Setting | Default |\n|---|---|\n| `queue.retry.max_attempts` | 8 |\n| `queue.retry.multiplier` | 2.0 |\n", 0.66),
		passage("Dead letters", "Dead letters", "After the last attempt a failed job becomes a dead letter. Does it vanish? Dead letters can be brought back:\n\n1. Fix the handler.\n2. Run `tidectl dead retry --queue shop/invoices --rate 5`.\n", 0.58),
		passage("Retries 1.0", "The retry policy", "Tidewater tries a failed job up to eight times, with a pause that doubles after each attempt.", 0.52),
		german,
		passage("Limits", "Payload size", "A payload may have one mebibyte.", 0.33),
	}
}

func TestExtractiveAnswersAreQuotes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := w.chat(t, &fakeSearcher{hits: manual()}, nil, chat.Options{})
	v := w.key()
	var out strings.Builder
	for _, question := range []string{
		"How often does Tidewater try a failed job again?",
		"How do I change the max attempts of a queue?",
		"queue.retry.multiplier",
		"How are dead letters brought back?",
		"Wie kann ich eine Sicherung einspielen?",
	} {
		ctx := viewer.With(t.Context(), v)
		events, err := c.Stream(ctx, chat.Request{Message: question})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "===== %s\n", question)
		text := ""
		for event := range events {
			switch e := event.(type) {
			case chat.Start:
				out.WriteString("start\n")
			case chat.Content:
				text += e.Delta
				fmt.Fprintf(&out, "content %q\n", e.Delta)
			case chat.Sources:
				for i, s := range e.Sources {
					fmt.Fprintf(&out, "source %d %s %s\n", i+1, s.Title, s.URL)
				}
			case chat.FollowUp:
				fmt.Fprintf(&out, "follow-up %q\n", e.Questions)
			case chat.Done:
				fmt.Fprintf(&out, "done %+v\n", e.Usage)
			case chat.Failed:
				t.Errorf("%s: %+v", question, e)
			}
		}
		fmt.Fprintf(&out, "----- as it is shown\n%s\n\n", text)
	}
	golden := filepath.Join("testdata", "extractive.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("the answers differ from %s (rewrite it with -update when they should):\n%s", golden, &out)
	}
}

func TestFootnotesOfAPassageAreEscaped(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := w.chat(t, &fakeSearcher{hits: []search.Hit{
		passage("Keys", "Rotation", "The signing key is rotated once a year [2], see args[1] of the rotate command.", 0.9),
	}}, nil, chat.Options{})
	events, err := c.Stream(viewer.With(t.Context(), w.key()), chat.Request{Message: "How is the signing key rotated?"})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for event := range events {
		switch e := event.(type) {
		case chat.Content:
			text += e.Delta
		case chat.Sources:
			if len(e.Sources) != 1 {
				t.Errorf("sources %v", e.Sources)
			}
		case chat.Failed:
			t.Errorf("failed: %+v", e)
		}
	}
	if want := `rotated once a year \[2\], see args[1] of the rotate command. [1]`; !strings.HasSuffix(text, want) {
		t.Errorf("got %q, want it to end with %q", text, want)
	}
}
