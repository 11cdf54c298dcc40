// Package email has the providers of mails.
//
// Allowed imports: connectors, minio-go, internal/event, internal/ingest/{document,parse/htmldoc},
// internal/safetext.
package email
