// Package member says how the members of archives are named in the ledger and among the documents: by the source id of
// the archive, "!/" and the path in it. Such an id is in no source itself, so that each member has a line in the ledger and
// a document of its own, and all members of an archive can be found by the archive's id.
//
// The package may import the standard library and ent's SQL builder.
package member

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql"
)

const mark = "!/"

// archiveOf is the SQL expression of an archive's id by the id of its member; migration 000500 has indexes on it.
const archiveOf = `substring(source_id from '^(.*)!/')`

// Bounds of the two parts of an id, in bytes, which together stay under what a source id may have.
const (
	maxKey  = 700
	maxPath = 300
)

// Key is the part of the ids of an archive's members that tells the archive: its source id, shortened where it is long.
func Key(archive string) string { return shorten(archive, maxKey) }

// ID returns the source id of a member by the source id of its archive and the path in it. It is valid UTF-8 when they
// are, and at most 1,002 bytes long.
func ID(archive, path string) string {
	path = strings.ReplaceAll(path, mark, "!\\") // the last mark in an id is that between the two
	return Key(archive) + mark + shorten(path, maxPath)
}

// Archive is the [Key] of the archive that a source id names a member of; false for an id that names none.
func Archive(id string) (key string, inside bool) {
	at := strings.LastIndex(id, mark)
	if at < 0 {
		return "", false
	}
	return id[:at], true
}

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

// Of is a predicate of ent queries: the rows of all members of the archives with these ids.
func Of(archives ...string) func(*sql.Selector) {
	return func(s *sql.Selector) {
		values := make([]any, len(archives))
		for i, id := range archives {
			values[i] = Key(id)
		}
		s.Where(sql.P(func(b *sql.Builder) {
			b.WriteString(archiveOf).WriteString(" IN (").Args(values...).WriteString(")")
		}))
	}
}

// Is is a predicate of ent queries: the rows of members of any archive.
func Is(s *sql.Selector) {
	s.Where(sql.P(func(b *sql.Builder) { b.WriteString(archiveOf).WriteString(" IS NOT NULL") }))
}
