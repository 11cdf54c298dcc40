package slack

import (
	"context"
	"slices"
	"strings"
	"sync"
)

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
