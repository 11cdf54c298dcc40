package analytics

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// A Mode says which parts of a query are stored.
type Mode string

// The modes, with the values of the setting QUERY_LOG.
const (
	Full   Mode = "full"   // everything, texts scrubbed
	Counts Mode = "counts" // everything but texts
	Off    Mode = "off"    // nothing
)

// A Kind is the kind of a query.
type Kind string

// The kinds.
const (
	Search Kind = "search"
	Chat   Kind = "chat"
)

// A Query is a search or chat question that was answered. It has no field for a person,
// address or device.
type Query struct {
	Workspace uuid.UUID
	Surface   viewer.Surface
	Key       uuid.UUID // the API key; zero for signed-in people, who are not distinguished
	Kind      Kind
	// Collection is the only one that was searched; zero for all in scope.
	Collection uuid.UUID
	Text       string // unchanged; it is scrubbed before it is stored
	Language   string // code of the language filter
	Results    int    // total of a search; documents that an answer cites
	TopScore   *float64
	Filters    []string // names of the fields that filtered, not their values
	NextPage   bool     // the search had an offset, so that it is not a new query
	Took       time.Duration
	Request    string // id of the request
	// Conversation is the conversation of a chat question.
	Conversation uuid.UUID
	// Sourced reports whether an answer cites a source; nil for searches and for incomplete
	// answers.
	Sourced *bool
	At      time.Time
}

var languageCode = regexp.MustCompile(`^[a-z]{2,3}$`)

// A row is a Query as it is stored.
type row struct {
	Query

	id     uuid.UUID
	textID *int64
	bucket int16
}

// rowOf returns the row of a query, with a scrubbed text, or without a text if mode is not
// Full.
func rowOf(q Query, mode Mode) row {
	r := row{Query: q, id: NewID(q.At), bucket: bucketOf(q.Took)}
	r.Text = ""
	if mode == Full {
		if r.Text = Scrub(q.Text, MaxText); r.Text != "" {
			id := textID(q.Workspace, r.Text)
			r.textID = &id
		}
	}
	if !languageCode.MatchString(q.Language) {
		r.Language = "" // a filter may contain any text
	}
	return r
}

// NewID returns a version 7 UUID of a time, so that rows are ordered by age.
func NewID(at time.Time) uuid.UUID {
	id := uuid.New()
	stamp(&id, at)
	return id
}

// firstID returns the smallest id of a time.
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

// QuestionID returns the id that a question with a text has in the traffic of a workspace,
// whether or not it was asked.
func QuestionID(workspace uuid.UUID, question string) int64 {
	return textID(workspace, cmp.Or(Scrub(question, MaxText), question))
}

// textID returns the id of a text in a workspace. Texts that Fold makes equal have the same
// id.
func textID(workspace uuid.UUID, text string) int64 {
	h := sha256.New()
	_, _ = h.Write(workspace[:])
	_, _ = h.Write([]byte(Fold(text)))
	return int64(binary.BigEndian.Uint64(h.Sum(nil))) //nolint:gosec // a hash
}

// Durations are counted in logarithmic buckets, 8 for each doubling, starting at 0.1 ms.
// The error of a percentile is at most 5%.
const (
	bucketsPerDoubling = 8
	minMilliseconds    = 0.1
	lastBucket         = 255
)

func bucketOf(took time.Duration) int16 {
	ms := milliseconds(took)
	if ms <= minMilliseconds {
		return 0
	}
	return int16(min(bucketsPerDoubling*math.Log2(ms/minMilliseconds), lastBucket))
}

// bucketStart returns the lower bound of a bucket in milliseconds.
func bucketStart(bucket float64) float64 {
	return minMilliseconds * math.Exp2(bucket/bucketsPerDoubling)
}

// percentile returns the duration in milliseconds below which the given share of the
// counted durations is, or 0 if nothing was counted.
func percentile(buckets *[lastBucket + 1]int64, share float64) float64 {
	total := int64(0)
	for _, n := range buckets {
		total += n
	}
	if total == 0 {
		return 0
	}
	target := share * float64(total)
	for b, n := range buckets {
		if n > 0 && target <= float64(n) {
			return bucketStart(float64(b) + target/float64(n))
		}
		target -= float64(n)
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
