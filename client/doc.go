// Package client is a client of Magpie's REST APIs: the public one with an API key, that
// of the dashboard with a session or a token. Its types and a method for each operation
// are generated from the OpenAPI document; New and the event streams are written by
// hand.
//
// It imports nothing of Magpie.
package client
