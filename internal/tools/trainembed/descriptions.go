package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"gopkg.in/yaml.v3"
)

// readDescriptions reads the descriptions of packages in one language, a Translation file of apt. Descriptions of one
// package are parallel.
func readDescriptions(s *source, full string) (reading, error) {
	_, locale, _ := strings.Cut(s.path, "_i18n_Translation-")
	language, known := languageOfLocale(strings.TrimSuffix(locale, ".lz4"))
	if !known {
		return reading{}, nil
	}
	content, err := exec.Command("/usr/lib/apt/apt-helper", "cat-file", full).Output() //nolint:gosec,noctx // a file of the folder
	if err != nil {
		return reading{}, fmt.Errorf("read descriptions: %w", err)
	}
	var r reading
	for entry := range strings.SplitSeq(string(content), "\n\n") {
		d := document{collection: "descriptions-" + language, language: language}
		var text []string
		flush := func() {
			if len(text) > 0 {
				d.blocks = append(d.blocks, block{text: strings.Join(text, " ")})
			}
			text = text[:0]
		}
		for line := range strings.SplitSeq(entry, "\n") {
			switch {
			case strings.HasPrefix(line, "Description-md5: "):
				d.parallel = line
			case strings.HasPrefix(line, "Description-"):
				_, summary, _ := strings.Cut(line, ": ")
				d.blocks = append(d.blocks, block{level: 1, text: summary})
			case line == " .":
				flush()
			case strings.HasPrefix(line, " "):
				text = append(text, strings.TrimSpace(line))
			default:
			}
		}
		flush()
		r.documents = append(r.documents, d)
	}
	return r, nil
}

// readComponents reads the descriptions of programs in many languages, a Components file of AppStream.
func readComponents(_ *source, full string) (reading, error) {
	content, err := readFile(full)
	if err != nil {
		return reading{}, err
	}
	var r reading
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var component struct {
			ID          string            `yaml:"ID"`
			Summary     map[string]string `yaml:"Summary"`
			Description map[string]string `yaml:"Description"`
		}
		if err := decoder.Decode(&component); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return r, fmt.Errorf("read components: %w", err)
		}
		for _, language := range languageNames {
			locale := language
			if language == "en" {
				locale = "C"
			} else if _, found := component.Summary[locale]; !found && language == "zh" {
				locale = "zh_CN"
			}
			d := document{collection: "components", language: language, parallel: "component " + component.ID}
			if summary := component.Summary[locale]; summary != "" {
				d.blocks = append(d.blocks, block{level: 1, text: summary})
			}
			d.blocks = append(d.blocks, readHTML([]byte(component.Description[locale]))...)
			if len(d.blocks) > 0 {
				r.documents = append(r.documents, d)
			}
		}
	}
}
