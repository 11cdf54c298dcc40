package analytics

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Mode says what of a question is kept.
type Mode string

// The modes, as the setting QUERY_LOG names them.
const (
	Full   Mode = "full"   // everything, texts scrubbed
	Counts Mode = "counts" // everything but texts
	Off    Mode = "off"    // nothing
)

// Kind is what was asked for.
type Kind string

// The kinds.
const (
	Search Kind = "search"
	Chat   Kind = "chat"
)

// Query is a search or question that was answered. It names no person, address
// or device, and has no place for one.
type Query struct {
	Workspace uuid.UUID
	Surface   viewer.Surface
	Key       uuid.UUID // the API key; zero for signed-in people, who are not told apart
	Kind      Kind
	// Collection is the one that was searched; zero is all that the caller reached.
	Collection uuid.UUID
	Text       string // as it was asked; it is scrubbed before it is stored
	Language   string // code, where the question named one
	Results    int    // total of a search; documents that an answer cites
	TopScore   *float64
	Filters    []string // names of the fields that filtered, not their values
	NextPage   bool     // an offset was given: no new question
	Took       time.Duration
	Request    string // id of the request
	// Conversation is the one a chat question belongs to.
	Conversation uuid.UUID
	// Sourced says whether an answer cites anything; nil for searches and for
	// answers that broke off.
	Sourced *bool
	At      time.Time
}

var languageCode = regexp.MustCompile(`^[a-z]{2,3}$`)

// row is a Query as it is stored.
type row struct {
	Query

	id     uuid.UUID
	textID *int64
	bucket int16
}

// rowOf makes a row. It scrubs the text, or drops it where none is kept.
func rowOf(q Query, mode Mode) row {
	r := row{Query: q, id: newID(q.At), bucket: bucketOf(q.Took)}
	r.Text = ""
	if mode == Full {
		if r.Text = Scrub(q.Text, maxText); r.Text != "" {
			id := textID(q.Workspace, r.Text)
			r.textID = &id
		}
	}
	if !languageCode.MatchString(q.Language) {
		r.Language = "" // a filter holds whatever the caller wrote
	}
	return r
}

// newID is a version 7 UUID of a time, so that rows can be found by age.
func newID(at time.Time) uuid.UUID {
	id := uuid.New()
	stamp(&id, at)
	return id
}

// firstID is the least id of a time.
func firstID(at time.Time) uuid.UUID {
	var id uuid.UUID
	stamp(&id, at)
	return id
}

func stamp(id *uuid.UUID, at time.Time) {
	ms := uint64(max(at.UnixMilli(), 0))
	var head [8]byte
	binary.BigEndian.PutUint64(head[:], ms<<16)
	copy(id[:6], head[:6])
	id[6] = id[6]&0x0f | 0x70
}

// textID tells texts apart within a workspace by their folded form.
func textID(workspace uuid.UUID, text string) int64 {
	h := sha256.New()
	_, _ = h.Write(workspace[:])
	_, _ = h.Write([]byte(Fold(text)))
	return int64(binary.BigEndian.Uint64(h.Sum(nil))) //nolint:gosec // any 64 bits will do
}

// Times are counted in buckets, 8 to each doubling from a tenth of a
// millisecond on: a percentile is right within 5%.
const (
	bucketsPerDoubling = 8
	leastTime          = 0.1 // ms
	lastBucket         = 255
)

func bucketOf(took time.Duration) int16 {
	ms := milliseconds(took)
	if ms <= leastTime {
		return 0
	}
	return int16(min(bucketsPerDoubling*math.Log2(ms/leastTime), lastBucket))
}

// bucketStart is the least time of a bucket in milliseconds.
func bucketStart(bucket float64) float64 {
	return leastTime * math.Exp2(bucket/bucketsPerDoubling)
}

// percentile is the time that a share of the counted ones stays below; 0 when
// nothing was counted.
func percentile(buckets *[lastBucket + 1]int64, share float64) float64 {
	total := int64(0)
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return 0
	}
	wanted := share * float64(total)
	for b, n := range buckets {
		if n > 0 && wanted <= float64(n) {
			return bucketStart(float64(b) + wanted/float64(n))
		}
		wanted -= float64(n)
	}
	return bucketStart(lastBucket + 1)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func orNull(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func filterNames(q *Query) string { return strings.Join(q.Filters, ",") }
