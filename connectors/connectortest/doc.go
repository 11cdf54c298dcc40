// Package connectortest is the suite that every kind of connector passes.
//
// A kind's tests call [Run] with a [Fixture] that puts, changes and deletes
// content at a real source, and end their TestMain with [Main], which fails
// when a goroutine was left running.
//
// [RunLies] and [RunWireLies] put a liar between a source and its platform, and
// check that nothing is concluded from what is no answer.
//
// Allowed imports: the standard library, connectors and go.uber.org/goleak.
package connectortest
