package config

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// minHidden is the length from which parts of settings are hidden in texts.
const minHidden = 4

// Hide returns a text without the secrets of the settings: those that are secret, their
// parts, and the passwords in addresses.
func (c *Config) Hide(text string) string {
	for _, secret := range c.hidden() {
		text = strings.ReplaceAll(text, secret, "(hidden)")
	}
	return text
}

// hidden returns what Hide hides, the longest first.
func (c *Config) hidden() []string {
	var all []string
	add := func(secret string) {
		if secret = strings.TrimSpace(secret); len(secret) >= minHidden && !slices.Contains(all, secret) {
			all = append(all, secret)
		}
	}
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[Secret]():
			secret := v.String()
			parsed, err := url.Parse(secret)
			if err == nil && parsed.User != nil {
				password, _ := parsed.User.Password()
				add(password)
				add(url.QueryEscape(password))
				return // the rest of an address may be shown
			}
			add(secret)
			for part := range strings.FieldsFuncSeq(secret, func(r rune) bool { return r == ',' || r == ':' }) {
				if len(part) >= 16 { // keys of lists; shorter parts are their ids
					add(part)
				}
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		}
	}
	walk(reflect.ValueOf(c).Elem())
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// Shown returns every setting with its value, by name. Secrets have a placeholder; of
// addresses that are secret for their password, the scheme is left.
func (c *Config) Shown() map[string]string {
	all := map[string]string{}
	values := reflect.ValueOf(c).Elem()
	for _, field := range reflect.VisibleFields(values.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := values.FieldByIndex(field.Index)
		if secret, ok := value.Interface().(Secret); ok {
			all[name] = shownSecret(secret.Reveal())
			continue
		}
		all[name] = c.Hide(shownValue(value))
	}
	return all
}

// closed are the settings whose values are words of a fixed set.
func closed() []string {
	return []string{
		"SIGN_UP", "OIDC_AUTO_JOIN_ROLE", "SAML_AUTO_JOIN_ROLE", "SCIM_DEFAULT_ROLE", "RERANK_PROVIDER", "QUERY_LOG", "LOG_FORMAT", "LOG_LEVEL",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_TRACES_EXPORTER", "OTEL_TRACES_SAMPLER",
	}
}

// Outline returns every setting by name with what tells nothing about the people and places
// of an installation: numbers, durations, switches and words of a fixed set as they are, of
// addresses the scheme, and of all else only that it is set.
func (c *Config) Outline() map[string]string {
	all := map[string]string{}
	values := reflect.ValueOf(c).Elem()
	for _, field := range reflect.VisibleFields(values.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := values.FieldByIndex(field.Index)
		kind := value.Kind()
		switch scheme, _, isAddress := strings.Cut(value.String(), "://"); {
		case kind == reflect.Slice || kind == reflect.Map:
			all[name] = fmt.Sprintf("(%d)", value.Len())
		case kind != reflect.String && kind != reflect.Struct, slices.Contains(closed(), name):
			all[name] = shownValue(value)
		case value.IsZero():
			all[name] = ""
		case kind == reflect.String && isAddress && slices.Contains(schemes(), scheme):
			all[name] = scheme + "://(address)"
		default:
			all[name] = "(set)"
		}
	}
	return all
}

// schemes are those of the addresses of stores and services.
func schemes() []string {
	return []string{"postgres", "postgresql", "redis", "rediss", "unix", "http", "https", "file", "s3", "smtp", "smtps", "postmark", "ses"}
}

func shownSecret(secret string) string {
	if secret == "" {
		return ""
	}
	if scheme, _, found := strings.Cut(secret, "://"); found {
		return scheme + "://(hidden)"
	}
	return "(hidden)"
}

func shownValue(value reflect.Value) string { return fmt.Sprint(value.Interface()) }
