package connectors

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// ChangedDestination returns the name of the first option whose change sends the
// credentials to another destination or protects them less, or "" if there is
// none. An absent value is its default. URLs are compared by origin (scheme, host
// and port), since a path below an origin is the same service. A list changes the
// destination if it gains an origin, an option with choices if its value becomes
// weaker, and any other option if its value differs.
func (k Kind) ChangedDestination(before, after map[string]any) string {
	for _, option := range k.Options {
		if option.Destination && option.hasNewDestination(before[option.Name], after[option.Name]) {
			return option.Name
		}
	}
	return ""
}

// GrantOrigins returns the origins, such as https://host:443, that receive the
// token of an OAuth grant under a config, by option name.
func (k Kind) GrantOrigins(config map[string]any) map[string][]string {
	origins := map[string][]string{}
	for _, option := range k.Options {
		value := config[option.Name]
		if !option.Destination || option.NoGrantToken || option.isAbsent(value) {
			continue
		}
		for _, text := range valueStrings(value) {
			if origin, ok := parseOrigin(text); ok && !slices.Contains(valueStrings(option.Default), text) {
				origins[option.Name] = append(origins[option.Name], origin)
			}
		}
	}
	return origins
}

func (o Option) hasNewDestination(before, after any) bool {
	if o.isAbsent(before) {
		before = o.Default
	}
	if o.isAbsent(after) {
		after = o.Default
	}
	oldValues, newValues := valueStrings(before), valueStrings(after)
	if len(o.Choices) > 0 && len(oldValues) == 1 && len(newValues) == 1 {
		return slices.Index(o.Choices, newValues[0]) < slices.Index(o.Choices, oldValues[0])
	}
	for _, values := range [][]string{oldValues, newValues} {
		for i, value := range values {
			values[i] = o.normalize(value)
		}
	}
	if o.Type == TypeStringList {
		return slices.ContainsFunc(newValues, func(value string) bool { return !slices.Contains(oldValues, value) })
	}
	return !slices.Equal(oldValues, newValues)
}

// normalize returns the form of a value in which destinations are compared.
func (o Option) normalize(text string) string {
	text = strings.TrimSpace(text)
	switch o.Format {
	case FormatURL:
		if origin, ok := parseOrigin(text); ok {
			return origin
		}
	case FormatHostname:
		return normalizeHost(text)
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// valueStrings returns the strings of a value, as a new slice.
func valueStrings(value any) []string {
	if value == nil {
		return nil
	}
	if list, reason := toStrings(value); reason == "" {
		return list
	}
	if number, ok := toInteger(value); ok {
		return []string{fmt.Sprint(number)}
	}
	return []string{fmt.Sprint(value)}
}

// parseOrigin returns the origin of a URL with its port. A URL without a scheme is
// https.
func parseOrigin(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return "", false
	}
	scheme, port := strings.ToLower(u.Scheme), u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(normalizeHost(u.Hostname()), port), true
}

// normalizeHost returns a host name in lower-case ASCII, without a final dot.
func normalizeHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}
