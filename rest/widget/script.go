package widget

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

//go:embed asset
var assets embed.FS

// parts returns the files of the widget in order.
func parts() []string {
	return []string{"client.js", "element.js", "text.js", "theme.js", "label.js", "search.js", "chat.js", "widget.js"}
}

// script returns the widget: all parts within one function, so that the page only
// sees window.MagpieWidget. Comments and indentation are removed.
func script() ([]byte, error) {
	code, err := joined(parts(), exports())
	if err != nil {
		return nil, err
	}
	return []byte("/* Magpie's search and chat widget. The source is in rest/widget/asset. */\n(() => {\n\"use strict\";\n" + code + "})();\n"), nil
}

// joined returns the style sheet as a constant, and the parts without what matches.
func joined(names []string, without *regexp.Regexp) (string, error) {
	style, err := asset("style.css")
	if err != nil {
		return "", err
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(condense(string(style), true)); err != nil {
		return "", fmt.Errorf("encode the style sheet: %w", err)
	}
	var out strings.Builder
	out.WriteString("const STYLE = " + strings.TrimSpace(quoted.String()) + ";\n")
	for _, name := range names {
		part, err := asset(name)
		if err != nil {
			return "", err
		}
		out.WriteString(condense(without.ReplaceAllString(string(part), ""), false))
	}
	return out.String(), nil
}

// exports matches export statements, which only modules may have.
func exports() *regexp.Regexp { return regexp.MustCompile(`(?m)^export \{[^}]*\};$`) }

// condense removes comment lines, empty lines and indentation, and with joinLines
// also line breaks. It works by line: no string in the sources contains a line
// break, and multi-line comments have lines of their own.
func condense(source string, joinLines bool) string {
	var out strings.Builder
	inComment := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		begins := strings.HasPrefix(line, "/*")
		if begins || inComment {
			end := strings.Index(line, "*/")
			inComment = end < 0
			if inComment || end+2 == len(line) {
				continue
			}
		}
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		out.WriteString(line)
		if !joinLines {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func asset(name string) ([]byte, error) {
	content, err := assets.ReadFile("asset/" + name)
	if err != nil {
		return nil, fmt.Errorf("read asset: %w", err)
	}
	return content, nil
}
