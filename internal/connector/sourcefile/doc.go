// Package sourcefile keeps the files that people upload to file_upload
// connectors: their rows in the database, their bytes in the blob store. It is
// what connectors/fileupload walks.
//
// Allowed imports: ent, connectors (for its errors), connectors/fileupload,
// internal/connector/blob, internal/apierr, internal/store/transaction and internal/viewer.
package sourcefile
