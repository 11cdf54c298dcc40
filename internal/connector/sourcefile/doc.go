// Package sourcefile stores the files that people upload to file_upload
// connectors: rows in the database, contents in the blob store. The source of
// package connectors/fileupload reads them.
//
// Allowed imports: ent, connectors (for its errors), connectors/fileupload,
// internal/connector/blob, internal/ingest/entryid, internal/store, and the leaves.
package sourcefile
