package meeting_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/event/meeting"
)

func TestTranscriptsAreReadBySpeakers(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct{ text, want string }{
		"Zoom": {
			"WEBVTT\n\n1\n00:00:03.000 --> 00:00:05.000\nAda Lovelace: The xylophone\n\n2\n00:00:05.000 --> 00:00:06.000\nAda Lovelace: is late.\n\n3\n00:01:06.000 --> 00:01:07.000\nBob: Fine: we wait.\n",
			"**Ada Lovelace** (0:00:03): The xylophone is late.\n\n**Bob** (0:01:06): Fine: we wait.",
		},
		"Teams": {
			"\uFEFFWEBVTT\r\n\r\nid/1-0\r\n00:00:16.246 --> 00:00:17.726\r\n<v Ada>One &amp; two.</v>\r\n\r\nid/2-0\r\n00:00:17.800 --> 00:00:18.000\r\n<v Bob><i>Three</i></v>\r\n",
			"**Ada** (0:00:16): One & two.\n\n**Bob** (0:00:17): Three",
		},
		"a pause":        {"WEBVTT\n\n00:01.000 --> 00:02.000\nAda: One.\n\n01:00.000 --> 01:01.000\nAda: Two.\n", "**Ada** (0:00:01): One.\n\n(0:01:00) Two."},
		"no speaker":     {"WEBVTT\n\n00:01.000 --> 00:02.000\nWe saw this, as he said: nothing.\n", "(0:00:01) We saw this, as he said: nothing."},
		"notes, styles":  {"WEBVTT - title\n\nNOTE a remark\n\nSTYLE\n::cue {}\n\n00:01.000 --> 00:02.000 align:start\nAda: One.\n", "**Ada** (0:00:01): One."},
		"markup of text": {"WEBVTT\n\n00:01.000 --> 00:02.000\nAda: *a* [b](c) # `d`\n", "**Ada** (0:00:01): \\*a\\* \\[b\\](c) \\# \\`d\\`"},
		"bad times":      {"WEBVTT\n\nx --> y\nAda: One.\n", ""},
		"nothing":        {"WEBVTT", ""},
	} {
		turns, err := meeting.ReadVTT(try.text)
		if got := meeting.Render(turns); err != nil || got != try.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "<html>", "1\n00:00:03,000 --> 00:00:05,000\nx"} {
		if _, err := meeting.ReadVTT(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestAHostileTranscriptEndsSoon(t *testing.T) {
	t.Parallel()
	start := time.Now()
	for _, text := range []string{
		strings.Repeat("\n", 500_000), strings.Repeat("00:01.000 --> 00:02.000\n", 200_000), "\n00:01.000 --> 00:02.000\n" + strings.Repeat("<v ", 300_000), strings.Repeat("\n\n00:01.000 --> 00:02.000\nA: b", 90_000),
	} {
		turns, err := meeting.ReadVTT("WEBVTT\n" + text)
		if err == nil {
			_ = meeting.Render(turns)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

func FuzzVTT(f *testing.F) {
	f.Add("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ada>One</v>\n")
	f.Add("WEBVTT\n\n1\n00:00:03.000 --> 00:00:05.000\nAda: x")
	f.Fuzz(func(t *testing.T, text string) {
		turns, err := meeting.ReadVTT(text)
		if err != nil {
			return
		}
		for _, turn := range turns {
			if turn.At < 0 || len(turn.Speaker) > 100 || turn.Text == "" {
				t.Errorf("a turn is %+v", turn)
			}
		}
		_ = meeting.Render(turns)
	})
}
