package bench

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Truth knows which versions of the documents a search may return. The versions
// of all documents have different numbers. A search may return a version after its
// write has begun and until the write that ends it has returned. A Truth is safe
// for concurrent use.
type Truth struct {
	mutex    sync.Mutex
	versions []span
}

type span struct {
	document     int
	begun, ended time.Time // ended is zero for the current version
}

// Begin records the start of the write of a document's next version and returns
// the number of the version, from 1.
func (t *Truth) Begin(document int, now time.Time) (version int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.versions = append(t.versions, span{document: document, begun: now})
	return len(t.versions)
}

// End records the end of the write that replaced or deleted a version.
func (t *Truth) End(version int, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.versions[version-1].ended = now
}

// ErrWrong is wrapped by the errors of Check.
var ErrWrong = errors.New("a search returned something wrong")

// Check checks the versions that a search returned. These are wrong: a version
// that was replaced or deleted before the search was sent, a version that nobody
// wrote, and two versions of one document.
func (t *Truth) Check(found []int, sent time.Time) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	versions := make(map[int]int, len(found))
	for _, version := range found {
		if version < 1 || version > len(t.versions) {
			return fmt.Errorf("%w: version %d, which nobody wrote", ErrWrong, version)
		}
		s := t.versions[version-1]
		if !s.ended.IsZero() && s.ended.Before(sent) {
			return fmt.Errorf("%w: version %d of document %d, which was gone for %s", ErrWrong, version, s.document, sent.Sub(s.ended))
		}
		if other, ok := versions[s.document]; ok && other != version {
			return fmt.Errorf("%w: versions %d and %d of document %d", ErrWrong, other, version, s.document)
		}
		versions[s.document] = version
	}
	return nil
}

// Marker returns a word for a number that no text contains. It has letters only,
// so that every analyzer keeps it whole.
func Marker(n int) string {
	letters := []byte("zqx")
	for range 7 {
		letters = append(letters, "bdfghjkmnpqrtvwz"[n&15])
		n >>= 4
	}
	return string(letters)
}
