// Package entryid makes the ids of archive entries, which are in the ledger and among the documents: the source id of
// the archive, "!/" and the path in the archive. No source has such ids itself. Each entry has a ledger entry and a
// document of its own, and the id of an archive finds all of its entries.
//
// The package may import the standard library and ent's SQL builder.
package entryid

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
)

const mark = "!/"

// archiveOf is the SQL expression of the archive's part of an id. Migration 000500 has indexes on it.
const archiveOf = `substring(source_id from '^(.*)!/')`

// maxKey and maxPath are the longest parts of an id, in bytes. Their sum is below the longest source id.
const (
	maxKey  = 700
	maxPath = 300
)

// ArchiveKey returns the archive's part of the ids of its entries: its source id, which is shortened if it is long.
func ArchiveKey(archive string) string { return shorten(archive, maxKey) }

// New returns the id of an entry from the source id of its archive and its path. It is valid UTF-8 if they are, and at
// most 1,002 bytes long.
func New(archive, path string) string {
	path = strings.ReplaceAll(path, mark, "!\\") // the last mark of an id separates its parts
	return ArchiveKey(archive) + mark + shorten(path, maxPath)
}

// Archive returns the [ArchiveKey] of an entry's id. It is false for other source ids.
func Archive(id string) (key string, inside bool) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return "", false
	}
	return id[:at], true
}

// IsShortened reports whether an [ArchiveKey] may differ from the source id of its archive.
func IsShortened(key string) bool { return len(key) > maxKey-utf8.UTFMax }

// shorten replaces the end of a long text by a hash of all of it.
func shorten(text string, max int) string {
	if len(text) <= max {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	hash := "~" + hex.EncodeToString(sum[:16])
	end := max - len(hash)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + hash
}

// InArchives is a predicate for ent queries. It selects the rows of all entries of archives.
func InArchives(archives ...string) func(*sql.Selector) {
	return func(s *sql.Selector) {
		values := make([]any, len(archives))
		for i, id := range archives {
			values[i] = ArchiveKey(id)
		}
		s.Where(sql.P(func(b *sql.Builder) {
			b.WriteString(archiveOf).WriteString(" IN (").Args(values...).WriteString(")")
		}))
	}
}

// InAnyArchive is a predicate for ent queries. It selects the rows of entries of any archive.
func InAnyArchive(s *sql.Selector) {
	s.Where(sql.P(func(b *sql.Builder) { b.WriteString(archiveOf).WriteString(" IS NOT NULL") }))
}
