// Package backup saves an installation and restores it: all rows of PostgreSQL,
// whatever row-level security says, and the uploaded files.
//
// A backup is a folder of a blob store. The tables are copied in one snapshot, each
// as text (COPY), compressed and encrypted. Files are shared by all backups of a store
// and copied once. The manifest is written last, so that a backup without one is
// known to be incomplete:
//
//	backups/ID/tables/NAME   rows of a table
//	backups/ID/files         index of the files: keys, lengths, hashes of what is stored
//	backups/ID/digests       hashes of the contents of the files, encrypted
//	backups/ID/manifest      counts, columns, hashes, keys
//	files/KEY                content of a file
//	keys/passphrase          the key of the store, encrypted with the passphrase
//
// Allowed imports: ent/migrate/migrations, internal/connector/blob, internal/secret.
package backup
