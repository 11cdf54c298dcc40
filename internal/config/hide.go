package config

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
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
			for _, one := range append(addresses(v.String()), v.String()) { // which may be a list
				for _, part := range secretParts(one) {
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

// keyword is a name of an address's query, of a connection string or of a header.
var keyword = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// plainKeywords are the names whose values are no secrets. They are words that texts are full
// of, such as "require".
func plainKeywords() []string {
	return []string{
		"application_name", "channel_binding", "client_encoding", "connect_timeout", "db", "dbname", "gssencmode", "host", "hostaddr", "port", "search_path", "sslcert", "sslkey",
		"sslmode", "sslnegotiation", "sslrootcert", "statement_timeout", "target_session_attrs", "timezone", "user",
	}
}

// secretParts returns what Hide hides for a secret: the password and the query of an address,
// the values of a connection string or of headers, and else the whole and its long parts.
func secretParts(secret string) []string {
	scheme, rest, isAddress := strings.Cut(secret, "://")
	name, value, isPair := strings.Cut(secret, "=")
	switch value = strings.TrimLeft(value, " "); {
	case isAddress && keyword.MatchString(scheme):
		return addressParts(secret, rest)
	case isPair && keyword.MatchString(strings.TrimSpace(name)) && value != "" && value[0] != '=':
		return append(pairParts(secret), secret)
	}
	all := []string{secret}
	for part := range strings.FieldsFuncSeq(secret, func(r rune) bool { return strings.ContainsRune(",:=& \n\r\t", r) }) {
		if len(part) >= 16 { // keys of lists; shorter parts are their ids
			all = append(all, part)
		}
	}
	return all
}

// addressParts returns the secrets of an address. The rest of one with a user may be shown.
func addressParts(address, rest string) []string {
	var all []string
	rest, _, _ = strings.Cut(rest, "#")
	if parsed, err := url.Parse(address); err != nil || parsed.User == nil {
		all = append(all, address)
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		_, password, _ := strings.Cut(rest[:at], ":")
		all = append(all, forms(password)...)
	}
	_, query, _ := strings.Cut(rest, "?")
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if !slices.Contains(plainKeywords(), strings.ToLower(name)) {
			all = append(all, forms(value)...)
		}
	}
	return all
}

// forms returns a part of an address as it is there, without its escapes, and with those of
// a query and of a path.
func forms(part string) []string {
	plain, err := url.PathUnescape(part)
	if err != nil {
		plain = part
	}
	return []string{part, plain, url.QueryEscape(plain), url.PathEscape(plain)}
}

// namedValues are names with their values: in quotation marks as in connection strings of
// PostgreSQL, or up to the next blank or separator.
var (
	namedValues = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|([^\s,&]*))`)
	escaped     = regexp.MustCompile(`\\(.)`)
)

// pairParts returns the values of "name=value" with blanks, commas or "&" between them. A
// word behind a value, as in "Bearer abc", belongs to it.
func pairParts(text string) []string {
	var all []string
	matches := namedValues.FindAllStringSubmatchIndex(text, -1)
	for i, m := range matches {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		if slices.Contains(plainKeywords(), strings.ToLower(group(1))) {
			continue
		}
		end := len(text)
		if i+1 < len(matches) {
			end = matches[i+1][0]
		}
		all = append(all, group(2), escaped.ReplaceAllString(group(2), "$1"), strings.Trim(text[m[1]:end], " \t\r\n,&"))
		for _, form := range forms(group(3)) {
			kind, credentials, _ := strings.Cut(strings.ReplaceAll(form, "+", " "), " ")
			if strings.EqualFold(kind, "Basic") || strings.EqualFold(kind, "Bearer") {
				form = credentials // the first word tells nothing
			}
			all = append(all, form)
		}
	}
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
	return []string{"postgres", "postgresql", "redis", "rediss", "unix", "http", "https", "file", "s3", "smtp", "smtps", "weaviate"}
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
