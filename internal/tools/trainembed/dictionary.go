package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
)

// readDictionary reads a dictionary in the dictd format. index is the path of the .index file; the text, which may be
// compressed, is in the same folder. Definitions become glosses, or translations for a bilingual dictionary.
func readDictionary(index, name string) ([]pair, error) {
	entries, err := os.ReadFile(index) //nolint:gosec // the folder that the command line names
	if err != nil {
		return nil, fmt.Errorf("read the index of a dictionary: %w", err)
	}
	text, err := readCompressed(strings.TrimSuffix(index, ".index") + ".dict.dz")
	if err != nil {
		return nil, err
	}
	from, to := dictionaryLanguages(name)
	bilingual := strings.Contains(name, "freedict") || strings.Contains(name, "dict-de-en")
	var pairs []pair
	for line := range strings.Lines(string(entries)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) < 3 || strings.HasPrefix(fields[0], "00") {
			continue
		}
		start, size := base64Number(fields[1]), base64Number(fields[2])
		if start+size > len(text) {
			continue
		}
		entry := string(text[start : start+size])
		if bilingual {
			pairs = appendTranslations(pairs, fields[0], entry)
			for i := len(pairs) - 1; i >= 0 && pairs[i].from == ""; i-- {
				pairs[i].from, pairs[i].to = from, to
			}
			continue
		}
		definition := squeeze(strings.NewReplacer("{", "", "}", "", "\\", "").Replace(entry))
		if len(definition) > 600 {
			definition = definition[:600]
		}
		definition = strings.ToValidUTF8(definition, "")
		if len(definition) > 20 && len(fields[0]) > 1 {
			pairs = append(pairs, pair{kind: kindGloss, left: fields[0], right: definition})
		}
	}
	return pairs, nil
}

var (
	transcription = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/[^/\n]*/|<[^>]*>|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}`) })
	numbering     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*[0-9]+[.)]?\s+`) })
)

// appendTranslations reads an entry of a bilingual dictionary: the headword, then lines of translations, which may be
// numbered and are separated by commas and semicolons. Examples and notes are quoted or follow a sign.
func appendTranslations(pairs []pair, headword, entry string) []pair {
	if strings.ContainsAny(headword, "0123456789@") || len(headword) > 60 {
		return pairs
	}
	lines := strings.Split(entry, "\n")
	found := 0
	for _, line := range lines[1:] {
		line = numbering().ReplaceAllString(line, "")
		if strings.ContainsAny(line, "\"=→:") {
			continue
		}
		line = transcription().ReplaceAllString(line, " ")
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ',' || r == ';' || r == '|' }) {
			part = squeeze(part)
			if part == "" || len(part) > 60 || found >= 6 || strings.EqualFold(part, headword) {
				continue
			}
			pairs = append(pairs, pair{kind: kindTranslation, left: headword, right: part})
			found++
		}
	}
	return pairs
}

func base64Number(digits string) int {
	number := 0
	for i := range len(digits) {
		number = number*64 + max(0, strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", digits[i]))
	}
	return number
}

// readCompressed reads a file compressed with gzip.
func readCompressed(path string) (content []byte, err error) {
	file, err := os.Open(path) //nolint:gosec // the folder that the command line names
	if err != nil {
		return nil, fmt.Errorf("read a compressed file: %w", err)
	}
	defer func() { _ = file.Close() }()
	reader, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if content, err = io.ReadAll(reader); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return content, nil
}

// readWordNet reads a data file of WordNet: the words of each synset, and its gloss.
func readWordNet(content string) []pair {
	var pairs []pair
	for line := range strings.Lines(content) {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		head, gloss, ok := strings.Cut(line, " | ")
		fields := strings.Fields(head)
		if !ok || len(fields) < 5 {
			continue
		}
		var count int
		if _, err := fmt.Sscanf(fields[3], "%x", &count); err != nil || len(fields) < 4+2*count {
			continue
		}
		words := make([]string, count)
		for i := range words {
			word, _, _ := strings.Cut(fields[4+2*i], "(")
			words[i] = strings.ReplaceAll(word, "_", " ")
		}
		gloss = strings.TrimSpace(gloss)
		pairs = append(pairs, pair{kind: kindGloss, left: strings.Join(words, ", "), right: gloss})
		for i := 1; i < len(words); i++ {
			pairs = append(pairs, pair{kind: kindSynonym, left: words[i-1], right: words[i]})
		}
		if count > 2 {
			pairs = append(pairs, pair{kind: kindSynonym, left: words[0], right: words[count-1]})
		}
	}
	return pairs
}

// readThesaurus reads the thesaurus format of MyThes: a headword and its number of meanings, then the synonyms of each.
func readThesaurus(content string) []pair {
	var pairs []pair
	headword := ""
	for line := range strings.Lines(content) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) == 2 && strings.Trim(fields[1], "0123456789") == "" {
			headword = fields[0]
			continue
		}
		for i, word := range fields[1:] {
			word, _, _ = strings.Cut(word, "(")
			if word = strings.TrimSpace(word); i < 4 && word != "" && word != headword && headword != "" {
				pairs = append(pairs, pair{kind: kindSynonym, left: headword, right: word})
			}
		}
	}
	return pairs
}

// readUnihan reads the English meanings of Chinese characters (Unihan_Readings.txt).
func readUnihan(content string) []pair {
	var pairs []pair
	for line := range strings.Lines(content) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		var r rune
		if len(fields) != 3 || fields[1] != "kDefinition" {
			continue
		}
		if _, err := fmt.Sscanf(fields[0], "U+%X", &r); err == nil {
			pairs = append(pairs, pair{kind: kindTranslation, left: string(r), right: fields[2], from: "zh"})
		}
	}
	return pairs
}
