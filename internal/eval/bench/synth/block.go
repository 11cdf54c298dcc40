package bench

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BlockKind is what a block is made of.
type BlockKind int

// Kinds of blocks.
const (
	Prose   BlockKind = iota // of sentences
	List                     // of items, which keep their marks
	Table                    // of rows
	Listing                  // of lines of code
)

// Block is a piece of a page that can be made anew from the units of others.
type Block struct {
	Kind BlockKind
	// Head is what stands before the units of a table or listing: its header, its fence.
	Head  string
	Units []string
}

// text is the block as Markdown.
func (b *Block) text() string {
	switch b.Kind {
	case Prose:
		return joinSentences(b.Units)
	case Listing:
		return b.Head + "\n" + strings.Join(b.Units, "\n") + "\n```"
	case Table:
		return b.Head + "\n" + strings.Join(b.Units, "\n")
	default:
		return strings.Join(b.Units, "\n")
	}
}

// takeBlock reads the block at the beginning of lines and returns what follows it.
func takeBlock(lines []string) (b Block, rest []string) {
	first := strings.TrimSpace(lines[0])
	switch {
	case strings.HasPrefix(first, "```"):
		end := 1
		for end < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[end]), "```") {
			end++
		}
		b = Block{Kind: Listing, Head: "```" + strings.TrimLeft(first, "`"), Units: lines[1:end]}
		return b, lines[min(end+1, len(lines)):]
	case strings.HasPrefix(first, "|"):
		end := paragraphEnd(lines)
		head := min(2, end)
		return Block{Kind: Table, Head: strings.Join(lines[:head], "\n"), Units: lines[head:end]}, lines[end:]
	case isItem(first):
		end := paragraphEnd(lines)
		b.Kind = List
		for _, line := range lines[:end] {
			if len(b.Units) > 0 && !isItem(strings.TrimSpace(line)) {
				b.Units[len(b.Units)-1] += "\n" + line
				continue
			}
			b.Units = append(b.Units, line)
		}
		return b, lines[end:]
	default:
		end := paragraphEnd(lines)
		return Block{Kind: Prose, Units: sentences(strings.Join(lines[:end], " "))}, lines[end:]
	}
}

// paragraphEnd is where an empty line, a heading or a fence ends the lines of a block.
func paragraphEnd(lines []string) int {
	for i := 1; i < len(lines); i++ {
		if text := strings.TrimSpace(lines[i]); text == "" || isHeading(lines[i]) || strings.HasPrefix(text, "```") {
			return i
		}
	}
	return len(lines)
}

func isItem(line string) bool {
	if len(line) > 2 && strings.ContainsRune("-*+", rune(line[0])) && line[1] == ' ' {
		return true
	}
	digits := strings.TrimLeft(line, "0123456789")
	return digits != line && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// sentences parts a text after full stops that a space and no small letter
// follow, and after those of Chinese and Japanese. Nothing is lost but space.
func sentences(text string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if sentence := strings.Join(strings.Fields(text[start:end]), " "); sentence != "" {
			out = append(out, sentence)
		}
		start = end
	}
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch r {
		case '。', '！', '？':
			cut(end)
		case '.', '!', '?':
			following := strings.TrimLeft(text[end:], " ")
			next, _ := utf8.DecodeRuneInString(following)
			if len(following) < len(text[end:]) && !unicode.IsLower(next) {
				cut(end)
			}
		}
	}
	cut(len(text))
	return out
}

// joinSentences puts spaces where the script has them.
func joinSentences(units []string) string {
	var b strings.Builder
	for i, unit := range units {
		if i > 0 && !strings.ContainsAny(lastRune(units[i-1]), "。！？") {
			b.WriteByte(' ')
		}
		b.WriteString(unit)
	}
	return b.String()
}

func lastRune(text string) string {
	_, size := utf8.DecodeLastRuneInString(text)
	return text[len(text)-size:]
}

var (
	templates = regexp.MustCompile(`\{\{.*?\}\}|\{%.*?%\}|<[^<>]*>`)
	links     = regexp.MustCompile(`\[([^\[\]]*)\]\([^()]*\)`)
)

// plain takes template tags, links and marks out of a line of Markdown.
func plain(text string) string {
	text = templates.ReplaceAllString(text, " ")
	text = links.ReplaceAllString(text, "$1")
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("`*#[]{}|\"<>\\", r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
