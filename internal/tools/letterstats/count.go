package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxLetters limits the letters of a text, so that long texts do not outweigh short ones.
	maxLetters = 600_000
	// rare is the minimum share of a letter of the alphabet.
	rare = 1e-5
	// seldom is the minimum share of a pair of letters with its own row.
	seldom = 2e-5
	// unit is the cost of a factor of e in probability.
	unit = 16
)

// statistics are the frequencies of letters of one script in several languages. Letters have numbers from 1; 0 is a word
// boundary.
type statistics struct {
	low, high rune
	letters   []rune
	numbers   map[rune]int
	// pairs and singles are counted by language.
	pairs   []map[[2]int]float64
	singles [][]float64
	totals  []float64
}

// read returns the text of a language in lower case.
func read(folder, language string) (string, error) {
	content, err := os.ReadFile(filepath.Join(folder, language+".txt")) //nolint:gosec // the folder that the command line names
	if err != nil {
		return "", fmt.Errorf("read the text of a language: %w", err)
	}
	return norm.NFC.String(strings.ToLower(string(content))), nil
}

func count(folder string, languages []string, low, high rune) (*statistics, error) {
	s := &statistics{low: low, high: high, numbers: make(map[rune]int)}
	texts := make([]string, len(languages))
	shares := make(map[rune]float64)
	for i, language := range languages {
		text, err := read(folder, language)
		if err != nil {
			return nil, err
		}
		total, found := 0, make(map[rune]int)
		for _, r := range text {
			if s.within(r) {
				found[r]++
				total++
			}
		}
		for r, n := range found {
			shares[r] = max(shares[r], float64(n)/float64(total))
		}
		texts[i] = text
	}
	for r, share := range shares {
		if share >= rare && (unicode.IsLetter(r) || unicode.IsMark(r)) {
			s.letters = append(s.letters, r)
		}
	}
	slices.SortFunc(s.letters, func(a, b rune) int { return cmp.Compare(shares[b], shares[a]) })
	s.letters = s.letters[:min(len(s.letters), 254)]
	slices.Sort(s.letters)
	for i, r := range s.letters {
		s.numbers[r] = i + 1
	}
	for _, text := range texts {
		s.add(text)
	}
	return s, nil
}

// within reports whether a code point is in the range, or an additional Latin letter.
func (s *statistics) within(r rune) bool {
	return s.low <= r && r <= s.high || s.low == 'a' && 0x1E00 <= r && r <= 0x1EFF
}

func (s *statistics) add(text string) {
	pairs, singles, total := make(map[[2]int]float64), make([]float64, len(s.letters)+1), 0.0
	last := 0
	for _, r := range text {
		number := s.numbers[r]
		if number == 0 && last == 0 {
			continue
		}
		pairs[[2]int{last, number}]++
		singles[number]++
		last = number
		if total++; total > maxLetters {
			break
		}
	}
	s.pairs, s.singles, s.totals = append(s.pairs, pairs), append(s.singles, singles), append(s.totals, total)
}

// single returns the unconditional probability of a letter. A letter that a language does not have gets the probability of
// names and foreign words.
func (s *statistics) single(language, letter int) float64 {
	pool := 0.0
	for i := range s.singles {
		pool += s.singles[i][letter] / s.totals[i] / float64(len(s.singles))
	}
	return max(s.singles[language][letter]/s.totals[language], 0.03*pool, 1e-6)
}

// pair returns the probability of a letter after another.
func (s *statistics) pair(language, first, second int) float64 {
	const weight = 20
	return (s.pairs[language][[2]int{first, second}] + weight*s.single(language, second)) / (s.singles[language][first] + weight)
}

func cost(probability float64) byte {
	return byte(min(math.Round(-math.Log(probability)*unit), 255))
}

// write appends the tables and returns their ends. The tables are: the number of the letter of each code point; the number
// of the row of each pair, or 0; the rows with a cost for each language; and the costs of single letters.
func (s *statistics) write(b *bytes.Buffer) [5]int {
	ends := [5]int{b.Len()}
	for r := s.low; r <= s.high; r++ {
		b.WriteByte(byte(s.numbers[r])) //nolint:gosec // an alphabet has at most 254 letters
	}
	if s.low == 'a' {
		for r := rune(0x1E00); r <= 0x1EFF; r++ {
			b.WriteByte(byte(s.numbers[r])) //nolint:gosec // an alphabet has at most 254 letters
		}
	}
	ends[1] = b.Len()
	size := len(s.letters) + 1
	var rows []byte
	number := 0
	for first := range size {
		for second := range size {
			found := false
			for i := range s.pairs {
				found = found || s.pairs[i][[2]int{first, second}]/s.totals[i] > seldom
			}
			if !found {
				b.Write([]byte{0, 0})
				continue
			}
			number++
			_ = binary.Write(b, binary.LittleEndian, uint16(number))
			for i := range s.pairs {
				rows = append(rows, cost(s.pair(i, first, second)))
			}
		}
	}
	ends[2] = b.Len()
	b.Write(rows)
	ends[3] = b.Len()
	for letter := range size {
		for i := range s.pairs {
			b.WriteByte(cost(s.single(i, letter)))
		}
	}
	ends[4] = b.Len()
	return ends
}

// frequent returns the most frequent characters of a language written with thousands of them.
func frequent(folder, language string) (string, error) {
	const characters = 1200
	text, err := read(folder, language)
	if err != nil {
		return "", err
	}
	counts := make(map[rune]int)
	for _, r := range text {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			counts[r]++
		}
	}
	var found []rune
	for r := range counts {
		found = append(found, r)
	}
	slices.SortFunc(found, func(a, b rune) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return string(found[:min(len(found), characters)]), nil
}
