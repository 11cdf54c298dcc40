package config

import "log/slog"

// A Secret is a setting that is never printed: all ways of formatting it give a
// placeholder, or nothing for an empty one.
type Secret string

// Reveal returns the secret text.
func (s Secret) Reveal() string { return string(s) }

// String returns a placeholder.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "(hidden)"
}

// GoString returns a placeholder for %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue returns a placeholder for logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns a placeholder for JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
