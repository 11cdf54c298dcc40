// Package event is the contract of inbound integrations: what a platform that sends
// mails, events or meetings must be able to do, and the common forms of what it sends.
// The packages below it have the platforms, one package a family; package inbox
// receives deliveries and keeps them.
//
// Allowed imports: connectors, internal/safetext.
package event
