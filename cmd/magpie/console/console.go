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

// Console is where a command writes. Results go to the output, everything else
// to the error output, so that a pipe gets results only.
type Console struct {
	out, err           io.Writer
	outWidth, errWidth int // columns; 0 when it is no terminal
	color              bool
	json               bool
	now                func() time.Time
}

// Options of a console.
type Options struct {
	Out, Err io.Writer
	// JSON makes results JSON and silences the narration.
	JSON bool
	// Plain turns colours and moving lines off.
	Plain bool
	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// New makes a console. A writer that is a terminal gets colours and progress bars.
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

// width is the number of columns of a terminal, 0 for everything else.
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

// JSON reports whether results are to be JSON.
func (c *Console) JSON() bool { return c.json }

// Result prints value as JSON where JSON is wanted and calls plain otherwise.
func (c *Console) Result(value any, plain func()) error {
	if !c.json {
		plain()
		return nil
	}
	encoder := json.NewEncoder(c.out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Printf writes to the output.
func (c *Console) Printf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.out, format, arguments...) // nothing can be done about a closed pipe
}

// Note writes a line of narration to the error output; nothing with JSON.
func (c *Console) Note(format string, arguments ...any) {
	if !c.json {
		_, _ = fmt.Fprintf(c.err, format+"\n", arguments...)
	}
}

// Warn writes a line to the error output, with JSON too.
func (c *Console) Warn(format string, arguments ...any) {
	_, _ = fmt.Fprintf(c.err, format+"\n", arguments...)
}

// Step runs one step of a longer story and says afterwards how long it took.
func (c *Console) Step(what string, do func() error) error {
	began := c.now()
	if err := do(); err != nil {
		return err
	}
	c.Note("%s  %s", pad(what, 58), humanize.Duration(c.now().Sub(began)))
	return nil
}

func pad(text string, columns int) string {
	if missing := columns - utf8.RuneCountInString(text); missing > 0 {
		return text + strings.Repeat(" ", missing)
	}
	return text
}

// Table prints rows in aligned columns; an empty one prints what none says.
func (c *Console) Table(header []string, rows [][]string, none string) {
	if len(rows) == 0 {
		c.Note("%s", none)
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
	_ = table.Flush() // a closed pipe again
}

// Pairs prints names and values below each other.
func (c *Console) Pairs(pairs ...[2]string) {
	longest := 0
	for _, pair := range pairs {
		longest = max(longest, utf8.RuneCountInString(pair[0]))
	}
	for _, pair := range pairs {
		c.Printf("%s  %s\n", pad(pair[0], longest), oneLine(pair[1]))
	}
}

// oneLine keeps what others wrote from moving the cursor or breaking a table.
func oneLine(text string) string { return clean(text, false) }

// Text takes control characters, with which a document could rewrite the
// screen, out of a text and keeps its lines.
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
