// Package restapi is how kinds talk to platforms that answer JSON over HTTP: it
// paces requests, carries and renews their authorization, bounds answers, and
// says of each failure whether waiting helps, a person is needed or nothing will
// help.
//
// Allowed imports: connectors and internal/httpx.
package restapi
