// Package subtitle reads subtitles (WebVTT and SubRip).
//
// The package may import internal/ingest/document, and the compose package beside it.
package subtitle
