// Package tools implements the tools that agents may call, one file a tool.
// Each tool is a loop.Tool. Its JSON schema comes from the Go type of its
// input, which also validates the arguments that models send (agents/arguments).
//
// Tools act with the rights of the viewer in the context, within the scope of a
// RunContext. Data outside of the scope does not exist for them. The package
// imports agents, connectors, ent, internal/connector/attached, internal/search
// and leaves.
package tools
