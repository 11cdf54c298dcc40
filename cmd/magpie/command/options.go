package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/client"
)

// optionsOf are the options of a kind, none of one that does not exist: the
// server says so.
func optionsOf(ctx context.Context, api *client.Client, kind string) ([]client.Option, error) {
	kinds, err := api.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range kinds {
		if k.Name == kind || slices.Contains(k.Aliases, kind) {
			return k.Options, nil
		}
	}
	return nil, nil
}

// example returns a value of an option as it is written on a command line.
func example(o client.Option) string {
	switch {
	case o.Example != nil && *o.Example != "":
		return *o.Example
	case o.Type == "boolean":
		return fmt.Sprint(o.Default != true) // what it is without the option needs none
	case len(o.Choices) > 0:
		return o.Choices[0]
	}
	switch value := o.Default.(type) {
	case nil:
		return "..."
	case string:
		return value
	case []any:
		texts := make([]string, len(value))
		for i, item := range value {
			texts[i] = fmt.Sprint(item)
		}
		return strings.Join(texts, ",")
	default:
		return fmt.Sprint(value)
	}
}

// showOptions prints a line for each option of a table. flag is that of the table.
func (r *runtime) showOptions(flag string, table []client.Option) {
	for _, option := range table {
		r.console.Printf("  %s%s  %s\n", usage(flag, option, table), required(option), option.Help)
	}
}

// usage returns what is written on a command line for an option of a table, after the
// conditions that do not hold by themselves.
func usage(flag string, o client.Option, table []client.Option) string {
	out := ""
	for _, d := range o.DependsOn {
		at := slices.IndexFunc(table, func(other client.Option) bool { return other.Name == d.Option })
		if at < 0 || len(d.Values) == 0 || slices.ContainsFunc(d.Values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(table[at].Default) }) {
			continue
		}
		out += flag + " " + shellWord(d.Option+"="+fmt.Sprint(d.Values[0])) + " "
	}
	if value := example(o); value == "..." && o.Multiline {
		return out + flag + " " + o.Name + `="$(cat FILE)"`
	}
	return out + flag + " " + shellWord(o.Name+"="+example(o))
}

func required(o client.Option) string {
	if o.Required {
		return " (needed)"
	}
	return ""
}

// shellWord quotes what a shell would not hand on as it stands.
func shellWord(text string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_=.,:/@%+-]+$`).MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// readOptions reads NAME=VALUE pairs over a JSON object, by the types of the
// known options. One that is not known is taken as the JSON that it is, or as text.
func readOptions(pairs []string, object string, known []client.Option) (map[string]any, error) {
	values, err := jsonObject(object, "--option")
	if err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for _, pair := range pairs {
		name, value, err := assignment(pair, "--option")
		if err != nil {
			return nil, err
		}
		kind := ""
		if at := slices.IndexFunc(known, func(o client.Option) bool { return o.Name == name }); at >= 0 {
			kind = known[at].Type
		}
		read := optionValue(kind, value)
		list, isList := read.([]any)
		switch {
		case given[name] && isList:
			before, _ := values[name].([]any)
			read = append(before, list...)
		case given[name]:
			return nil, fmt.Errorf("--option %s is given twice, and takes one value", name)
		}
		given[name], values[name] = true, read
	}
	return values, nil
}

// optionValue reads a value of a type; "" is an unknown one. What does not fit
// is handed on as text, for the server to say what is wrong. null clears an option.
func optionValue(kind, value string) any {
	var structured any
	isJSON := json.Unmarshal([]byte(value), &structured) == nil
	_, isText := structured.(string)
	switch {
	case isJSON && structured == nil:
		return nil
	case kind == "string" && !isText:
		return value // digits, too
	case kind == "string_list":
		if list, isList := structured.([]any); isList {
			return list
		}
		if isText {
			return []any{structured}
		}
		return listed(value)
	case isJSON:
		return structured
	default:
		return value
	}
}

// listed cuts a list at its commas, but for those in the braces and brackets of a pattern.
func listed(value string) []any {
	list := []any{}
	depth, from := 0, 0
	add := func(to int) {
		if item := strings.TrimSpace(value[from:to]); item != "" {
			list = append(list, item)
		}
		from = to + 1
	}
	for i, c := range value {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth <= 0 {
				add(i)
			}
		}
	}
	if from <= len(value) {
		add(len(value))
	}
	return list
}

// readCredentials reads NAME=VALUE pairs over a JSON object. All values are texts; null clears one.
func readCredentials(pairs []string, object string) (map[string]any, error) {
	values, err := jsonObject(object, "--credential")
	if err != nil {
		return nil, err
	}
	for _, pair := range pairs {
		name, value, err := assignment(pair, "--credential")
		if err != nil {
			return nil, err
		}
		values[name] = value
		if value == "null" {
			values[name] = nil
		}
	}
	return values, nil
}

func jsonObject(text, flag string) (map[string]any, error) {
	values := map[string]any{}
	if strings.TrimSpace(text) == "" {
		return values, nil
	}
	if err := json.Unmarshal([]byte(text), &values); err != nil || values == nil {
		return nil, errors.New("what was given beside " + flag + " is no JSON object") // it may hold secrets
	}
	return values, nil
}

func assignment(pair, flag string) (name, value string, err error) {
	name, value, found := strings.Cut(pair, "=")
	if !found || name == "" {
		return "", "", fmt.Errorf("%s takes NAME=VALUE", flag)
	}
	return name, value, nil
}
