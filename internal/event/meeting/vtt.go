package meeting

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/safetext"
)

// A Turn is what one person says without a pause.
type Turn struct {
	Speaker string
	At      time.Duration // from the start of the meeting
	End     time.Duration
	Text    string
}

const (
	maxLines     = 400_000
	maxParagraph = 900 // bytes after which a paragraph ends with its sentence
	maxPause     = 20 * time.Second
)

// ReadVTT reads a transcript in WebVTT. The speaker of a cue is in a voice tag, as Teams
// writes it, or before a colon, as Zoom does.
func ReadVTT(text string) ([]Turn, error) {
	text = strings.TrimPrefix(safetext.Storable(text), "\uFEFF")
	if !strings.HasPrefix(text, "WEBVTT") {
		return nil, event.Refuse("the transcript is no WebVTT")
	}
	if strings.Count(text, "\n") > maxLines {
		return nil, event.Refuse("the transcript has more than %d lines", maxLines)
	}
	var turns []Turn
	for block := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for i, line := range lines {
			from, to, ok := timing(line)
			if !ok {
				continue
			}
			// A line before the times is the name of the cue, so notes and styles are skipped.
			turns = addCue(turns, lines[i+1:], from, to)
			break
		}
	}
	return turns, nil
}

// addCue adds the lines of a cue, each of which may have another speaker.
func addCue(turns []Turn, lines []string, from, to time.Duration) []Turn {
	last := ""
	for _, line := range lines {
		speaker, text := voice(line)
		if text == "" {
			continue
		}
		if speaker == "" {
			speaker = last
		}
		last = speaker
		turns = append(turns, Turn{Speaker: speaker, At: from, End: to, Text: text})
	}
	return turns
}

// timing reads a line such as "00:01:02.500 --> 00:01:04.000 align:start".
func timing(line string) (from, to time.Duration, ok bool) {
	first, second, found := strings.Cut(line, "-->")
	if !found {
		return 0, 0, false
	}
	second, _, _ = strings.Cut(strings.TrimSpace(second), " ")
	from, ok = parseClock(strings.TrimSpace(first))
	if !ok {
		return 0, 0, false
	}
	to, ok = parseClock(second)
	return from, to, ok
}

// parseClock reads hours, minutes and seconds; hours may be missing.
func parseClock(text string) (time.Duration, bool) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	seconds, fraction, _ := strings.Cut(strings.ReplaceAll(parts[len(parts)-1], ",", "."), ".")
	total := 0
	for _, part := range append(parts[:len(parts)-1:len(parts)-1], seconds) {
		n := 0
		if part == "" || len(part) > 4 {
			return 0, false
		}
		for _, r := range part {
			if r < '0' || r > '9' {
				return 0, false
			}
			n = n*10 + int(r-'0')
		}
		total = total*60 + n
	}
	ms := 0
	for i, r := range fraction + "000" {
		if i == 3 {
			break
		}
		if r < '0' || r > '9' {
			return 0, false
		}
		ms = ms*10 + int(r-'0')
	}
	return time.Duration(total)*time.Second + time.Duration(ms)*time.Millisecond, true
}

// voice returns the speaker and the text of a line of a cue.
func voice(line string) (speaker, text string) {
	var b strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '<')
		if i < 0 {
			break
		}
		j := strings.IndexByte(line[i:], '>')
		if j < 0 {
			break
		}
		b.WriteString(line[:i])
		if name, ok := strings.CutPrefix(line[i+1:i+j], "v"); ok && speaker == "" && name != "" && (name[0] == ' ' || name[0] == '.') {
			_, name, _ = strings.Cut(name, " ")
			speaker = cleanName(unescape(name))
		}
		line = line[i+j+1:]
	}
	b.WriteString(line)
	text = safetext.Line(unescape(b.String()))
	if speaker == "" {
		if name, rest, ok := strings.Cut(text, ": "); ok && isName(name) {
			speaker, text = cleanName(name), strings.TrimSpace(rest)
		}
	}
	return speaker, text
}

func unescape(text string) string {
	return strings.NewReplacer("&nbsp;", " ", "&lt;", "<", "&gt;", ">", "&lrm;", "", "&rlm;", "", "&amp;", "&").Replace(text)
}

func cleanName(text string) string { return safetext.TruncateBytes(safetext.Line(text), 100) }

// isName reports whether the text before a colon is the name of a speaker: few words that
// begin with a letter, without the signs of a sentence.
func isName(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return text != "" && len(text) <= 80 && unicode.IsLetter(first) && len(strings.Fields(text)) <= 6 && !strings.ContainsAny(text, ".?!,;\"") ||
		strings.HasSuffix(text, ".") && len(strings.Fields(text)) <= 4 && len(text) <= 40
}

// merge joins the turns of one speaker to paragraphs.
func merge(turns []Turn) []Turn {
	var out []Turn
	for _, t := range turns {
		if n := len(out) - 1; n >= 0 && out[n].Speaker == t.Speaker && t.At-out[n].End <= maxPause && !ended(out[n].Text) {
			if out[n].Text != t.Text && !strings.HasSuffix(out[n].Text, " "+t.Text) { // rolling captions repeat themselves
				out[n].Text += " " + t.Text
			}
			out[n].End = max(out[n].End, t.End)
			continue
		}
		out = append(out, t)
	}
	return out
}

// ended reports whether a paragraph is long enough and its sentence has ended.
func ended(text string) bool {
	final, _ := utf8.DecodeLastRuneInString(text)
	return len(text) > maxParagraph && strings.ContainsRune(".!?…。！？", final) || len(text) > 4*maxParagraph
}

// Render returns a transcript as Markdown: a paragraph for each turn, with the speaker and
// the time.
func Render(turns []Turn) string {
	var b strings.Builder
	speaker := ""
	for i, t := range merge(turns) {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if name := escape(t.Speaker); name != "" && name != speaker {
			fmt.Fprintf(&b, "**%s** (%s): ", name, stamp(t.At))
			speaker = name
		} else {
			fmt.Fprintf(&b, "(%s) ", stamp(t.At))
		}
		b.WriteString(escape(t.Text))
	}
	return b.String()
}

func stamp(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// escape keeps text from being read as markup.
func escape(text string) string {
	return strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[", "]", "\\]", "<", "&lt;", "#", "\\#").Replace(text)
}
