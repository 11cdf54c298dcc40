// Package answer keeps the events of answers, so that a reader who lost the connection can
// go on, on any server. An answer goes on for a while without readers, and its events stay
// for a while after its end.
//
// Allowed imports: ent, internal/apierr, internal/chat, internal/live/journal.
package answer
