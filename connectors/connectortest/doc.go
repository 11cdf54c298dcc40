// Package connectortest is the test suite of connectors.
//
// Every kind calls [Run] with a [Fixture] that creates, changes and deletes
// content at a real source, and ends its TestMain with [Main], which fails when
// a goroutine is still running.
//
// Every kind that reads from a network also calls [RunFaultInjection] or, for
// databases, [RunWireFaultInjection]: responses of the platform are replaced by
// wrong ones, and the suite checks that the source detects each of them.
// Databases also call [RunSampleColumns].
//
// [PublishedDial] holds a source's requests against the published model of its
// platform's API.
//
// [Fake] is a source in memory for tests of code that uses connectors.
//
// Allowed imports: the standard library, connectors and go.uber.org/goleak.
package connectortest
