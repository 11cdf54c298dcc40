package webcrawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
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
}

// conditional says whether the page can be asked for on condition.
func (r *record) conditional() bool { return r != nil && (r.ETag != "" || r.Modified != "") }

func recordName(address string) string {
	sum := sha256.Sum256([]byte(address))
	return pageNotes + hex.EncodeToString(sum[:16])
}

func (s *source) recordOf(ctx context.Context, address string) (*record, error) {
	data, err := s.notes.Load(ctx, recordName(address))
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
		return nil //nolint:nilerr // it is asked for as a whole next time
	}
	if err := s.notes.Save(ctx, recordName(address), data); err != nil {
		return fmt.Errorf("keep what is known of a page: %w", err)
	}
	return nil
}

// passing keeps notes as long as its source is open: a connection test makes no others.
type passing struct {
	mutex sync.Mutex
	notes map[string][]byte
}

// Save implements connectors.Notes.
func (p *passing) Save(_ context.Context, name string, data []byte) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.notes == nil {
		p.notes = make(map[string][]byte)
	}
	p.notes[name] = slices.Clone(data)
	return nil
}

// Load implements connectors.Notes.
func (p *passing) Load(_ context.Context, name string) ([]byte, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.notes[name], nil
}

// Names implements connectors.Notes.
func (p *passing) Names(_ context.Context, prefix string) ([]string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var names []string
	for name := range p.notes {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Drop implements connectors.Notes.
func (p *passing) Drop(_ context.Context, prefix string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for name := range p.notes {
		if strings.HasPrefix(name, prefix) {
			delete(p.notes, name)
		}
	}
	return nil
}
