package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/magpie-search/magpie/internal/humanize"
)

// Console writes the results of a command to the output and everything else to the
// error output, so that a pipe receives results only.
type Console struct {
	out, err           io.Writer
	outWidth, errWidth int // columns; 0 if not a terminal
	color              bool
	json, quiet        bool
	now                func() time.Time
}

// Options configures a Console.
type Options struct {
	Out, Err io.Writer
	// JSON prints results as JSON and suppresses notes and progress.
	JSON bool
	// Quiet suppresses notes and progress; results and warnings stay.
	Quiet bool
	// Columns is the width of a terminal; 0 asks the terminal.
	Columns int
	// Plain disables colours and progress bars.
	Plain bool
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// New returns a console. Terminals get colours and progress bars.
func New(o Options) *Console {
	c := &Console{out: o.Out, err: o.Err, json: o.JSON, quiet: o.Quiet || o.JSON, now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	c.outWidth = terminalWidth(o.Out, o.Columns)
	if !o.Plain {
		c.errWidth = terminalWidth(o.Err, o.Columns)
		c.color = c.outWidth > 0
	}
	return c
}

// terminalWidth returns the number of columns of a terminal, or 0 for other writers. A number
// above 0 replaces that of the terminal.
func terminalWidth(w io.Writer, columns int) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	if columns > 0 {
		return columns
	}
	size, _, err := term.GetSize(int(file.Fd()))
	if err != nil || size == 0 {
		return 80
	}
	return size
}

// JSON reports whether results are printed as JSON.
func (c *Console) JSON() bool { return c.json }

// Result prints value as JSON if Options.JSON is set, and calls plain otherwise.
func (c *Console) Result(value any, plain func()) error {
	if !c.json {
		plain()
		return nil
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Printf writes to the output.
func (c *Console) Printf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.out, format, arguments...) // the pipe may be closed
}

// Note writes a line to the error output unless Options.JSON or Options.Quiet is set.
func (c *Console) Note(format string, arguments ...any) {
	if !c.quiet {
		_, _ = fmt.Fprintf(c.err, format+"\n", arguments...)
	}
}

// Warn writes a line to the error output in any case.
func (c *Console) Warn(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.err, format+"\n", arguments...)
}

// Step runs a step and then prints its name and duration.
func (c *Console) Step(name string, do func() error) error {
	start := c.now()
	if err := do(); err != nil {
		return err
	}
	c.Note("%s  %s", pad(name, 58), humanize.Duration(c.now().Sub(start)))
	return nil
}

func pad(text string, columns int) string {
	if missing := columns - utf8.RuneCountInString(text); missing > 0 {
		return text + strings.Repeat(" ", missing)
	}
	return text
}

// Pairs prints names and values in aligned columns.
func (c *Console) Pairs(pairs ...[2]string) {
	longest := 0
	for _, pair := range pairs {
		longest = max(longest, utf8.RuneCountInString(pair[0]))
	}
	for _, pair := range pairs {
		c.Printf("%s  %s\n", pad(pair[0], longest), oneLine(pair[1]))
	}
}

// oneLine removes line breaks and control characters, so that a text cannot move the
// cursor or break a table.
func oneLine(text string) string { return clean(text, false) }

// Text removes control characters except line breaks, so that a text cannot
// manipulate the terminal.
func Text(text string) string { return clean(text, true) }

func clean(text string, lines bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' && lines:
			return r
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return -1
		default:
			return r
		}
	}, text)
}
