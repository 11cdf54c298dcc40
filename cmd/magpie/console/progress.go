package console

import (
	"fmt"
	"strings"
	"time"
)

const (
	barCells = 24
	// plainEvery is how often a progress is written where lines cannot move.
	plainEvery = 3 * time.Second
	// drawEvery is how often a moving line is drawn anew.
	drawEvery = 80 * time.Millisecond
)

// Progress shows how far a long work is: a moving bar on a terminal, a line
// from time to time elsewhere, nothing with JSON.
type Progress struct {
	console *Console
	label   string
	began   time.Time
	last    time.Time
	drawn   bool
}

// Progress begins the display of a work.
func (c *Console) Progress(label string) *Progress {
	p := &Progress{console: c, label: oneLine(label), began: c.now()}
	if c.errWidth == 0 {
		p.last = p.began // a short work needs no line of its own
	}
	return p
}

// Show displays that done of total pieces are done; a total of 0 is not known
// yet. note stands behind it.
func (p *Progress) Show(done, total int, note string) {
	now := p.console.now()
	pause := plainEvery
	if p.console.errWidth > 0 {
		pause = drawEvery
	}
	if p.console.json || !p.last.IsZero() && now.Sub(p.last) < pause {
		return
	}
	p.last = now
	p.draw(done, total, note, now)
}

func (p *Progress) draw(done, total int, note string, now time.Time) {
	rate := ""
	if passed := now.Sub(p.began).Seconds(); passed > 0.2 && done > 0 {
		rate = fmt.Sprintf(" · %.0f/s", float64(done)/passed)
	}
	if p.console.errWidth == 0 {
		p.console.Note("%s: %d of %d%s%s", p.label, done, total, rate, behind(note))
		return
	}
	filled := 0
	if total > 0 {
		filled = min(barCells, barCells*done/total)
	}
	line := fmt.Sprintf("%s [%s%s] %d/%d%s%s", p.label, strings.Repeat("█", filled), strings.Repeat("░", barCells-filled),
		done, total, rate, behind(note))
	_, _ = fmt.Fprint(p.console.err, "\r\x1b[K"+clip(line, p.console.errWidth-1))
	p.drawn = true
}

// Done removes the moving line and writes what is said last.
func (p *Progress) Done(format string, arguments ...any) {
	if p.drawn {
		_, _ = fmt.Fprint(p.console.err, "\r\x1b[K")
		p.drawn = false
	}
	if format != "" {
		p.console.Note(format, arguments...)
	}
}

func behind(note string) string {
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
