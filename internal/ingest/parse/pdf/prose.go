package pdf

import (
	"strings"
)

// prose returns the lines of a group as a paragraph in Markdown. Links are marked, and lines that end early remain
// lines.
func (a *assembler) prose(g *group) string {
	text := ""
	var ranges []linked
	for i := range g.lines {
		l := &g.lines[i]
		next := strings.TrimRight(l.text, " ")
		if len(l.links) == 0 && !l.isMono {
			next = squeeze(strings.TrimSpace(next))
		}
		joined := joinLines(text, next, a.words)
		if i > 0 && g.endsEarly(i-1) && !isHyphen(lastRune(text)) {
			joined = text + "\n" + next
		}
		from := len(joined) - len(next)
		for k := range ranges {
			ranges[k].to = min(ranges[k].to, from)
		}
		for _, r := range l.links {
			if r.to > len(next) {
				r.to = len(next)
			}
			if r.from >= r.to {
				continue
			}
			r.from, r.to = r.from+from, r.to+from
			if n := len(ranges); n > 0 && ranges[n-1].target == r.target && strings.TrimSpace(joined[ranges[n-1].to:r.from]) == "" {
				ranges[n-1].to = r.to
				continue
			}
			ranges = append(ranges, r)
		}
		text = joined
	}
	return strings.TrimSpace(smooth(markLinks(text, ranges)))
}

// endsEarly reports whether a line ends although the next word would fit, as in addresses and verses.
func (g *group) endsEarly(i int) bool {
	l, next := &g.lines[i], &g.lines[i+1]
	if l.column != next.column || l.base >= next.base {
		return false
	}
	right, left, level := l.x1, l.x0, 0
	for k := range g.lines {
		if g.lines[k].column == l.column {
			right, left = max(right, g.lines[k].x1), min(left, g.lines[k].x0)
		}
	}
	for k := range g.lines {
		if right-g.lines[k].x1 < 0.3*l.size {
			level++
		}
	}
	if level < 2 && l.column == g.column && !isCentred(l, next) {
		right = max(right, g.right) // no common right edge: the edge is that of the column
	}
	return l.hasGaps || right-l.x1 > wordWidth(next)+0.2*(right-left)+l.size
}

// markLinks returns a text with its links as Markdown. A link whose text is its target remains text.
func markLinks(text string, ranges []linked) string {
	if len(ranges) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, r := range ranges {
		if r.from < at || r.from >= r.to || r.to > len(text) {
			continue
		}
		label := text[r.from:r.to]
		trimmed := strings.TrimSpace(label)
		b.WriteString(text[at:r.from])
		at = r.to
		bare := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(r.target, "mailto:"), "https://"), "/")
		switch plain := smooth(strings.ReplaceAll(trimmed, " ", "")); {
		case trimmed == "":
			b.WriteString(label)
		case plain == r.target, strings.TrimSuffix(plain, "/") == bare, strings.TrimSuffix(plain, "/") == strings.TrimPrefix(bare, "http://"):
			b.WriteString(label)
		default:
			lead, tail, _ := strings.Cut(label, trimmed)
			escaped := strings.NewReplacer("[", `\[`, "]", `\]`, "\n", " ").Replace(trimmed)
			b.WriteString(lead + "[" + escaped + "](" + r.target + ")" + tail)
		}
	}
	b.WriteString(text[at:])
	return b.String()
}
