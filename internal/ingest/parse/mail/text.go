package mail

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxQuoteDepth is how deep quotations in quotations are told apart.
const maxQuoteDepth = 6

// textLine is a line with the number of marks of a quotation before it.
type textLine struct {
	text  string
	depth int
}

// plainBlocks makes blocks of plain text: paragraphs parted by empty lines, quotations, lists. Armoured signatures and keys
// are left out; encrypted tells that something was left out which only its reader can read.
func plainBlocks(text string, flowed, deleted bool) (blocks []document.Block, encrypted bool) {
	text, encrypted = withoutArmour(text)
	lines := quotedLines(text, flowed, deleted)
	for i := 0; i < len(lines); {
		end := i
		if isOriginalMark(lines[i]) {
			// All that follows is the mail that this one answers.
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

// isRuler reports lines that part others: empty ones, and those drawn of dashes, the mark of a signature among them.
func isRuler(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line == "--" || len(line) >= 3 && strings.Trim(line, "-_=*~#.+ ") == ""
}

// proseBlock makes a block of lines without a ruler.
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

// quoteBlock makes a block of quoted lines; deeper quotations keep their marks in it.
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

// quotedLines counts the marks of quotations and joins the lines of flowed text (RFC 3676).
func quotedLines(text string, flowed, deleted bool) []textLine {
	var lines []textLine
	var open strings.Builder // the line that goes on
	goesOn := false
	end := func() {
		if goesOn {
			lines[len(lines)-1].text = open.String()
		}
		open.Reset()
		goesOn = false
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\u00A0", " "), "\n") {
		depth := 0
		if flowed {
			for depth < len(line) && line[depth] == '>' {
				depth++
			}
			line = strings.TrimPrefix(line[depth:], " ")
		} else {
			depth, line = looseQuote(line)
		}
		signature := line == "-- " || line == "--"
		if goesOn && (signature || line == "" || lines[len(lines)-1].depth != depth) {
			end()
		}
		more := flowed && !signature && strings.HasSuffix(line, " ")
		if more && deleted {
			line = strings.TrimSuffix(line, " ")
		}
		if !goesOn {
			lines = append(lines, textLine{text: line, depth: depth})
		}
		if more || goesOn {
			goesOn = true
			open.WriteString(line)
		}
		if !more {
			end()
		}
	}
	end()
	return lines
}

// looseQuote counts marks that may have blanks between them. A mark further in belongs to the text.
func looseQuote(line string) (depth int, text string) {
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

// isOriginalMark recognises the line above the mail that is answered, as Outlook writes it.
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

// withoutArmour leaves out what OpenPGP puts around and into text (RFC 9580, chapter 6).
func withoutArmour(text string) (string, bool) {
	if !strings.Contains(text, "-----BEGIN PGP ") {
		return text, false
	}
	var b strings.Builder
	encrypted, skipping, heading, signed := false, false, false, false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "-----BEGIN PGP SIGNED MESSAGE-----":
			heading, signed = true, true
		case heading:
			heading = trimmed != "" // the lines up to an empty one name the hash
		case strings.HasPrefix(trimmed, "-----BEGIN PGP "):
			skipping = true
			encrypted = encrypted || trimmed == "-----BEGIN PGP MESSAGE-----"
		case strings.HasPrefix(trimmed, "-----END PGP "):
			skipping, signed = false, false
		case skipping:
		case signed:
			b.WriteString(strings.TrimPrefix(line, "- "))
		default:
			b.WriteString(line)
		}
	}
	return b.String(), encrypted
}
