package subtitle

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Is reports whether a text is WebVTT, or begins with a cue of SubRip.
func Is(text string) bool {
	text = strings.TrimSpace(safetext.TruncateBytes(text, 400))
	if strings.HasPrefix(text, "WEBVTT") {
		return true
	}
	first, rest, _ := strings.Cut(text, "\n")
	second, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(first) == "1" && isTiming(second)
}

// isTiming reports whether a line has the times of a cue.
func isTiming(line string) bool {
	from, to, found := strings.Cut(line, "-->")
	return found && strings.Count(from, ":") >= 1 && strings.Count(to, ":") >= 1 && len(strings.TrimSpace(from)) < 16
}

// Read reads WebVTT and SubRip. It joins the cues to paragraphs without times, which end at a pause or once they are
// long.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	w := writer{}
	if strings.Count(in.Text, "\n") > 4*compose.MaxLines {
		return nil, &document.LimitError{Detail: fmt.Sprintf("subtitles have more than %d lines", 4*compose.MaxLines)}
	}
	lines := strings.Split(in.Text, "\n")
	for i := 0; i < len(lines); {
		if i%512 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse subtitles: %w", ctx.Err())
		}
		line := strings.TrimSpace(lines[i])
		switch {
		case isTiming(line):
			w.startCue(line)
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
				if i+1 < len(lines) && isTiming(lines[i+1]) {
					break // the number of a cue that no empty line precedes
				}
				w.add(lines[i])
			}
			continue
		case line == "STYLE" || line == "REGION":
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
			}
			continue
		case strings.HasPrefix(line, "NOTE"), strings.HasPrefix(line, "WEBVTT"):
			_, comment, _ := strings.Cut(line, " ")
			w.flush()
			w.add(strings.TrimLeft(comment, "- "))
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
				if strings.HasPrefix(line, "NOTE") {
					w.add(lines[i]) // the lines below WEBVTT are settings
				}
			}
			w.flush()
			continue
		case line == "" || i+1 < len(lines) && isTiming(lines[i+1]):
		default:
			w.add(line)
		}
		i++
	}
	w.flush()
	return &document.Draft{Blocks: w.blocks, Prose: true}, nil
}

// writer collects cues into paragraphs.
type writer struct {
	blocks   []document.Block
	text     strings.Builder
	last     string // previous line
	endOfCue int    // in milliseconds
}

// A paragraph longer than longParagraph runes ends with the next sentence. A silence of more than maxPause milliseconds
// ends it too.
const (
	longParagraph = 700
	maxPause      = 3000
)

// startCue begins a cue, and ends the paragraph if there was a pause.
func (w *writer) startCue(line string) {
	from, to, _ := strings.Cut(line, "-->")
	to, _, _ = strings.Cut(strings.TrimSpace(to), " ")
	start := milliseconds(from)
	if w.endOfCue > 0 && start-w.endOfCue > maxPause {
		w.flush()
	}
	w.endOfCue = milliseconds(to)
}

// milliseconds parses a time such as 01:02:03,456. Fractions of a second are dropped.
func milliseconds(text string) int {
	total, number, fraction := 0, 0, 0
	for _, r := range strings.TrimSpace(text) {
		switch {
		case '0' <= r && r <= '9' && fraction == 0:
			number = min(number*10+int(r-'0'), 1<<20)
		case '0' <= r && r <= '9':
		case r == ':':
			total, number = min(total*60+number*60, 1<<30), 0
		default:
			fraction = 1
		}
	}
	return (total + number) * 1000
}

// add adds a line of a cue.
func (w *writer) add(line string) {
	line = stripMarkup(line)
	if line == "" || line == w.last {
		return // rolling captions repeat their lines
	}
	w.last = line
	turn := strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "– ")
	switch {
	case w.text.Len() == 0:
	case turn:
		w.text.WriteByte('\n')
	default:
		w.text.WriteString(compose.LineGap(w.text.String(), line))
	}
	w.text.WriteString(line)
	final, _ := utf8.DecodeLastRuneInString(line)
	if w.text.Len() > longParagraph && strings.ContainsRune(".!?…。！？\"”", final) || w.text.Len() > 3*longParagraph {
		w.flush()
	}
}

// stripMarkup removes the markup of a line: <i>, <v Speaker>, {\an8}. A speaker becomes a prefix.
func stripMarkup(line string) string {
	line = strings.TrimSpace(line)
	if !strings.ContainsAny(line, "<{&") {
		return line
	}
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		closing := byte(0)
		switch {
		case line[i] == '<':
			closing = '>'
		case line[i] == '{' && i+1 < len(line) && line[i+1] == '\\':
			closing = '}'
		}
		end := -1
		if closing > 0 {
			end = strings.IndexByte(line[i:], closing)
		}
		if end < 0 {
			b.WriteByte(line[i])
			continue
		}
		if speaker, found := strings.CutPrefix(line[i:i+end], "<v"); found && speaker != "" && (speaker[0] == ' ' || speaker[0] == '.') {
			_, speaker, _ = strings.Cut(speaker, " ")
			b.WriteString(strings.TrimSpace(speaker) + ": ")
		}
		i += end
	}
	text := strings.NewReplacer("&nbsp;", " ", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&lrm;", "", "&rlm;", "").Replace(b.String())
	return strings.TrimSpace(text)
}

func (w *writer) flush() {
	if text := strings.TrimSpace(w.text.String()); text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
	w.text.Reset()
}
