package sharepoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const (
	tokenVersion = 1
	// maxTokenText is the length of the longest token that is not in the state.
	maxTokenText = 48 << 10
	tokensKey    = "token/"
	// pendingKey is the prefix of entries for the record that are valid once the token
	// with their hash is used: a call that is repeated must find the record as before.
	pendingKey = "pending/"
	maxPending = 4000 // entries of one value
)

// A feedToken is the position in the changes of all parts.
type feedToken struct {
	Version int `json:"v"`
	// Links are the delta links of libraries and lists by key, within a part the link
	// of the next page.
	Links map[string]string `json:"l"`
	// At is the key of the part that is read next, "" at the end.
	At string `json:"a,omitempty"`
	// Pages is the link of the next page of a site's pages.
	Pages string `json:"p,omitempty"`
	// Loop is the state of the loop detector of the part.
	Loop string `json:"o,omitempty"`
	// Seen are the ids of a part that is read from its start, so far. Compares says
	// that others are gone at the end.
	Seen     []string `json:"s,omitempty"`
	Compares bool     `json:"c,omitempty"`
	// Moved are folders whose files have new paths.
	Moved []movedFolder `json:"m,omitempty"`
	// Serial makes the tokens of a feed differ.
	Serial int `json:"n"`
}

type movedFolder struct {
	Part string `json:"k"`
	ID   string `json:"i"`
	Link string `json:"l,omitempty"`
	Loop string `json:"o,omitempty"`
}

// A pendingEntries are entries for the record of a part.
type pendingEntries struct {
	Part           string // hash of the part's key
	Generation     int
	Folders, Files []recordEntry
	Drop           bool // the record is deleted
}

func (t feedToken) clone() feedToken {
	t.Links, t.Seen, t.Moved = maps.Clone(t.Links), slices.Clone(t.Seen), slices.Clone(t.Moved)
	return t
}

// loadToken decodes a token. It reports false for one that is not the feed's any
// more.
func (s *source) loadToken(ctx context.Context, text string) (feedToken, bool, error) {
	token := feedToken{Version: tokenVersion, Links: map[string]string{}}
	if text == "" {
		return token, true, nil
	}
	data := []byte(text)
	if name, stored := strings.CutPrefix(text, "#"); stored {
		if strings.Trim(name, "0123456789abcdef") != "" {
			return token, false, nil
		}
		var err error
		if data, err = s.readChunks(ctx, tokensKey+name+"/"); err != nil {
			return token, false, err
		}
	}
	token = feedToken{}
	if json.Unmarshal(data, &token) != nil || token.Version != tokenVersion || token.Links == nil {
		return token, false, nil
	}
	return token, true, nil
}

// saveToken encodes a token. A long one goes into the state. before is the token of
// this call, which is kept.
func (s *source) saveToken(ctx context.Context, token feedToken, before string) (string, error) {
	data, err := json.Marshal(token)
	if err != nil {
		return "", fmt.Errorf("encode the token of the feed: %w", err)
	}
	if len(data) <= maxTokenText {
		return string(data), nil
	}
	name := hashKey(string(data))
	keep := []string{tokensKey + name + "/", tokensKey + strings.TrimPrefix(before, "#") + "/"}
	if err := s.deleteExcept(ctx, tokensKey, keep); err != nil {
		return "", err
	}
	return "#" + name, s.writeChunks(ctx, tokensKey+name+"/", data)
}

// writeChunks writes data as values of at most half the largest size.
func (s *source) writeChunks(ctx context.Context, prefix string, data []byte) error {
	number := 0
	for chunk := range slices.Chunk(data, connectors.MaxStateValue/2) {
		if err := s.state.Put(ctx, prefix+fmt.Sprintf("%06d", number), chunk); err != nil {
			return fmt.Errorf("write the connector's state: %w", err)
		}
		number++
	}
	return nil
}

func (s *source) readChunks(ctx context.Context, prefix string) ([]byte, error) {
	names, err := s.state.Keys(ctx, prefix)
	var data []byte
	for _, name := range names {
		chunk, readErr := s.state.Get(ctx, name)
		err = errors.Join(err, readErr)
		data = append(data, chunk...)
	}
	if err != nil {
		return nil, fmt.Errorf("read the connector's state: %w", err)
	}
	return data, nil
}

// deleteExcept deletes the keys with a prefix that begin with none of keep. Kept and
// deleted keys have a name between slashes behind the prefix.
func (s *source) deleteExcept(ctx context.Context, prefix string, keep []string) error {
	names, err := s.state.Keys(ctx, prefix)
	if err != nil {
		return fmt.Errorf("read the connector's state: %w", err)
	}
	done := map[string]bool{}
	for _, name := range names {
		group, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/")
		group = prefix + group + "/"
		if done[group] || slices.Contains(keep, group) {
			continue
		}
		done[group] = true
		if err := s.state.DeletePrefix(ctx, group); err != nil {
			return fmt.Errorf("write the connector's state: %w", err)
		}
	}
	return nil
}

// savePending stores entries until the token is used.
func (s *source) savePending(ctx context.Context, token string, pending map[string]*pendingEntries) error {
	number := 0
	for _, key := range slices.Sorted(maps.Keys(pending)) {
		p := pending[key]
		for len(p.Folders)+len(p.Files) > 0 || p.Drop {
			part := pendingEntries{Part: p.Part, Generation: p.Generation, Drop: p.Drop}
			n := min(len(p.Folders), maxPending)
			part.Folders, p.Folders = p.Folders[:n], p.Folders[n:]
			n = min(len(p.Files), maxPending)
			part.Files, p.Files = p.Files[:n], p.Files[n:]
			p.Drop = false
			if err := connectors.PutJSON(ctx, s.state, pendingKey+hashKey(token)+"/"+fmt.Sprintf("%06d", number), part); err != nil {
				return err
			}
			number++
		}
	}
	return nil
}

// applyPending adds the entries of the calls before the one with a token to the
// records.
func (s *source) applyPending(ctx context.Context, token string) error {
	prefix := pendingKey + hashKey(token) + "/"
	names, err := s.state.Keys(ctx, prefix)
	if err != nil {
		return fmt.Errorf("read the connector's state: %w", err)
	}
	for _, name := range names {
		var p pendingEntries
		ok, err := connectors.GetJSON(ctx, s.state, name, &p)
		if err != nil {
			return err
		}
		r := &record{state: s.state, part: p.Part, generation: p.Generation}
		switch {
		case !ok:
		case p.Drop:
			err = r.drop(ctx)
		default:
			// A walk may have begun another generation since.
			var current int
			if _, err = connectors.GetJSON(ctx, s.state, currentKey+p.Part, &current); err == nil && current == p.Generation {
				err = r.add(ctx, p.Folders, p.Files)
			}
		}
		if err != nil {
			return err
		}
	}
	return s.deleteExcept(ctx, pendingKey, nil)
}
