package connectors

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// Moved names the first option of config that leads the credentials elsewhere
// than before, or guards them less on the way; "" for none. An absent value is
// its default. Addresses are compared by their origins: scheme, host and port,
// however they are written; the path below one of them is the same service. Lists
// are compared by the origins that are added, options with choices, which are in
// the order of strength, by whether the value becomes weaker, all others by value.
func (k Kind) Moved(before, after map[string]any) string {
	for _, option := range k.Options {
		if option.Destination && option.moved(before[option.Name], after[option.Name]) {
			return option.Name
		}
	}
	return ""
}

// GrantOrigins are the origins, such as https://host:443, that the token of an
// OAuth grant is sent to under a config, by the option that names them.
func (k Kind) GrantOrigins(config map[string]any) map[string][]string {
	origins := map[string][]string{}
	for _, option := range k.Options {
		value := config[option.Name]
		if !option.Destination || option.ApartFromGrants || option.absent(value) {
			continue
		}
		for _, text := range textsOf(value) {
			if same, ok := originOf(text); ok && !slices.Contains(textsOf(option.Default), text) {
				origins[option.Name] = append(origins[option.Name], same.scheme+"://"+net.JoinHostPort(same.host, same.port))
			}
		}
	}
	return origins
}

func (o Option) moved(before, after any) bool {
	if o.absent(before) {
		before = o.Default
	}
	if o.absent(after) {
		after = o.Default
	}
	old, now := textsOf(before), textsOf(after)
	if len(o.Choices) > 0 && len(old) == 1 && len(now) == 1 {
		return slices.Index(o.Choices, now[0]) < slices.Index(o.Choices, old[0])
	}
	places := func(texts []string) []string {
		out := make([]string, 0, len(texts))
		for _, text := range texts {
			out = append(out, o.place(text))
		}
		return out
	}
	from, to := places(old), places(now)
	if o.Type == TypeStringList {
		return slices.ContainsFunc(to, func(place string) bool { return !slices.Contains(from, place) })
	}
	return !slices.Equal(from, to)
}

// place is a value in the form in which it is compared.
func (o Option) place(text string) string {
	text = strings.TrimSpace(text)
	switch o.Format {
	case FormatURL:
		if at, ok := originOf(text); ok {
			return at.scheme + "://" + net.JoinHostPort(at.host, at.port)
		}
	case FormatHostname:
		return plainHost(text)
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// textsOf are the texts that a value consists of.
func textsOf(value any) []string {
	if value == nil {
		return nil
	}
	if list, reason := stringsOf(value); reason == "" {
		return list
	}
	if number, ok := integerOf(value); ok {
		return []string{fmt.Sprint(number)}
	}
	return []string{fmt.Sprint(value)}
}

// origin is where requests to an address go.
type origin struct{ scheme, host, port string }

// originOf reads the origin of an address; one without a scheme is https.
func originOf(text string) (origin, bool) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		return origin{}, false
	}
	at := origin{scheme: strings.ToLower(u.Scheme), host: plainHost(u.Hostname()), port: u.Port()}
	if at.port == "" {
		at.port = map[string]string{"http": "80", "https": "443"}[at.scheme]
	}
	return at, true
}

// plainHost is a host as it is looked up.
func plainHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}
