// Package toolserver makes integrations of tool servers that speak the Model Context
// Protocol: their settings, their tools as they are accepted and stored, and the calls.
// The protocol itself is in agents/mcp.
//
// It imports agents/integration, agents/mcp, agents/loop, agents/policy, connectors and
// the leaves.
package toolserver
