// Package access asks the sources of connectors with verifyAccess whether a person may
// read documents now. It only removes: a document that is not for a person by the
// imported rules stays hidden. What a source does not answer in time is hidden.
//
// Allowed imports: connectors, ent, internal/connector/credential, internal/connector/throttle,
// internal/ingest/entryid, internal/store/ttlcache, internal/viewer.
package access
