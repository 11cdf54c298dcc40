package connectors

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxValueBytes  = 8192
	maxListEntries = 1000
)

// An OptionError says which field of a connector's settings is wrong, and why.
type OptionError struct {
	// Field is the path of the field, such as config.bucket or
	// credentials.accessKeyId.
	Field string
	// Message says what is wrong and what to do. It never holds a credential.
	Message string
}

func (e *OptionError) Error() string { return e.Field + ": " + e.Message }

// Validate checks a connector's settings. It returns an *OptionError for the
// first unknown field, value of a wrong type or out of range, or missing required
// field.
func (k Kind) Validate(config map[string]any, credentials map[string]string) error {
	return k.ValidateSettings(Settings{Config: config, Credentials: credentials})
}

// ValidateSettings is [Kind.Validate] for settings that may have an OAuth grant.
// It does not call Token.
func (k Kind) ValidateSettings(s Settings) error {
	config, credentials := s.Config, s.Credentials
	options := slices.Concat(k.Options, CommonOptions())
	if err := checkFieldNames("config", slices.Collect(maps.Keys(config)), options); err != nil {
		return err
	}
	if err := checkFieldNames("credentials", slices.Collect(maps.Keys(credentials)), k.Credentials); err != nil {
		return err
	}
	for _, option := range options {
		if err := option.within(options, config).validate("config."+option.Name, config[option.Name]); err != nil {
			return err
		}
	}
	given := make(map[string]any, len(credentials))
	for name, text := range credentials {
		given[name] = text
	}
	for _, option := range k.Credentials {
		var value any
		if text, ok := credentials[option.Name]; ok {
			value = text
		}
		if err := option.within(k.Credentials, given).validate("credentials."+option.Name, value); err != nil {
			return err
		}
	}
	if _, err := ParseFilters(config); err != nil {
		return err
	}
	if config[includePermissionsField] == true && !k.Permissions {
		// If it were ignored, everybody could read what few may read at the source.
		return &OptionError{Field: "config." + includePermissionsField, Message: "connectors of the type " + k.Name + " cannot import permissions"}
	}
	if config[VerifyField] == true {
		switch {
		case !k.VerifiesAccess:
			return &OptionError{Field: "config." + VerifyField, Message: "connectors of the type " + k.Name + " cannot verify access"}
		case config[includePermissionsField] != true:
			return &OptionError{Field: "config." + VerifyField, Message: "needs " + includePermissionsField}
		}
	}
	if config[SubscriptionField] == true && !k.Subscribes() {
		return &OptionError{Field: "config." + SubscriptionField, Message: "connectors of the type " + k.Name + " cannot ask for webhooks"}
	}
	if k.CheckSettings != nil {
		return k.CheckSettings(s)
	}
	return nil
}

// withDefaults returns settings in which absent fields have their default.
func (k Kind) withDefaults(s Settings) Settings {
	config := maps.Clone(s.Config)
	if config == nil {
		config = map[string]any{}
	}
	for _, option := range slices.Concat(k.Options, CommonOptions()) {
		if option.isAbsent(config[option.Name]) && option.Default != nil {
			config[option.Name] = option.Default
		}
	}
	s.Config = config
	return s
}

// checkFieldNames reports the first name that no option has. section is config or
// credentials.
func checkFieldNames(section string, names []string, options []Option) error {
	var known []string
	for _, option := range options {
		known = append(known, option.Name)
	}
	slices.Sort(known)
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known, name) {
			message := "unknown field; there are none here"
			if len(known) > 0 {
				message = "unknown field; known ones are " + strings.Join(known, ", ")
			}
			return &OptionError{Field: section + "." + printable(name), Message: message}
		}
	}
	return nil
}

// within returns the option as it is among the values of its table: it is required
// only while its conditions hold.
func (o Option) within(table []Option, values map[string]any) Option {
	o.Required = o.Required && !slices.ContainsFunc(o.DependsOn, func(d Dependency) bool {
		value := values[d.Option]
		if at := slices.IndexFunc(table, func(other Option) bool { return other.Name == d.Option }); at >= 0 && table[at].isAbsent(value) {
			value = table[at].Default
		}
		return !slices.ContainsFunc(d.Values, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(value) })
	})
	return o
}

// isAbsent reports whether a value is absent. JSON null and the empty string are:
// forms send an empty string for a blank field.
func (o Option) isAbsent(value any) bool {
	return value == nil || (o.Type == TypeString && value == "")
}

// validate checks a value. field is the path for the error.
func (o Option) validate(field string, value any) error {
	wrong := func(format string, args ...any) error {
		return &OptionError{Field: field, Message: fmt.Sprintf(format, args...)}
	}
	if o.isAbsent(value) {
		if o.Required {
			return wrong("required%s", exampleHint(o))
		}
		return nil
	}
	var checked any
	switch o.Type {
	case TypeString:
		text, ok := value.(string)
		if !ok {
			return wrong("must be a string, not %s", jsonType(value))
		}
		if reason := checkText(text); reason != "" {
			return wrong("%s", reason)
		}
		if len(o.Choices) > 0 && !slices.Contains(o.Choices, text) {
			return wrong("must be one of %s", strings.Join(o.Choices, ", "))
		}
		checked = text
	case TypeInteger:
		number, ok := toInteger(value)
		if !ok {
			return wrong("must be a whole number, not %s", jsonType(value))
		}
		if o.Max > o.Min && (number < o.Min || number > o.Max) {
			return wrong("must be from %d to %d", o.Min, o.Max)
		}
		checked = number
	case TypeBoolean:
		flag, ok := value.(bool)
		if !ok {
			return wrong("must be true or false, not %s", jsonType(value))
		}
		checked = flag
	case TypeStringList:
		list, reason := toStrings(value)
		if reason != "" {
			return wrong("%s", reason)
		}
		if o.Required && len(list) == 0 {
			return wrong("required: name at least one%s", exampleHint(o))
		}
		for _, entry := range list {
			if len(o.Choices) > 0 && !slices.Contains(o.Choices, entry) {
				return wrong("each must be one of %s", strings.Join(o.Choices, ", "))
			}
		}
		checked = list
	case TypeObject:
		return nil // ParseFilters checks the only object
	default:
		return wrong("has the unknown type %q", o.Type)
	}
	if o.Check == nil {
		return nil
	}
	if err := o.Check(checked); err != nil {
		return wrong("%s", err.Error())
	}
	return nil
}

func exampleHint(o Option) string {
	if o.Example == "" {
		return ""
	}
	return ", for example " + o.Example
}

// toInteger converts a decoded whole number. Floats above 2^53 are refused
// because they are not exact.
func toInteger(value any) (int64, bool) {
	switch number := value.(type) {
	case float64:
		if number != math.Trunc(number) || math.Abs(number) > 1<<53 {
			return 0, false
		}
		return int64(number), true
	case int:
		return int64(number), true
	case int64:
		return number, true
	case json.Number:
		integer, err := number.Int64()
		return integer, err == nil
	default:
		return 0, false
	}
}

// toStrings converts a decoded list of strings, or says what is wrong with it.
func toStrings(value any) (list []string, reason string) {
	switch value := value.(type) {
	case nil:
		return nil, ""
	case []string:
		list = slices.Clone(value)
	case []any:
		for _, entry := range value {
			text, ok := entry.(string)
			if !ok {
				return nil, "must be a list of strings, one entry is " + jsonType(entry)
			}
			list = append(list, text)
		}
	default:
		return nil, "must be a list of strings, not " + jsonType(value)
	}
	if len(list) > maxListEntries {
		return nil, fmt.Sprintf("has %d entries, at most %d are allowed", len(list), maxListEntries)
	}
	for _, entry := range list {
		if entry == "" {
			return nil, "has an empty entry"
		}
		if reason := checkText(entry); reason != "" {
			return nil, reason
		}
	}
	return list, ""
}

// checkText says what is wrong with a string, "" for nothing.
func checkText(text string) string {
	switch {
	case len(text) > maxValueBytes:
		return fmt.Sprintf("is longer than %d bytes", maxValueBytes)
	case !utf8.ValidString(text):
		return "is not valid UTF-8"
	// A private key has line breaks.
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }):
		return "has a control character in it"
	default:
		return ""
	}
}

func jsonType(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "true or false"
	case float64, int, int64, json.Number:
		return "a number"
	case []any, []string:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return fmt.Sprintf("a %T", value)
	}
}

// printable returns a client's text in a form that is safe in a message.
func printable(name string) string {
	const maxRunes = 64
	cleaned := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != utf8.RuneError {
			return r
		}
		return '?'
	}, name)
	if runes := []rune(cleaned); len(runes) > maxRunes {
		return string(runes[:maxRunes]) + "…"
	}
	return cleaned
}
