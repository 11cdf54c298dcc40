package config

import "log/slog"

// Secret is a setting that is never printed: every way of formatting it gives
// a placeholder, an empty one gives nothing.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue hides the text from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the text from JSON and its like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
