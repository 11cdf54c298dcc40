package console

import (
	"fmt"
	"strings"
	"time"
)

const (
	barCells = 24
	// lineInterval is the time between two progress lines without a terminal.
	lineInterval = 3 * time.Second
	// drawInterval is the time between two updates of the progress bar.
	drawInterval = 80 * time.Millisecond
)

// Progress displays the progress of an operation: a bar on a terminal, and a line
// every few seconds elsewhere. It displays nothing if Options.JSON or Options.Quiet is set.
type Progress struct {
	console *Console
	label   string
	start   time.Time
	last    time.Time
	drawn   bool
}

// Progress returns the display of an operation that starts now.
func (c *Console) Progress(label string) *Progress {
	p := &Progress{console: c, label: oneLine(label), start: c.now()}
	if c.errWidth == 0 {
		p.last = p.start // no line for short operations
	}
	return p
}

// Show displays the number of finished parts, the total, which is 0 if unknown, and a
// note.
func (p *Progress) Show(done, total int, note string) {
	now := p.console.now()
	interval := lineInterval
	if p.console.errWidth > 0 {
		interval = drawInterval
	}
	if p.console.quiet || !p.last.IsZero() && now.Sub(p.last) < interval {
		return
	}
	p.last = now
	p.draw(done, total, note, now)
}

func (p *Progress) draw(done, total int, note string, now time.Time) {
	rate := ""
	if elapsed := now.Sub(p.start).Seconds(); elapsed > 0.2 && done > 0 {
		rate = fmt.Sprintf(" · %.0f/s", float64(done)/elapsed)
	}
	if p.console.errWidth == 0 {
		p.console.Note("%s: %d of %d%s%s", p.label, done, total, rate, suffix(note))
		return
	}
	filled := 0
	if total > 0 {
		filled = min(barCells, barCells*done/total)
	}
	line := fmt.Sprintf("%s [%s%s] %d/%d%s%s", p.label, strings.Repeat("█", filled), strings.Repeat("░", barCells-filled),
		done, total, rate, suffix(note))
	_, _ = fmt.Fprint(p.console.err, "\r\x1b[K"+clip(line, p.console.errWidth-1))
	p.drawn = true
}

// Done removes the bar and prints a final note, if any.
func (p *Progress) Done(format string, arguments ...any) {
	if p.drawn {
		_, _ = fmt.Fprint(p.console.err, "\r\x1b[K")
		p.drawn = false
	}
	if format != "" {
		p.console.Note(format, arguments...)
	}
}

func suffix(note string) string {
	if note == "" {
		return ""
	}
	return " · " + oneLine(note)
}

func clip(line string, columns int) string {
	runes := []rune(line)
	if columns > 0 && len(runes) > columns {
		return string(runes[:columns])
	}
	return line
}
