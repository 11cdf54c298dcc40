// Package policy says which tool calls may happen: at once, after a person agrees,
// or never. A call is governed by the strictest of all policies that apply to it.
//
// The package imports internal/apierr.
package policy
