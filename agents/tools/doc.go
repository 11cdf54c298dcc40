// Package tools holds what agents may call, one file a tool. Each tool is a
// value of package loop, its JSON schema made from the Go type of its input,
// which also checks what models send. Tools act with the rights of the viewer in
// the context, within a Desk's reach and never beyond; what lies out of it does
// not exist for them. The package imports agents, ent, internal/search and
// leaves.
package tools
