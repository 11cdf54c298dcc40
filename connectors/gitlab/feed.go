package gitlab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	feedVersion     = 2
	maxFeedProjects = 100
	projectsOfPage  = 20
	// overlap is how far a window of updates goes back before the last update that was
	// seen: an update can become visible after a later one.
	overlap        = 2 * time.Minute
	recordPrefix   = "record/"
	maxRecordChunk = connectors.MaxStateValue / 2
)

var _ connectors.Feeder = (*source)(nil)

// A feedToken is a position in the changes of all projects.
type feedToken struct {
	Version int `json:"v"`
	// Record is the name of the record of the files, wiki pages and snippets.
	Record string `json:"r"`
	// At is the last project whose changes were read, 0 at the end of a feed. Start is
	// then the record of the token from which the feed began.
	At       int64               `json:"n,omitempty"`
	Start    string              `json:"o,omitempty"`
	Projects map[string]feedMark `json:"p"` // by project.key
}

// A feedMark is a position in the changes of a project.
type feedMark struct {
	Facts  string `json:"f"`           // a hash of what decides about paths and content
	Access string `json:"a,omitempty"` // a hash of what decides about readers
	Head   string `json:"h,omitempty"` // the commit whose files are in the record
	Issues int64  `json:"i,omitempty"` // the newest update, in milliseconds since 1970
	Merges int64  `json:"m,omitempty"`
}

// A record has the versions of the files, wiki pages and snippets, by id.
type record map[string]string

// Changes implements [connectors.Feeder]. A call reads the changes of some projects:
// issues and merge requests by the time of their update, and files if the branch has
// another commit. Files, wiki pages and snippets are compared with a record.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	var out connectors.ChangePage
	expired := connectors.ChangePage{Expired: true}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	token, before := feedToken{}, record{}
	if text != "" {
		if len(text) > connectors.MaxTokenBytes || json.Unmarshal([]byte(text), &token) != nil || token.Version != feedVersion {
			return expired, nil
		}
		known, ok, err := s.loadRecord(ctx, token.Record)
		if err != nil || !ok {
			return connectors.ChangePage{Expired: err == nil}, err
		}
		before = known
	}
	all, err := s.feedProjects(ctx, token.At)
	switch {
	case err != nil:
		return out, err
	case text != "" && !token.covers(all.projects):
		return expired, nil
	case s.settings.State == nil || len(all.projects) > maxFeedProjects:
		return connectors.ChangePage{Expired: text != ""}, nil
	}
	reader := feedReader{source: s, isPresent: text == "", before: before, now: maps.Clone(before), items: map[string]connectors.Item{}}
	next := feedToken{Version: feedVersion, Start: token.Start, Projects: maps.Clone(token.Projects)}
	if next.Projects == nil {
		next.Projects = map[string]feedMark{}
	}
	at, _ := slices.BinarySearchFunc(all.projects, token.At+1, func(p project, id int64) int { return cmp.Compare(p.ID, id) })
	for n, p := range all.projects[at:] {
		if text != "" && n == projectsOfPage {
			next.At = all.projects[at+n-1].ID
			break
		}
		found := reader.begin(p)
		if next.Projects[p.key()], err = found.project(ctx, p, token.Projects[p.key()]); err != nil {
			return out, err
		}
		if len(reader.items)+len(found.items) > connectors.MaxPageItems {
			if n == 0 {
				return expired, nil // a walk gives them in pages
			}
			next.Projects[p.key()], next.At = token.Projects[p.key()], all.projects[at+n-1].ID
			break
		}
		reader.end(p, found)
	}
	if out.More = next.At > 0; out.More {
		next.Start = cmp.Or(token.Start, token.Record)
	} else {
		next.Start = ""
	}
	if next.Record, err = s.saveRecord(ctx, reader.now, token.Record, cmp.Or(token.Start, token.Record)); err != nil {
		return out, err
	}
	position, err := json.Marshal(next)
	if err != nil {
		return out, fmt.Errorf("encode the token: %w", err)
	}
	out.Next, out.Warnings = string(position), append(all.warnings, reader.warnings...)
	if text == "" {
		return out, nil
	}
	out.Permissions = reader.readers
	out.Items = slices.Collect(maps.Values(reader.items))
	slices.SortFunc(out.Items, func(a, b connectors.Item) int { return cmp.Compare(a.ID, b.ID) })
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if _, exists := reader.now[id]; !exists {
			out.Gone = append(out.Gone, id)
		}
	}
	return out, nil
}

// feedProjects lists the projects of the config, or returns the list of the page before.
func (s *source) feedProjects(ctx context.Context, after int64) (selection, error) {
	if after > 0 {
		list, err := s.projects(ctx)
		return selection{projects: list}, err
	}
	all, err := s.selected(ctx)
	if err != nil {
		return all, err
	}
	return all, s.remember(ctx, all.projects)
}

// covers reports whether the projects are those of the token, unchanged.
func (t feedToken) covers(list []project) bool {
	return len(list) == len(t.Projects) && !slices.ContainsFunc(list, func(p project) bool { return t.Projects[p.key()].Facts != p.facts() })
}

// facts returns a hash of what decides about the paths and content of all items. A
// repository that has its first file is a change of files only.
func (p project) facts() string {
	p.Empty, p.projectAccess = false, projectAccess{}
	return hashJSON(p)
}

func hashJSON(v any) string {
	text, _ := json.Marshal(v)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// A feedReader collects changes.
type feedReader struct {
	source    *source
	isPresent bool // only the position is wanted
	before    record
	now       record
	items     map[string]connectors.Item
	readers   []string // ids of items whose readers changed
	warnings  []string
}

// begin returns a reader for one project, whose record is taken out.
func (r *feedReader) begin(p project) *feedReader {
	one := &feedReader{source: r.source, isPresent: r.isPresent, before: record{}, now: record{}, items: map[string]connectors.Item{}}
	for id, version := range r.before {
		if strings.HasPrefix(id, p.key()+":") {
			one.before[id] = version
		}
	}
	return one
}

// end adds what a reader found in a project.
func (r *feedReader) end(p project, one *feedReader) {
	maps.DeleteFunc(r.now, func(id, _ string) bool { return strings.HasPrefix(id, p.key()+":") })
	maps.Copy(r.now, one.now)
	maps.Copy(r.items, one.items)
	r.readers, r.warnings = append(r.readers, one.readers...), append(r.warnings, one.warnings...)
}

// project reads the changes of a project and returns the next position. A part that
// GitLab does not show keeps its position and record.
func (r *feedReader) project(ctx context.Context, p project, mark feedMark) (feedMark, error) {
	mark.Facts = p.facts()
	before := mark.Access
	if mark.Access = hashJSON(p.projectAccess); !r.source.imports {
		mark.Access = ""
	}
	for stage, name := range stages() {
		if !r.source.applies(stage, p) {
			continue
		}
		var err error
		if before != "" && mark.Access != "" && mark.Access != before {
			err = r.list(ctx, p, position{Stage: stage}, func(items []connectors.Item) {
				for _, item := range items {
					r.readers = append(r.readers, item.ID)
				}
			})
		}
		if err != nil && !isHidden(err) {
			return mark, fmt.Errorf("list the %s of %s, whose readers changed: %w", name, p.Path, err)
		}
		switch stage {
		case stageFiles:
			mark.Head, err = r.files(ctx, p, mark.Head)
		case stageIssues:
			mark.Issues, err = r.threads(ctx, p, stage, mark.Issues)
		case stageMerges:
			mark.Merges, err = r.threads(ctx, p, stage, mark.Merges)
		default:
			err = r.compare(ctx, p, position{Stage: stage})
		}
		if err != nil && isHidden(err) && !errors.Is(err, errScope) {
			r.warnings = append(r.warnings, hiddenWarning(name, p))
			r.keep(p, stage)
			err = nil
		}
		if err != nil {
			return mark, fmt.Errorf("read the changes of the %s of %s: %w", name, p.Path, err)
		}
	}
	return mark, nil
}

// keep keeps the record of a part of a project.
func (r *feedReader) keep(p project, stage int) {
	prefix := p.key() + ":" + kinds[stage:stage+1] + ":"
	for id, version := range r.before {
		if strings.HasPrefix(id, prefix) {
			r.now[id] = version
		}
	}
}

// files compares the files if the branch has another commit.
func (r *feedReader) files(ctx context.Context, p project, before string) (string, error) {
	head, err := r.source.head(ctx, p)
	if err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return before, err
	}
	if head != "" && head == before {
		r.keep(p, stageFiles)
		return head, nil
	}
	if err := r.compare(ctx, p, position{Ref: head}); err != nil {
		return before, err
	}
	return head, nil
}

// compare lists a part of a project and compares it with the record.
func (r *feedReader) compare(ctx context.Context, p project, at position) error {
	var list []connectors.Item
	err := r.list(ctx, p, at, func(items []connectors.Item) { list = append(list, items...) })
	if err != nil {
		return err
	}
	for _, item := range list {
		r.now[item.ID] = item.Version
		if r.before[item.ID] != item.Version {
			r.add(item)
		}
	}
	return nil
}

// threads reads the issues or merge requests that were updated, and returns the time
// of the newest update.
func (r *feedReader) threads(ctx context.Context, p project, stage int, newest int64) (int64, error) {
	at := position{Stage: stage}
	if r.isPresent {
		return r.source.newest(ctx, p, stage)
	}
	if newest > 0 {
		at.Since = time.UnixMilli(newest).Add(-overlap).UTC().Format(timeFormat)
	}
	err := r.list(ctx, p, at, func(items []connectors.Item) {
		for _, item := range items {
			newest = max(newest, item.ModifiedAt.UnixMilli())
			r.add(item)
		}
	})
	return newest, err
}

func (r *feedReader) add(item connectors.Item) {
	if !r.isPresent {
		r.items[item.ID] = item
	}
}

func (r *feedReader) list(ctx context.Context, p project, at position, add func([]connectors.Item)) error {
	for stage := at.Stage; ; {
		step, err := r.source.step(ctx, p, at)
		if err != nil {
			return err
		}
		add(step.items)
		r.warnings = append(r.warnings, step.warnings...)
		if step.next == nil {
			return nil
		}
		at = *step.next
		at.Stage = stage
	}
}

// newest returns the time of the newest update of the issues or merge requests.
func (s *source) newest(ctx context.Context, p project, stage int) (int64, error) {
	query := url.Values{"scope": {"all"}, "state": {"all"}, "order_by": {"updated_at"}, "sort": {"desc"}, "per_page": {"1"}}
	list, _, err := page[thread](ctx, s, p.path(listOf(kinds[stage:stage+1])), query)
	switch {
	case err != nil || len(list) == 0:
		return 0, err
	case !list[0].isValid():
		return 0, errInvalid("an issue or merge request")
	}
	return list[0].Updated.UnixMilli(), nil
}

// head returns the newest commit of the branch.
func (s *source) head(ctx context.Context, p project) (string, error) {
	var head struct{ Commit struct{ ID string } }
	_, err := s.get(ctx, p.path("/repository/branches/"+url.PathEscape(s.branch(p))), nil, &head, "commit.id")
	return head.Commit.ID, err
}

// A recordChunk is a part of a record.
type recordChunk struct {
	Chunks int    `json:"n"`
	Items  record `json:"i"`
}

// saveRecord stores a record and returns its name, which depends on its content only.
// It deletes other records except for those with the names keep: tokens that were not
// moved still need them. Without keep, it deletes none.
func (s *source) saveRecord(ctx context.Context, all record, keep ...string) (string, error) {
	hash := sha256.New()
	chunks, size := []record{{}}, 0
	for _, id := range slices.Sorted(maps.Keys(all)) {
		line := fmt.Sprintf("%q %q\n", id, all[id])
		_, _ = hash.Write([]byte(line))
		if size += 2 * len(line); size > maxRecordChunk {
			chunks, size = append(chunks, record{}), 2*len(line)
		}
		chunks[len(chunks)-1][id] = all[id]
	}
	name := hex.EncodeToString(hash.Sum(nil)[:12])
	state := s.settings.State
	keys, err := state.Keys(ctx, recordPrefix)
	if err != nil {
		return "", fmt.Errorf("read the names of records: %w", err)
	}
	for _, key := range keys {
		if other, _, _ := strings.Cut(strings.TrimPrefix(key, recordPrefix), "/"); keep[0] != "" && other != name && !slices.Contains(keep, other) {
			if err := state.DeletePrefix(ctx, recordPrefix+other+"/"); err != nil {
				return "", fmt.Errorf("delete an old record: %w", err)
			}
		}
	}
	for n, chunk := range chunks {
		if err := connectors.PutJSON(ctx, state, fmt.Sprintf("%s%s/%d", recordPrefix, name, n), recordChunk{len(chunks), chunk}); err != nil {
			return "", fmt.Errorf("write the record: %w", err)
		}
	}
	return name, nil
}

// loadRecord returns the record with a name. It reports false if it is not complete.
func (s *source) loadRecord(ctx context.Context, name string) (record, bool, error) {
	if _, err := hex.DecodeString(name); err != nil || len(name) != 24 {
		return nil, false, nil //nolint:nilerr // a token of another version
	}
	all := record{}
	for n, chunks := 0, 1; n < chunks; n++ {
		var chunk recordChunk
		found, err := connectors.GetJSON(ctx, s.settings.State, fmt.Sprintf("%s%s/%d", recordPrefix, name, n), &chunk)
		if err != nil || !found {
			return nil, false, err
		}
		chunks = chunk.Chunks
		maps.Copy(all, chunk.Items)
	}
	return all, true, nil
}
