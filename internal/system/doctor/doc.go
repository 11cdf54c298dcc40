// Package doctor checks an installation from the place of one process: settings, stores,
// keys, addresses and the machine. It changes nothing, except for a blob that it writes
// and deletes.
//
// Allowed imports: internal/config, internal/connector/blob, internal/humanize,
// internal/secret, internal/store.
package doctor
