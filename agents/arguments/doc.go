// Package arguments checks the arguments that models write for tool calls. The
// schema of Magpie's own tools comes from a Go type, into which [Decode] parses
// them. [Validate] checks arguments against the JSON schemas of others, with a
// bounded cost whatever the schema says.
//
// The package imports internal/apierr and internal/safetext.
package arguments
