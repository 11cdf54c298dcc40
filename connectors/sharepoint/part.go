package sharepoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// A partKind is a sort of [part].
type partKind string

const (
	partDrive partKind = "d"
	partList  partKind = "l"
	partPages partKind = "p"
)

// A part is a list of items that is walked on its own: the files of a library or
// OneDrive, the pages of a site, or the entries of a list.
type part struct {
	kind      partKind
	container string // the [connectors.Item].Container of its items
	siteID    string // of pages and lists
	id        string // of the drive or list
	siteURL   string // the address of the site
	name      string // for people
	prefix    string // of the paths of its items, without a slash at the end
	personal  bool
}

// key returns the order of the part in a walk.
func (p part) key() string { return string(p.kind) + "|" + p.siteID + "|" + p.id }

// parts are the parts of a connector, sorted by key, and those that cannot be read.
type parts struct {
	list        []part
	unavailable []string // containers
	warnings    []string
	// listed are the containers whose parts were listed completely.
	listed map[string]bool
}

// partOf returns the part with a kind and ids, or ErrNotFound. While a site cannot
// be read, the error of an unknown part is retryable, since its items are not gone.
func (p *parts) partOf(kind partKind, siteID, id string) (part, error) {
	for _, candidate := range p.list {
		if candidate.kind == kind && candidate.id == id && (kind == partDrive || candidate.siteID == siteID) {
			return candidate, nil
		}
	}
	if len(p.unavailable) > 0 {
		return part{}, connectors.Retryable(errors.New("it may belong to a site that cannot be read now"), 0)
	}
	return part{}, fmt.Errorf("it is not in a library, list or site of the connector: %w", connectors.ErrNotFound)
}

const (
	partsKey = "parts/"
	// partsFor is how long the stored parts are used by other sources than the one that
	// listed them. A sync lists them at its start.
	partsFor = time.Hour
)

// storedPart is a part in the state.
type storedPart struct {
	Kind      partKind `json:"k"`
	Container string   `json:"c"`
	SiteID    string   `json:"s,omitempty"`
	ID        string   `json:"i,omitempty"`
	SiteURL   string   `json:"u,omitempty"`
	Name      string   `json:"n"`
	Prefix    string   `json:"p"`
	Personal  bool     `json:"o,omitempty"`
}

// storedList is the value of parts in the state.
type storedList struct {
	Config      string       `json:"config"` // hash of the options that select parts
	At          time.Time    `json:"at"`
	Parts       []storedPart `json:"parts"`
	Unavailable []string     `json:"unavailable"`
	Warnings    []string     `json:"warnings"`
	Listed      []string     `json:"listed"`
}

// partsConfig returns a hash of the options that select parts.
func (s *source) partsConfig() string {
	text, _ := json.Marshal(s.settings.Config) // decoded JSON
	return hashKey(string(text))
}

// storeParts stores the parts for other sources: those of the next slices of a sync,
// and of lookups in between.
func (s *source) storeParts(ctx context.Context, found *parts) error {
	list := storedList{Config: s.partsConfig(), At: s.now(), Unavailable: found.unavailable, Warnings: found.warnings, Listed: slices.Sorted(maps.Keys(found.listed))}
	for _, p := range found.list {
		list.Parts = append(list.Parts, storedPart{p.kind, p.container, p.siteID, p.id, p.siteURL, p.name, p.prefix, p.personal})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the parts: %w", err)
	}
	if err := s.state.DeletePrefix(ctx, partsKey); err != nil {
		return fmt.Errorf("write the connector's state: %w", err)
	}
	return s.writeChunks(ctx, partsKey, data)
}

// storedParts returns the stored parts. It reports false if there are none that are
// recent and of this config.
func (s *source) storedParts(ctx context.Context) (found *parts, ok bool, err error) {
	data, err := s.readChunks(ctx, partsKey)
	if err != nil {
		return nil, false, err
	}
	var list storedList
	if json.Unmarshal(data, &list) != nil || list.Config != s.partsConfig() || s.now().Sub(list.At) > partsFor || s.now().Before(list.At) {
		return nil, false, nil
	}
	found = &parts{unavailable: list.Unavailable, warnings: list.Warnings, listed: map[string]bool{}}
	for _, p := range list.Parts {
		found.list = append(found.list, part{p.Kind, p.Container, p.SiteID, p.ID, p.SiteURL, p.Name, p.Prefix, p.Personal})
	}
	for _, container := range list.Listed {
		found.listed[container] = true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.parts = found
	return found, true, nil
}
