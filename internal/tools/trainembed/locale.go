package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// readLocaleData reads names of languages, countries, regions, cities, scripts and units, and names and keywords of emoji,
// in one language (CLDR). Each is a document that is parallel to that of another language. Keywords are synonyms of the name.
func readLocaleData(s *source, full string) (reading, error) {
	language, known := languageOfLocale(strings.TrimSuffix(path.Base(s.path), ".xml"))
	if !known || strings.Contains(path.Base(s.path), "_") {
		return reading{}, nil
	}
	content, err := readFile(full)
	if err != nil {
		return reading{}, err
	}
	var r reading
	names := make(map[string]string)
	kept := []string{"annotation", "language", "territory", "subdivision", "script", "exemplarCity", "displayName"}
	decoder := xml.NewDecoder(strings.NewReader(string(content)))
	decoder.Strict = false
	var keys []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("read locale data: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			key := token.Name.Local
			for _, attribute := range token.Attr {
				if slices.Contains([]string{"type", "cp"}, attribute.Name.Local) {
					key += " " + attribute.Value
				}
			}
			keys = append(keys, key)
		case xml.EndElement:
			keys = keys[:len(keys)-1]
		case xml.CharData:
			text := strings.TrimSpace(string(token))
			if text == "" || len(keys) < 2 {
				continue
			}
			key := keys[len(keys)-1]
			name, _, _ := strings.Cut(key, " ")
			if !slices.Contains(kept, name) || text == "↑↑↑" {
				continue
			}
			text = strings.ReplaceAll(text, " | ", ", ")
			r.documents = append(r.documents, document{
				collection: "locales", language: language, parallel: strings.Join(keys[1:], " "), blocks: []block{{text: text}},
			})
			if name == "annotation" {
				emoji := strings.TrimSuffix(key, " tts")
				if keywords, found := names[emoji]; found {
					r.pairs = append(r.pairs, pair{kind: kindGloss, left: text, right: keywords, from: language, to: language})
				}
				names[emoji] = text
			}
		default:
		}
	}
}
