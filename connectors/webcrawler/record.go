package webcrawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// record is what is kept of a page from crawl to crawl, so that the next one
// need not be told again what has not changed.
type record struct {
	ETag      string   `json:"e,omitempty"`
	Modified  string   `json:"m,omitempty"` // Last-Modified as it was given
	Version   string   `json:"v"`
	MediaType string   `json:"t,omitempty"`
	Title     string   `json:"h,omitempty"`
	Canonical string   `json:"c,omitempty"`
	NoIndex   bool     `json:"n,omitempty"`
	Page      bool     `json:"p,omitempty"` // HTML
	Size      int64    `json:"s,omitempty"`
	Links     []string `json:"l,omitempty"`
	// Doubt says that the last crawl got something of another sort, which was not believed.
	Doubt bool `json:"d,omitempty"`
}

// conditional says whether the page can be asked for on condition.
func (r *record) conditional() bool { return r != nil && (r.ETag != "" || r.Modified != "") }

func recordName(address string) string {
	sum := sha256.Sum256([]byte(address))
	return pageNotes + hex.EncodeToString(sum[:16])
}

func (s *source) recordOf(ctx context.Context, address string) (*record, error) {
	data, err := s.notes.Get(ctx, recordName(address))
	if err != nil {
		return nil, fmt.Errorf("read what is known of a page: %w", err)
	}
	var r record
	if len(data) == 0 || json.Unmarshal(data, &r) != nil {
		return nil, nil //nolint:nilnil // nil: nothing is known
	}
	return &r, nil
}

func (s *source) keep(ctx context.Context, address string, r *record) error {
	data, err := json.Marshal(r)
	if err != nil || len(data) > 1<<20 {
		return nil // it is asked for as a whole next time
	}
	if err := s.notes.Put(ctx, recordName(address), data); err != nil {
		return fmt.Errorf("keep what is known of a page: %w", err)
	}
	return nil
}
