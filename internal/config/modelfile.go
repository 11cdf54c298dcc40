package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxConfigFile is the largest number of bytes of a file of settings.
const maxConfigFile = 1 << 20

// A named is a model of a file.
type named interface{ modelName() string }

// readModels reads a list of models. parse returns the model of an entry.
func readModels[M named](path string, parse func(map[string]json.RawMessage) (M, error)) ([]M, error) {
	content, err := readNamed(path)
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return parseModels(content, parse)
}

// parseModels parses a list of models. Its errors have the entry and the field, and no value.
func parseModels[M named](content []byte, parse func(map[string]json.RawMessage) (M, error)) ([]M, error) {
	var entries []map[string]json.RawMessage
	if err := json.Unmarshal(content, &entries); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("line %d: the file is not JSON", 1+bytes.Count(content[:min(int(syntax.Offset), len(content))], []byte("\n")))
		}
		return nil, errors.New("the file must hold a list of objects: [{\"name\": …}]")
	}
	var models []M
	for i, fields := range entries {
		m, err := parse(fields)
		if err != nil {
			which := fmt.Sprintf("entry %d", i+1)
			if name := m.modelName(); name != "" {
				which = fmt.Sprintf("model %q", name)
			}
			return nil, fmt.Errorf("%s: %w", which, err)
		}
		models = append(models, m)
	}
	return models, nil
}

// unique returns the names without blanks and duplicates.
func unique(names []string) []string {
	var list []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// decodeFields decodes each field into its target. It begins with the name, which errors about the others contain.
func decodeFields(known map[string]any, fields map[string]json.RawMessage) error {
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "name"), strings.TrimPrefix(b, "name"))
	})
	for _, name := range names {
		target, found := known[name]
		if !found {
			return fmt.Errorf("there is no field %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
		if err := json.Unmarshal(fields[name], target); err != nil {
			return fmt.Errorf("%s: must be %s", name, kindOf(target))
		}
	}
	return nil
}

// kindOf returns the kind of value of a target.
func kindOf(target any) string {
	switch target.(type) {
	case *string:
		return "a text"
	case *int:
		return "a whole number"
	case **bool:
		return "true or false"
	case *[]string:
		return "a list of texts"
	default:
		return "an object"
	}
}

// keyOf returns the key, or the value of an environment variable.
func keyOf(key, variable string, environment map[string]string) (Secret, error) {
	switch {
	case variable == "":
		return Secret(key), nil
	case key != "":
		return "", errors.New("api_key: must not be set together with api_key_env")
	case environment[variable] == "":
		return "", fmt.Errorf("api_key_env: the environment variable %q is not set", variable)
	}
	return Secret(environment[variable]), nil
}

// parseTimeouts parses time limits such as 10s into their targets.
func parseTimeouts(fields map[string]json.RawMessage, targets map[string]*time.Duration) error {
	texts := map[string]any{}
	for name := range targets {
		texts[name] = new(string)
	}
	if err := decodeFields(texts, fields); err != nil {
		return err
	}
	for name, target := range targets {
		text, _ := texts[name].(*string)
		if *text == "" {
			continue
		}
		duration, err := time.ParseDuration(*text)
		if err != nil || duration <= 0 {
			return fmt.Errorf("%s: must be a time such as 10s", name)
		}
		*target = duration
	}
	return nil
}

func checkSet(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is not set")
	}
	return nil
}

func checkNameLength(name string) error {
	const limit = 200 // that of widget_model_id and of a collection's model
	if len(name) > limit {
		return fmt.Errorf("must be at most %d bytes", limit)
	}
	return nil
}

func checkZeroOr(value, least, most int) error {
	if value == 0 {
		return nil
	}
	return checkRange(value, least, most)
}
