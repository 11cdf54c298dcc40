package console_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/console"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func consoleOf(json bool) (*console.Console, *bytes.Buffer, *bytes.Buffer, *clock) {
	var out, err bytes.Buffer
	tick := &clock{at: time.Unix(1_700_000_000, 0)}
	return console.New(console.Options{Out: &out, Err: &err, JSON: json, Now: tick.now}), &out, &err, tick
}

func TestResultsAndNotesAreSeparate(t *testing.T) {
	t.Parallel()
	c, out, err, _ := consoleOf(false)
	c.Note("a note")
	if e := c.Result(map[string]string{"a": "<b>"}, func() { c.Printf("plain\n") }); e != nil {
		t.Fatal(e)
	}
	if out.String() != "plain\n" || err.String() != "a note\n" {
		t.Errorf("%q %q", out, err)
	}
	c, out, err, _ = consoleOf(true)
	c.Note("a note")
	if e := c.Result(map[string]string{"a": "<b>"}, func() { c.Printf("plain\n") }); e != nil {
		t.Fatal(e)
	}
	if out.String() != "{\n  \"a\": \"<b>\"\n}\n" || err.String() != "" {
		t.Errorf("%q %q", out, err)
	}
}

func TestSnippetsAreReadableAndSafe(t *testing.T) {
	t.Parallel()
	c, _, _, _ := consoleOf(false)
	for snippet, want := range map[string]string{
		"a <mark>word</mark> and  more":               "a *word* and more",
		"&lt;script&gt; &amp; <mark>&lt;b&gt;</mark>": "<script> & *<b>*",
		"line\none\x1b[2Jtwo":                         "line one[2Jtwo",
		"<mark>unclosed":                              "*unclosed*",
		"":                                            "",
	} {
		if got := c.Snippet(snippet); got != want {
			t.Errorf("%q: got %q, want %q", snippet, got, want)
		}
	}
}

func TestTableRows(t *testing.T) {
	t.Parallel()
	c, out, err, _ := consoleOf(false)
	c.Table([]string{"ID", "NAME"}, [][]string{{"1", "two\nlines"}, {"22", "x\x1b[31m"}}, "nothing")
	if out.String() != "ID  NAME\n1   two lines\n22  x[31m\n" {
		t.Errorf("%q", out)
	}
	c.Table([]string{"ID"}, nil, "There are none.")
	if err.String() != "There are none.\n" {
		t.Errorf("%q", err)
	}
}

func TestProgressPrintsLinesWithoutATerminal(t *testing.T) {
	t.Parallel()
	c, _, err, tick := consoleOf(false)
	p := c.Progress("sync")
	for i := range 100 {
		p.Show(i, 100, "")
		tick.at = tick.at.Add(100 * time.Millisecond)
	}
	p.Done("%s", "finished")
	lines := strings.Split(strings.TrimSpace(err.String()), "\n")
	if len(lines) != 4 || lines[0] != "sync: 30 of 100 · 10/s" || lines[3] != "finished" {
		t.Errorf("%q", lines)
	}
}

func TestStepPrintsItsDurationOrReturnsTheError(t *testing.T) {
	t.Parallel()
	c, _, err, tick := consoleOf(false)
	if e := c.Step("work", func() error { tick.at = tick.at.Add(1500 * time.Millisecond); return nil }); e != nil {
		t.Fatal(e)
	}
	if got := strings.Join(strings.Fields(err.String()), " "); got != "work 1.5 s" {
		t.Errorf("%q", got)
	}
	failure := errors.New("broken")
	if e := c.Step("work", func() error { return failure }); !errors.Is(e, failure) {
		t.Errorf("got %v", e)
	}
}

func TestWrapNeverBreaksWords(t *testing.T) {
	t.Parallel()
	c, _, _, _ := consoleOf(false)
	line := strings.Repeat("word ", 60) + strings.Repeat("x", 200)
	wrapped := c.Wrap(line, "   ")
	if strings.Join(strings.Fields(wrapped), " ") != line {
		t.Error("words were changed")
	}
	for _, l := range strings.Split(wrapped, "\n") {
		if len(l) > 100 && !strings.Contains(l, "xxx") || !strings.HasPrefix(l, "   ") {
			t.Errorf("%q", l)
		}
	}
}

func TestQuietLeavesResultsAndWarnings(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	tick := &clock{at: time.Unix(1_700_000_000, 0)}
	c := console.New(console.Options{Out: &out, Err: &err, Quiet: true, Now: tick.now})
	c.Note("a note")
	p := c.Progress("sync")
	tick.at = tick.at.Add(time.Minute)
	p.Show(1, 2, "")
	c.Table([]string{"ID"}, nil, "There are none.")
	c.Warn("a warning")
	if e := c.Result(1, func() { c.Printf("plain\n") }); e != nil {
		t.Fatal(e)
	}
	if out.String() != "plain\n" || err.String() != "a warning\n" {
		t.Errorf("%q %q", out.String(), err.String())
	}
}
