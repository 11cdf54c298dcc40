package subtitle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/ingest/parse/parsetest"
)

func TestSubtitles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, text, want string }{
		"SubRip": {"a.srt", "1\n00:00:01,000 --> 00:00:02,500\nThe old <i>crane</i>\nstill turns\n\n2\n00:00:03,000 --> 00:00:04,000\n{\\an8}when the wind comes.\n\n3\n00:00:20,000 --> 00:00:21,000\n- Really?\n- Yes.\n",
			"The old crane still turns when the wind comes.\n\n- Really?\n- Yes."},
		"WebVTT": {"a.vtt", "WEBVTT - Harbour\nKind: captions\n\nSTYLE\n::cue { color: red }\n\nNOTE by the port\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Ada>Keep right &amp; calm.\n\n00:02.000 --> 00:03.000\n<c.loud>Keep</c> going.\n\n00:03.000 --> 00:04.000\nKeep going.\n",
			"Harbour\n\nby the port\n\nAda: Keep right & calm. Keep going."},
		"by content": {"a.txt", "1\n00:00:01,000 --> 00:00:02,500\nText\n", "Text"},
	} {
		if diff := cmp.Diff(c.want, parsetest.Read(t, c.file, c.text).Markdown()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
