package console

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/magpie-search/magpie/internal/humanize"
)

// Console writes the results of a command to the output and everything else to the
// error output, so that a pipe receives results only.
type Console struct {
	out, err           io.Writer
	outWidth, errWidth int // columns; 0 if not a terminal
	color              bool
	json               bool
	now                func() time.Time
}

// Options configures a Console.
type Options struct {
	Out, Err io.Writer
	// JSON prints results as JSON and suppresses notes and progress.
	JSON bool
	// Plain disables colours and progress bars.
	Plain bool
	// Now is the clock; default time.Now.
	Now func() time.Time
}

// New returns a console. Terminals get colours and progress bars.
func New(o Options) *Console {
	c := &Console{out: o.Out, err: o.Err, json: o.JSON, now: o.Now}
	if c.now == nil {
		c.now = time.Now
	}
	if !o.Plain {
		c.outWidth, c.errWidth = width(o.Out), width(o.Err)
		c.color = c.outWidth > 0
	}
	return c
}

// width returns the number of columns of a terminal, or 0 for other writers.
func width(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	if size.Col == 0 {
		return 80
	}
	return int(size.Col)
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

// Note writes a line to the error output unless Options.JSON is set.
func (c *Console) Note(format string, arguments ...any) {
	if !c.json {
		_, _ = fmt.Fprintf(c.err, format+"\n", arguments...)
	}
}

// Warn writes a line to the error output, also if Options.JSON is set.
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

// Table prints rows in aligned columns. Without rows it prints the text empty.
func (c *Console) Table(header []string, rows [][]string, empty string) {
	if len(rows) == 0 {
		c.Note("%s", empty)
		return
	}
	table := tabwriter.NewWriter(c.out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, strings.Join(header, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = oneLine(cell)
		}
		_, _ = fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	_ = table.Flush() // the pipe may be closed
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
