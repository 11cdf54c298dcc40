package webcrawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/magpie-search/magpie/connectors"
)

// A record is what the state has of a page.
type record struct {
	ETag      string   `json:"e,omitempty"`
	Modified  string   `json:"m,omitempty"` // the Last-Modified header
	Version   string   `json:"v"`
	MediaType string   `json:"t,omitempty"`
	Title     string   `json:"h,omitempty"`
	Canonical string   `json:"c,omitempty"`
	NoIndex   bool     `json:"n,omitempty"`
	Page      bool     `json:"p,omitempty"` // HTML
	Size      int64    `json:"s,omitempty"`
	Links     []string `json:"l,omitempty"`
	// OtherKind says that the last crawl got a page instead of a file or the
	// reverse, and ignored it.
	OtherKind bool `json:"d,omitempty"`
}

// hasValidators reports whether a request can be conditional.
func (r record) hasValidators() bool { return r.ETag != "" || r.Modified != "" }

func recordKey(url string) string {
	hash := sha256.Sum256([]byte(url))
	return pagePrefix + hex.EncodeToString(hash[:16])
}

// loadRecord returns the record of a page. It reports false if there is none.
func (s *source) loadRecord(ctx context.Context, url string) (r record, ok bool, err error) {
	ok, err = connectors.GetJSON(ctx, s.state, recordKey(url), &r)
	return r, ok, err
}

// saveRecord stores a record, unless it is too large; the next crawl then fetches the
// page unconditionally.
func (s *source) saveRecord(ctx context.Context, url string, r record) error {
	return connectors.PutJSON(ctx, s.state, recordKey(url), r)
}
