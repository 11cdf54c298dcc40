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

// parts are the files that the widget is joined from, in their order.
func parts() []string {
	return []string{"client.js", "element.js", "text.js", "theme.js", "label.js", "search.js", "chat.js", "widget.js"}
}

// script joins the widget: one function around everything, so that the page
// sees nothing of it but window.MagpieWidget. Comments and indents, which are
// for readers of the source, stay here.
func script() ([]byte, error) {
	style, err := asset("style.css")
	if err != nil {
		return nil, err
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(condense(string(style), true)); err != nil {
		return nil, fmt.Errorf("quote the style sheet: %w", err)
	}
	var joined strings.Builder
	joined.WriteString("/* Magpie's search and chat widget. The source is in rest/widget/asset. */\n(() => {\n\"use strict\";\n")
	joined.WriteString("const STYLE = " + strings.TrimSpace(quoted.String()) + ";\n")
	for _, name := range parts() {
		part, err := asset(name)
		if err != nil {
			return nil, err
		}
		joined.WriteString(condense(exports().ReplaceAllString(string(part), ""), false))
	}
	joined.WriteString("})();\n")
	return []byte(joined.String()), nil
}

// exports are the statements that only a module may have.
func exports() *regexp.Regexp { return regexp.MustCompile(`(?m)^export \{[^}]*\};$`) }

// condense drops the lines that are comments, empty lines and indents; of a
// style sheet also line breaks. It goes by lines: no string in the sources has a
// line break in it, and every comment stands on lines of its own or is short.
func condense(source string, joinLines bool) string {
	var out strings.Builder
	within := false
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		begins := strings.HasPrefix(line, "/*")
		if begins || within {
			end := strings.Index(line, "*/")
			within = end < 0
			if within || end+2 == len(line) {
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
		return nil, fmt.Errorf("read a part of the widget: %w", err)
	}
	return content, nil
}
