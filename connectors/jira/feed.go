package jira

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	// overlap is how far a window of changes goes back before the last change that
	// was seen, since the search index can be late.
	overlap = 2 * time.Minute
	// settled is the age of the last change after which the index has everything up to
	// it.
	settled = 15 * time.Minute
)

// A feedToken is a position in the changes. Its times are those of the site, in
// milliseconds since 1970: a day or time in JQL would be in the time zone of the
// asking account.
type feedToken struct {
	// Since is the start of the window, and IDs the name of the list of the issues
	// that existed before it.
	Since int64  `json:"s"`
	IDs   string `json:"g"`
	// At is the place in the window, nil before its start. Newest is the last update in
	// it so far.
	At     *position `json:"a,omitempty"`
	Newest int64     `json:"n,omitempty"`
}

// Changes implements [connectors.Feeder]: the issues that were updated in a window
// of time, and at its end the ids that are no longer in the complete list.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	var token feedToken
	if text != "" && (connectors.ParseCursor(text, &token) != nil || token.Since < 0 || token.At != nil && !token.At.isValid()) {
		return connectors.ChangePage{Expired: true}, nil
	}
	if token.At == nil {
		s.resetCaches()
	}
	projects, err := s.selectedProjects(ctx)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if text == "" {
		return s.present(ctx)
	}
	if token.At == nil {
		// Issues of a project that is not shown would seem to be gone.
		if _, _, changed, err := s.compareProjects(ctx, projects); err != nil || changed {
			return connectors.ChangePage{Expired: err == nil}, err
		}
	}
	before, known, err := s.loadSnapshot(ctx, token.IDs)
	if err != nil || !known {
		return connectors.ChangePage{Expired: err == nil}, err
	}
	q := s.window(token.Since)
	at := position{}
	if token.At != nil {
		at = *token.At
	}
	listed, err := s.list(ctx, q, at)
	if isForgotten(err) && token.At != nil {
		listed, err = s.list(ctx, q, position{}) // the window starts again
	}
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if err := s.rememberProjects(ctx, listed.page); err != nil {
		return connectors.ChangePage{}, err
	}
	for _, i := range listed.issues {
		token.Newest = max(token.Newest, milliseconds(i.Fields.Updated.Time))
	}
	page := connectors.ChangePage{Items: listed.items, More: !listed.done}
	if s.importsPermissions {
		// The update of an issue may be that of its security level, reporter or assignee,
		// which decide about its readers and leave its text as it is.
		for _, item := range listed.items {
			page.Permissions = append(page.Permissions, item.ID)
		}
	}
	if listed.done {
		page.Gone, token, err = s.finish(ctx, before, token)
		if err != nil {
			return connectors.ChangePage{}, err
		}
	} else {
		token.At = &listed.next
	}
	page.Next, page.Pause, page.Warnings = connectors.FormatCursor(token), s.api.Pause(), s.takeWarnings()
	return page, nil
}

func (s *source) window(since int64) query {
	return query{base: s.base, order: feedOrder}.with("updated >= %d", since)
}

// present returns the token of the present.
func (s *source) present(ctx context.Context) (connectors.ChangePage, error) {
	if s.settings.State == nil {
		return connectors.ChangePage{}, nil // there is no place for the list of ids
	}
	newest, _, err := search[entry](ctx, s.api, query{base: s.base, order: "updated DESC"}, []string{"updated"}, 1, "")
	if err != nil {
		return connectors.ChangePage{}, scopeError(err)
	}
	token := feedToken{}
	if len(newest) > 0 {
		token.Newest = milliseconds(newest[0].Fields.Updated.Time)
	}
	now, err := s.enumerate(ctx, query{base: s.base, order: walkOrder}, s.withFiles)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if token.IDs, err = s.saveSnapshot(ctx, now, ""); err != nil {
		return connectors.ChangePage{}, err
	}
	return connectors.ChangePage{Next: connectors.FormatCursor(s.nextWindow(token)), Pause: s.api.Pause(), Warnings: s.takeWarnings()}, nil
}

// nextWindow returns the token of the window that follows the changes so far.
func (s *source) nextWindow(token feedToken) feedToken {
	since := max(token.Since, token.Newest)
	// The clock only decides whether a window overlaps: another clock than that of the
	// issues loses no change that the index had in time.
	if now := s.api.Now(); now.IsZero() || now.Sub(time.UnixMilli(since)) < settled {
		since -= overlap.Milliseconds()
	}
	return feedToken{Since: max(since, token.Since, 0), IDs: token.IDs}
}

// finish compares the list of ids with that before the window.
func (s *source) finish(ctx context.Context, before snapshot, token feedToken) (gone []string, next feedToken, err error) {
	now, err := s.enumerate(ctx, query{base: s.base, order: walkOrder}, false)
	if err != nil {
		return nil, token, err
	}
	// Only issues of the window have other files than before.
	if s.withFiles {
		for id := range now {
			now[id] = before[id]
		}
		changed, err := s.enumerate(ctx, s.window(token.Since), true)
		if err != nil {
			return nil, token, err
		}
		for id, files := range changed {
			now[id] = files
		}
	}
	var missing []string
	for id, files := range before {
		present, exists := now[id]
		if !exists {
			missing = append(missing, id)
			continue
		}
		for _, file := range files {
			if !slices.Contains(present, file) {
				gone = append(gone, fileID(id, file))
			}
		}
	}
	slices.SortFunc(missing, compareIDs)
	kept, err := s.confirm(ctx, missing)
	if err != nil {
		return nil, token, err
	}
	for _, id := range missing {
		if kept[id] {
			now[id] = before[id] // it is asked for again at the end of the next window
			continue
		}
		gone = append(gone, prefixIssue+id)
		for _, file := range before[id] {
			gone = append(gone, fileID(id, file))
		}
	}
	slices.Sort(gone)
	if token.IDs, err = s.saveSnapshot(ctx, now, token.IDs); err != nil {
		return nil, token, err
	}
	return gone, s.nextWindow(token), nil
}

// confirm returns which of the issues that are missing from the list of ids are
// still the connector's. The list comes from an index, which can be late.
func (s *source) confirm(ctx context.Context, ids []string) (map[string]bool, error) {
	kept := map[string]bool{}
	s.mutex.Lock()
	projects := s.projects
	s.mutex.Unlock()
	for batch := range slices.Chunk(ids, maxReconciled) {
		found, unknown, err := byID[entry](ctx, s.api, batch, []string{"project"})
		if err != nil {
			return nil, err
		}
		for _, id := range unknown {
			kept[id] = true
		}
		var existing []string
		for _, i := range found {
			if slices.ContainsFunc(projects, i.Fields.Project.is) {
				existing = append(existing, string(i.ID))
			}
		}
		if len(existing) == 0 {
			continue
		}
		matches, err := s.matchesJQL(ctx, existing)
		if err != nil {
			return nil, err
		}
		for id := range matches {
			kept[id] = true
		}
	}
	return kept, nil
}

// A snapshot has the ids of the files of all issues, by the issue's id. Without
// attachments, the lists are empty.
type snapshot map[string][]string

// enumerate reads the complete list of ids of a search.
func (s *source) enumerate(ctx context.Context, q query, withFiles bool) (snapshot, error) {
	all := snapshot{}
	fields, limit := []string{"id"}, centerPerPage
	switch {
	case withFiles:
		fields, limit = []string{"attachment"}, issuesPerPage
	case s.api.Site.Cloud:
		limit = idsPerPage
	}
	err := searchAll(ctx, s.api, q, fields, limit, func(page []entry) error {
		for _, i := range page {
			if !isID(string(i.ID)) {
				return s.api.ErrInvalid("an issue")
			}
			files := []string{}
			for _, f := range i.Fields.Attachment {
				files = append(files, string(f.ID))
			}
			all[string(i.ID)] = files
		}
		return nil
	})
	return all, scopeError(err)
}

const (
	snapshotPrefix   = "ids/"
	maxSnapshotChunk = connectors.MaxStateValue / 2
)

// saveSnapshot stores a list of ids and returns its name, which depends on the list
// only. It deletes other lists except for the one with the name keep: a token that
// was not moved still needs it.
func (s *source) saveSnapshot(ctx context.Context, list snapshot, keep string) (string, error) {
	ids := make([]string, 0, len(list))
	for id := range list {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, compareIDs)
	var chunks []string
	var b strings.Builder
	hash := sha256.New()
	for _, id := range ids {
		line := strings.Join(append([]string{id}, list[id]...), " ") + "\n"
		_, _ = hash.Write([]byte(line))
		if b.Len()+len(line) > maxSnapshotChunk {
			chunks = append(chunks, b.String())
			b.Reset()
		}
		b.WriteString(line)
	}
	chunks = append(chunks, b.String())
	name := hex.EncodeToString(hash.Sum(nil)[:12])
	if s.settings.State == nil {
		return name, nil
	}
	keys, err := s.settings.State.Keys(ctx, snapshotPrefix)
	if err != nil {
		return "", fmt.Errorf("read the list of issues: %w", err)
	}
	for _, key := range keys {
		if other, _, _ := strings.Cut(strings.TrimPrefix(key, snapshotPrefix), "/"); other != name && other != keep {
			if err := s.settings.State.DeletePrefix(ctx, snapshotPrefix+other+"/"); err != nil {
				return "", fmt.Errorf("delete an old list of issues: %w", err)
			}
		}
	}
	for n, chunk := range chunks {
		value, err := json.Marshal(snapshotChunk{Chunks: len(chunks), Lines: chunk})
		if err != nil {
			return "", fmt.Errorf("encode the list of issues: %w", err)
		}
		if err := s.settings.State.Put(ctx, fmt.Sprintf("%s%s/%d", snapshotPrefix, name, n), value); err != nil {
			return "", fmt.Errorf("write the list of issues: %w", err)
		}
	}
	return name, nil
}

type snapshotChunk struct {
	Chunks int    `json:"n"`
	Lines  string `json:"l"`
}

// loadSnapshot returns the list of ids with a name, if it is complete.
func (s *source) loadSnapshot(ctx context.Context, name string) (list snapshot, ok bool, err error) {
	list = snapshot{}
	for n, chunks := 0, 1; n < chunks; n++ {
		var chunk snapshotChunk
		if len(name) > 64 {
			return nil, false, nil
		}
		found, err := connectors.GetJSON(ctx, s.settings.State, fmt.Sprintf("%s%s/%d", snapshotPrefix, name, n), &chunk)
		if err != nil || !found {
			return nil, false, err
		}
		chunks = chunk.Chunks
		for line := range strings.Lines(chunk.Lines) {
			if ids := strings.Fields(line); len(ids) > 0 {
				list[ids[0]] = ids[1:]
			}
		}
	}
	return list, true, nil
}
