package principal

import (
	"strings"

	"github.com/google/uuid"
)

const (
	userPrefix   = "user:"
	groupPrefix  = "group:"
	domainPrefix = "domain:"
	// directoryPrefix begins the principal of a group of a workspace's directory.
	directoryPrefix = "directory:"
	// maxName is the maximum length of a source's principal in bytes.
	maxName = 1100
)

// User returns the principal of an email address.
func User(email string) string { return userPrefix + strings.ToLower(email) }

// own returns the principals that an email address has by itself: the person, and
// the people with an address in the same domain. Domains are compared as a whole: an
// address in a subdomain has another one. The callers know that the person owns the
// address.
func own(email string) []string {
	principals := []string{User(email)}
	if at := strings.LastIndexByte(email, '@'); at >= 0 {
		if domain := clean(domainPrefix + email[at+1:]); domain != "" {
			principals = append(principals, domain)
		}
	}
	return principals
}

// Qualify converts the principals of a connector's source to those of documents and
// searches. It leaves out text that is neither a person, a group nor a domain, and
// names that are too long.
func Qualify(connector uuid.UUID, principals []string) []string {
	out := make([]string, 0, len(principals))
	for _, p := range principals {
		switch p = clean(p); {
		case strings.HasPrefix(p, userPrefix), strings.HasPrefix(p, domainPrefix):
			out = append(out, p)
		case strings.HasPrefix(p, groupPrefix):
			out = append(out, group(connector, p))
		}
	}
	return out
}

// group returns a group with a source id and members.
func group(connector uuid.UUID, own string) string {
	return groupPrefix + connector.String() + ":" + own[len(groupPrefix):]
}

// clean returns a source's principal in canonical form, or "" if it is invalid.
func clean(p string) string {
	p = strings.TrimSpace(p)
	var kind, name string
	switch {
	case strings.HasPrefix(p, userPrefix):
		kind, name = userPrefix, strings.ToLower(strings.TrimSpace(p[len(userPrefix):]))
	case strings.HasPrefix(p, groupPrefix):
		kind, name = groupPrefix, p[len(groupPrefix):]
	case strings.HasPrefix(p, domainPrefix):
		kind, name = domainPrefix, strings.ToLower(strings.TrimSpace(p[len(domainPrefix):]))
		if strings.ContainsAny(name, "@/* \t\r\n") {
			return "" // no domain, and a pattern would promise more than it does
		}
	}
	// U+001F separates the principals of a list.
	if name == "" || len(kind)+len(name) > maxName || strings.ContainsAny(name, "\x00\x1f") || strings.ToValidUTF8(name, "") != name {
		return ""
	}
	return kind + name
}
