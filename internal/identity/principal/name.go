package principal

import (
	"strings"

	"github.com/google/uuid"
)

const (
	userPrefix  = "user:"
	groupPrefix = "group:"
	// maxName bounds a principal as a source says it, in bytes.
	maxName = 1100
)

// User is the principal of an address.
func User(mail string) string { return userPrefix + strings.ToLower(mail) }

// Qualify makes the principals that a connector's source names those that
// documents and searches have. What is neither a person nor a group, and what is
// too long to be told apart, names nobody and is left out.
func Qualify(connector uuid.UUID, principals []string) []string {
	out := make([]string, 0, len(principals))
	for _, p := range principals {
		switch own := clean(p); {
		case strings.HasPrefix(own, userPrefix):
			out = append(out, own)
		case strings.HasPrefix(own, groupPrefix):
			out = append(out, group(connector, own))
		}
	}
	return out
}

func group(connector uuid.UUID, own string) string {
	return groupPrefix + connector.String() + ":" + own[len(groupPrefix):]
}

// clean is a principal of a source in the one way that it is written; "" for
// what is none.
func clean(p string) string {
	p = strings.TrimSpace(p)
	var kind, name string
	switch {
	case strings.HasPrefix(p, userPrefix):
		kind, name = userPrefix, strings.ToLower(strings.TrimSpace(p[len(userPrefix):]))
	case strings.HasPrefix(p, groupPrefix):
		kind, name = groupPrefix, p[len(groupPrefix):]
	}
	// The character between the principals of a list stands in none of them.
	if name == "" || len(kind)+len(name) > maxName || strings.ContainsAny(name, "\x00\x1f") || strings.ToValidUTF8(name, "") != name {
		return ""
	}
	return kind + name
}
