// Package restapi is how kinds talk to platforms that answer JSON over HTTP: it
// paces requests, carries and renews their authorization, bounds answers in size
// and time, refuses those that are not what was asked for, notices lists that go
// round in circles, and says of each failure whether waiting helps, a person is
// needed or nothing will help.
//
// Allowed imports: connectors and internal/httpx.
package restapi
