package principal

import (
	"strings"

	"github.com/google/uuid"
)

const (
	userPrefix  = "user:"
	groupPrefix = "group:"
	// maxName is the maximum length of a source's principal in bytes.
	maxName = 1100
)

// User returns the principal of an email address.
func User(email string) string { return userPrefix + strings.ToLower(email) }

// Qualify converts the principals of a connector's source to those of documents and
// searches. It leaves out text that is neither a person nor a group, and names that
// are too long.
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
	}
	// U+001F separates the principals of a list.
	if name == "" || len(kind)+len(name) > maxName || strings.ContainsAny(name, "\x00\x1f") || strings.ToValidUTF8(name, "") != name {
		return ""
	}
	return kind + name
}
