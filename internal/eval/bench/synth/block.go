package synth

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A BlockKind is the kind of a block.
type BlockKind int

// The kinds of blocks, which differ in their units.
const (
	Prose   BlockKind = iota // sentences
	List                     // items with their marks
	Table                    // rows
	Listing                  // lines of code
)

// A Block is a piece of a page. A Generator can build a similar one from the units
// of other blocks.
type Block struct {
	Kind BlockKind
	// Head holds the lines before the units: the header of a table, the fence of a listing.
	Head  string
	Units []string
}

// text returns the block as Markdown.
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

// cutBlock parses the block at the beginning of lines and returns the lines after it.
func cutBlock(lines []string) (b Block, after []string) {
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

// paragraphEnd returns the number of lines before an empty line, a heading or a fence.
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

// sentences splits a text after full stops that precede a space and no lower-case
// letter, and after those of Chinese and Japanese. It drops only white space.
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

// joinSentences joins sentences with spaces, except in Chinese and Japanese.
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

// plain removes template tags, links and marks from a line of Markdown.
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
