package mail

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxQuoteDepth is how many levels of quotations are shown.
const maxQuoteDepth = 6

// textLine is a line with the number of its quotation marks.
type textLine struct {
	text  string
	depth int
}

// plainBlocks splits plain text into paragraphs, quotations and lists. OpenPGP signatures and keys are left out. It
// reports whether an encrypted part was left out.
func plainBlocks(text string, flowed, delSp bool) (blocks []document.Block, encrypted bool) {
	text, encrypted = withoutArmour(text)
	lines := quotedLines(text, flowed, delSp)
	for i := 0; i < len(lines); {
		end := i
		if isOriginalMark(lines[i]) {
			// The rest is the original mail.
			blocks = append(blocks, quoteBlock(lines[i+1:]))
			break
		}
		if lines[i].depth > 0 {
			for end < len(lines) && lines[end].depth > 0 {
				end++
			}
			blocks = append(blocks, quoteBlock(lines[i:end]))
			i = end
			continue
		}
		if isRuler(lines[i].text) {
			i++
			continue
		}
		for end < len(lines) && lines[end].depth == 0 && !isRuler(lines[end].text) && !isOriginalMark(lines[end]) {
			end++
		}
		blocks = append(blocks, proseBlock(lines[i:end]))
		i = end
	}
	return blocks, encrypted
}

// isRuler reports whether a line is empty or a rule of dashes or similar characters, such as the mark of a signature.
func isRuler(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line == "--" || len(line) >= 3 && strings.Trim(line, "-_=*~#.+ ") == ""
}

// proseBlock returns lines without rules as a block.
func proseBlock(lines []textLine) document.Block {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strings.TrimRight(line.text, " \t"))
	}
	kind := document.Paragraph
	if len(lines) > 1 && isItem(lines[0].text) && isItem(lines[len(lines)-1].text) {
		kind = document.List
	}
	return document.Block{Kind: kind, Text: strings.Trim(b.String(), "\n")}
}

func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "• ") {
		return true
	}
	digits := 0
	for digits < len(line) && digits < 4 && '0' <= line[digits] && line[digits] <= '9' {
		digits++
	}
	return digits > 0 && strings.HasPrefix(line[digits:], ". ")
}

// quoteBlock returns quoted lines as a block, in which deeper quotations keep their marks.
func quoteBlock(lines []textLine) document.Block {
	var b strings.Builder
	blank := true
	for _, line := range lines {
		text := strings.TrimSpace(line.text)
		if isRuler(text) {
			if !blank {
				b.WriteByte('\n')
			}
			blank = true
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		blank = false
		b.WriteString(strings.Repeat("> ", min(max(line.depth-1, 0), maxQuoteDepth)))
		b.WriteString(text)
	}
	return document.Block{Kind: document.Quote, Text: strings.Trim(b.String(), "\n")}
}

// quotedLines counts quotation marks and joins the lines of flowed text (RFC 3676).
func quotedLines(text string, flowed, delSp bool) []textLine {
	var lines []textLine
	var open strings.Builder // the line that continues
	continues := false
	end := func() {
		if continues {
			lines[len(lines)-1].text = open.String()
		}
		open.Reset()
		continues = false
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\u00A0", " "), "\n") {
		depth := 0
		if flowed {
			for depth < len(line) && line[depth] == '>' {
				depth++
			}
			line = strings.TrimPrefix(line[depth:], " ")
		} else {
			depth, line = lenientQuote(line)
		}
		isSignature := line == "-- " || line == "--"
		if continues && (isSignature || line == "" || lines[len(lines)-1].depth != depth) {
			end()
		}
		more := flowed && !isSignature && strings.HasSuffix(line, " ")
		if more && delSp {
			line = strings.TrimSuffix(line, " ")
		}
		if !continues {
			lines = append(lines, textLine{text: line, depth: depth})
		}
		if more || continues {
			continues = true
			open.WriteString(line)
		}
		if !more {
			end()
		}
	}
	end()
	return lines
}

// lenientQuote counts quotation marks, between which blanks are allowed. The first mark must start the line.
func lenientQuote(line string) (depth int, text string) {
	for {
		rest, found := strings.CutPrefix(strings.TrimLeft(line, " "), ">")
		if !found || depth == 0 && !strings.HasPrefix(line, ">") {
			return depth, line
		}
		depth++
		line = rest
		if depth > 100 {
			return depth, line
		}
	}
}

// isOriginalMark reports whether a line is Outlook's heading of the original mail.
func isOriginalMark(line textLine) bool {
	text := strings.TrimSpace(line.text)
	if len(text) > 80 || !strings.HasPrefix(text, "--") || !strings.HasSuffix(text, "--") {
		return false
	}
	switch strings.ToLower(strings.Trim(text, "- ")) {
	case "original message", "original appointment", "ursprüngliche nachricht", "originalnachricht", "message d'origine", "message original",
		"mensaje original", "messaggio originale", "mensagem original", "oorspronkelijk bericht", "původní zpráva", "исходное сообщение",
		"wiadomość oryginalna", "ursprungligt meddelande", "oprindelig meddelelse", "opprinnelig melding":
		return true
	}
	return false
}

// withoutArmour removes the marks of OpenPGP (RFC 9580, chapter 6).
func withoutArmour(text string) (string, bool) {
	if !strings.Contains(text, "-----BEGIN PGP ") {
		return text, false
	}
	var b strings.Builder
	encrypted, isSkipping, inHeader, isSigned := false, false, false, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "-----BEGIN PGP SIGNED MESSAGE-----":
			inHeader, isSigned = true, true
		case inHeader:
			inHeader = trimmed != "" // headers, up to an empty line
		case strings.HasPrefix(trimmed, "-----BEGIN PGP "):
			isSkipping = true
			encrypted = encrypted || trimmed == "-----BEGIN PGP MESSAGE-----"
		case strings.HasPrefix(trimmed, "-----END PGP "):
			isSkipping, isSigned = false, false
		case isSkipping:
		case isSigned:
			b.WriteString(strings.TrimPrefix(line, "- "))
		default:
			b.WriteString(line)
		}
	}
	return b.String(), encrypted
}
