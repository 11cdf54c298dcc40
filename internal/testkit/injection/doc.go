// Package injection has the texts that try to change what an agent does, a model that
// obeys them, and calls of tools for them to order.
//
// Allowed imports: internal/model/llm.
package injection
