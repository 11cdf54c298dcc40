package support

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	mails = regexp.MustCompile(`[\p{L}\p{N}._%+-]+@[\p{L}\p{N}-]+(\.[\p{L}\p{N}-]+)*`)
	// tokens are keys of Magpie and what looks like one.
	tokens  = regexp.MustCompile(`\b(mgp|sk|pk|xox[a-z]|gh[a-z])[_-][A-Za-z0-9_-]{8,}|\b[A-Za-z0-9+/_-]{32,}={0,2}`)
	ids     = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	queries = regexp.MustCompile(`\?[^\s"'<>]+`)
	// plain are words of a fixed set, versions and numbers.
	plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:+/()-]{0,79}$`)
)

// named returns a text of a bundle with names: without secrets, mail addresses, tokens and
// the queries of addresses.
func (b *bundle) named(text string) string {
	text = queries.ReplaceAllString(mails.ReplaceAllString(b.Config.Hide(text), "(mail)"), "?(query)")
	return tokens.ReplaceAllStringFunc(text, func(token string) string {
		if ids.MatchString(token) || strings.Trim(token, "-_") == "" || strings.Count(token, "_") > 3 || strings.Count(token, "/") > 1 {
			return token
		}
		return "(token)"
	})
}

// text returns what a bundle has of a text that people or other systems may have a part in,
// such as an error.
func (b *bundle) text(text string) string {
	if b.Names {
		return b.named(text)
	}
	return b.phrases.choose(text)
}

// verbatim returns a text of the program's own.
func (b *bundle) verbatim(text string) string {
	if plain.MatchString(text) {
		return text
	}
	return b.text(text)
}

// put adds a value as JSON. The texts of the fields in own are kept: words of fixed sets and
// versions. Their names are paths, such as "workers.status". Of other texts, text decides what
// is kept; ids and times stay.
func (b *bundle) put(name string, value any, own ...string) {
	data, err := json.Marshal(value)
	var tree any
	if err == nil {
		err = json.Unmarshal(data, &tree)
	}
	if err == nil {
		data, err = json.MarshalIndent(b.prune(tree, "", own), "", "  ")
	}
	if err != nil {
		b.fail(name, err)
		return
	}
	b.files[name] = append(data, '\n')
}

func (b *bundle) prune(tree any, path string, own []string) any {
	switch value := tree.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, value); err == nil || ids.MatchString(value) {
			return value
		}
		if slices.Contains(own, path) {
			return b.verbatim(value)
		}
		return b.text(value)
	case []any:
		for i := range value {
			value[i] = b.prune(value[i], path, own)
		}
	case map[string]any:
		for name := range value {
			value[name] = b.prune(value[name], strings.TrimPrefix(path+"."+name, "."), own)
		}
	}
	return tree
}

// Lines and labels of the text format of Prometheus.
var (
	sample = regexp.MustCompile(`^((?:magpie|go|process|promhttp)_[a-z0-9_]+)(?:\{(.*)\})? ([0-9.e+-]+|NaN|[+-]Inf)$`)
	kinds  = regexp.MustCompile(`^# TYPE (?:magpie|go|process|promhttp)_[a-z0-9_]+ (?:counter|gauge|histogram|summary|untyped)$`)
	labels = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:\\.|[^"\\])*)"`)
)

// ownLabels are labels whose values the program chooses.
func ownLabels() []string {
	return []string{"surface", "method", "status", "task", "outcome", "kind", "queue", "state", "part", "version", "go_version", "le", "quantile", "code"}
}

// metrics returns the samples of the program, without values of labels that somebody chose.
func (b *bundle) metrics(text string) string {
	if text, failed := strings.CutPrefix(text, "# not collected: "); failed {
		return "# not collected: " + b.text(strings.TrimSpace(text)) + "\n"
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kinds.MatchString(line) {
			out.WriteString(line + "\n")
			continue
		}
		parts := sample.FindStringSubmatch(line)
		if parts == nil {
			continue
		}
		var pairs []string
		for _, pair := range labels.FindAllStringSubmatch(parts[2], -1) {
			value := b.text(pair[2])
			if slices.Contains(ownLabels(), pair[1]) {
				value = b.verbatim(pair[2])
			}
			pairs = append(pairs, fmt.Sprintf("%s=%q", pair[1], value))
		}
		name := parts[1]
		if len(pairs) > 0 {
			name += "{" + strings.Join(pairs, ",") + "}"
		}
		out.WriteString(name + " " + parts[3] + "\n")
	}
	return out.String()
}

// settings are those of the configuration.
func (b *bundle) settings() map[string]string {
	if !b.Names {
		return b.Config.Outline()
	}
	all := maps.Clone(b.Config.Shown())
	for name, value := range all {
		all[name] = b.named(value)
	}
	return all
}
