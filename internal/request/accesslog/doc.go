// Package accesslog collects what the handlers of one request learn about it, so that
// one line of the log describes the request when it has ended: its route, its caller
// and its operation. It never takes paths, queries, headers or texts.
//
// Allowed imports: internal/safetext and internal/viewer.
package accesslog
