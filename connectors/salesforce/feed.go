package salesforce

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const (
	tokenVersion = 1
	// overlap is how far a window goes back before the last one: a record has the time at
	// which its transaction wrote it, and is seen when the transaction ends.
	overlap = 10 * time.Minute
	// maxTouched is the number of records in a window beyond which the source is walked.
	maxTouched = 5000
	// recordsPerChange is the number of records on a page of changes.
	recordsPerChange = 200
)

// A feedToken is a position in the changes. Its times are those of Salesforce, in
// milliseconds since 1970.
type feedToken struct {
	Version int `json:"v"`
	// Since is the time of the last window, which the next one overlaps. Until is the time
	// at which the first page of this window was read, and After the last record that was
	// given.
	Since int64  `json:"s"`
	Until int64  `json:"u,omitempty"`
	After string `json:"a,omitempty"`
	// Hash identifies what documents are made of.
	Hash string `json:"h"`
}

// Changes implements [connectors.Feeder]: the records that were touched in a window of
// time, themselves or by a comment, mail, task or file.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := ctx.Err(); err != nil {
		return connectors.ChangePage{}, err
	}
	var token feedToken
	if text != "" && (connectors.ParseCursor(text, &token) != nil || token.Version != tokenVersion || token.Since <= 0 || token.Hash == "") {
		return connectors.ChangePage{Expired: true}, nil
	}
	if token.After == "" {
		s.reset()
	}
	objects, err := s.load(ctx)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	if text == "" {
		return s.present(objects), nil
	}
	if token.Hash != s.hash(objects) {
		return connectors.ChangePage{Expired: true}, nil
	}
	w, err := s.readWindow(ctx, objects, token)
	if err != nil || w == nil {
		return connectors.ChangePage{Expired: err == nil}, err
	}
	return s.changePage(ctx, w, token)
}

// present returns the token of the present. Without a clock there is no feed.
func (s *source) present(objects []*object) connectors.ChangePage {
	page := connectors.ChangePage{Warnings: s.takeWarnings()}
	if now := s.api.now(); !now.IsZero() {
		page.Next = connectors.FormatCursor(feedToken{Version: tokenVersion, Since: now.UnixMilli(), Hash: s.hash(objects)})
	}
	return page
}

// A window is what was touched since a time.
type window struct {
	token   int64 // the token's Since
	since   time.Time
	until   time.Time
	touched []itemID // records, sorted
}

// add adds a record that was touched.
func (w *window) add(id itemID) { w.touched = append(w.touched, id) }

// compact sorts the touched records.
func (w *window) compact() {
	slices.SortFunc(w.touched, func(a, b itemID) int { return strings.Compare(a.String(), b.String()) })
	w.touched = slices.Compact(w.touched)
}

// readWindow returns the window of a token, nil if the source must be walked.
func (s *source) readWindow(ctx context.Context, objects []*object, token feedToken) (*window, error) {
	s.mutex.Lock()
	known := s.window
	s.mutex.Unlock()
	if known != nil && known.token == token.Since && token.After != "" {
		return known, nil
	}
	at := time.UnixMilli(token.Since).UTC()
	w := &window{token: token.Since, since: at.Add(-overlap), until: s.api.now()}
	if w.until.IsZero() {
		w.until = at
	}
	complete, err := s.collect(ctx, objects, w)
	if err != nil || !complete {
		return nil, err
	}
	w.compact()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.window = w
	return w, nil
}

// A collector reads one list of a window.
type collector struct {
	call call
	// read reads the answer. It reports false if the source must be walked.
	read func(ctx context.Context, body []byte) (bool, error)
}

// collect reads everything that was touched since the start of the window. It reports
// false if that is not known, or too much.
func (s *source) collect(ctx context.Context, objects []*object, w *window) (complete bool, err error) {
	var list []collector
	asked := map[string]bool{}
	for _, o := range objects {
		list = append(list, s.collectRecords(o, w)...)
		for _, kind := range s.childKinds(o) {
			if name := kind.object + "." + kind.parent; !asked[name] {
				asked[name] = true
				list = append(list, s.collectChildren(objects, kind, w))
			}
		}
		if s.imports {
			if share, ok := s.collectShares(o, w); ok {
				list = append(list, share)
			}
		}
	}
	var documents []string
	if s.settings.Boolean(optionFiles) {
		list = append(list, s.collectFiles(w, &documents)...)
	}
	calls := make([]call, len(list))
	for i := range list {
		calls[i] = list[i].call
	}
	bodies, err := s.api.batch(ctx, calls, func(_ int, err error) bool { return isAbsent(err) })
	if err != nil {
		return false, fmt.Errorf("read the changes: %w", err)
	}
	for i, body := range bodies {
		if body == nil {
			continue // the organization does not have these children
		}
		if complete, err := list[i].read(ctx, body); err != nil || !complete {
			return false, err
		}
	}
	if err := s.touchLinked(ctx, objects, w, documents); err != nil {
		return false, err
	}
	return len(w.touched) <= maxTouched, nil
}

// touch adds the record with an id, if it is one of the connector's.
func (w *window) touch(objects []*object, name, id string) {
	i := slices.IndexFunc(objects, func(o *object) bool { return o.Name == name && !o.isKnowledge() })
	if i >= 0 && isID(id) {
		w.touched = append(w.touched, itemID{object: name, record: id})
	}
}

// collectChildren reads which children changed or were deleted.
func (s *source) collectChildren(objects []*object, kind childKind, w *window) collector {
	related := strings.TrimSuffix(kind.parent, "Id") + ".Type"
	q := selection{
		fields: []string{"Id", kind.parent}, object: kind.object, deleted: true,
		where: []string{since("SystemModstamp", w.since), kind.parent + " != null"},
	}
	if kind.parent == "ParentId" {
		return s.collectRows(w, q, func(r row) { w.touch(objects, "Case", r.text(kind.parent)) })
	}
	q.fields = append(q.fields, related)
	return s.collectRows(w, q, func(r row) { w.touch(objects, r.text(related), r.text(kind.parent)) })
}

// collectRows reads the rows of a query.
func (s *source) collectRows(w *window, q selection, visit func(r row)) collector {
	return collector{call: queryCall(q.text("", rowsPerQuery), q.deleted), read: func(ctx context.Context, body []byte) (bool, error) {
		found, err := parsePage(body, q, "", rowsPerQuery)
		for err == nil {
			for _, r := range found.rows {
				visit(r)
			}
			if len(w.touched) > maxTouched {
				return false, nil
			}
			if !found.more {
				return true, nil
			}
			if len(found.rows) == 0 {
				return false, errInvalid("an empty part of the rows of " + q.object)
			}
			found, err = s.api.readPage(ctx, q, found.rows[len(found.rows)-1].text(q.keyField()), rowsPerQuery)
		}
		return false, err
	}}
}

// collectRecords reads which records of an object changed, and which were deleted.
func (s *source) collectRecords(o *object, w *window) []collector {
	if o.isKnowledge() {
		var list []collector
		for _, status := range []string{"Online", "Archived"} { // articles without a status in the condition are refused
			q := selection{fields: []string{"Id", "KnowledgeArticleId", "Language"}, object: o.Name, where: []string{"PublishStatus = " + quoted(status), since("SystemModstamp", w.since)}}
			list = append(list, s.collectRows(w, q, func(r row) {
				if id := (&record{object: o, row: r}).id(); isID(id.record) && checkLanguage(id.language) == nil {
					w.add(id)
				}
			}))
		}
		return list
	}
	list := []collector{s.collectRows(w, selection{fields: []string{"Id"}, object: o.Name, deleted: true, where: []string{since("SystemModstamp", w.since)}}, func(r row) {
		w.add(itemID{object: o.Name, record: r.text("Id")})
	})}
	if o.Replicates {
		list = append(list, s.collectDeleted(o.Name, w, func(id string) {
			w.add(itemID{object: o.Name, record: id})
		}))
	}
	return list
}

// collectDeleted reads the log of the deleted records of an object. Salesforce leaves
// out the seconds of the window, and keeps the log for 15 days or less.
func (s *source) collectDeleted(object string, w *window, visit func(id string)) collector {
	start, end := w.since.Truncate(time.Minute), w.until.UTC().Truncate(time.Minute).Add(2*time.Minute)
	if !end.After(start.Add(time.Minute)) {
		end = start.Add(2 * time.Minute)
	}
	const layout = "2006-01-02T15:04:05+00:00"
	return collector{
		call: call{path: "sobjects/" + url.PathEscape(object) + "/deleted/", query: url.Values{"start": {start.Format(layout)}, "end": {end.Format(layout)}}},
		read: func(_ context.Context, body []byte) (bool, error) {
			var answer struct {
				DeletedRecords []struct {
					ID string `json:"id"`
				} `json:"deletedRecords"`
				EarliestDateAvailable string `json:"earliestDateAvailable"`
				LatestDateCovered     string `json:"latestDateCovered"`
			}
			if json.Unmarshal(body, &answer) != nil || answer.DeletedRecords == nil || parseTime(answer.EarliestDateAvailable).IsZero() || parseTime(answer.LatestDateCovered).IsZero() {
				return false, errInvalid("the list of deleted records of " + object)
			}
			if parseTime(answer.EarliestDateAvailable).After(time.UnixMilli(w.token)) {
				return false, nil // the log does not go back so far
			}
			for _, entry := range answer.DeletedRecords {
				if !isID(entry.ID) {
					return false, errInvalid("the list of deleted records of " + object)
				}
				visit(entry.ID)
			}
			return len(w.touched) <= maxTouched, nil
		},
	}
}

// collectFiles reads which files changed, and which were deleted.
func (s *source) collectFiles(w *window, documents *[]string) []collector {
	changed := selection{
		fields: []string{"Id", "ContentDocumentId"}, object: "ContentVersion",
		where: []string{"IsLatest = true", since("SystemModstamp", w.since)},
	}
	return []collector{
		s.collectRows(w, changed, func(r row) { *documents = append(*documents, r.text("ContentDocumentId")) }),
		s.collectDeleted("ContentDocument", w, func(id string) { *documents = append(*documents, id) }),
	}
}

// touchLinked adds the records that have a file, now or before.
func (s *source) touchLinked(ctx context.Context, objects []*object, w *window, documents []string) error {
	slices.Sort(documents)
	documents = slices.Compact(documents)
	for _, document := range documents {
		ids, err := s.recordsOf(ctx, document)
		if err != nil {
			return err
		}
		for _, id := range ids {
			w.add(id)
		}
	}
	for part := range slices.Chunk(documents, idsPerQuery) {
		q := selection{fields: []string{"Id", "LinkedEntityId", "LinkedEntity.Type"}, object: "ContentDocumentLink", where: []string{in("ContentDocumentId", part)}}
		err := s.api.each(ctx, q, func(r row) error {
			w.touch(objects, r.text("LinkedEntity.Type"), r.text("LinkedEntityId"))
			return nil
		})
		if err != nil {
			return fmt.Errorf("read the records of files: %w", err)
		}
	}
	return nil
}

// changePage returns the page of changes at a token.
func (s *source) changePage(ctx context.Context, w *window, token feedToken) (connectors.ChangePage, error) {
	from, _ := slices.BinarySearchFunc(w.touched, token.After, func(id itemID, after string) int {
		if strings.Compare(id.String(), after) <= 0 {
			return -1
		}
		return 1
	})
	part := w.touched[from:min(from+recordsPerChange, len(w.touched))]
	var page connectors.ChangePage
	for len(part) > 0 {
		n := 1
		for n < len(part) && part[n].object == part[0].object {
			n++
		}
		if err := s.addChanges(ctx, &page, w, part[:n]); err != nil {
			return connectors.ChangePage{}, err
		}
		token.After, part = part[n-1].String(), part[n:]
		if len(page.Items) >= connectors.MaxPageItems/2 {
			break
		}
	}
	if token.Until == 0 {
		token.Until = w.until.UnixMilli()
	}
	if page.More = len(w.touched) > 0 && token.After < w.touched[len(w.touched)-1].String(); page.More {
		page.Next = connectors.FormatCursor(token)
	} else {
		page.Next = connectors.FormatCursor(feedToken{Version: tokenVersion, Since: max(token.Since, token.Until), Hash: token.Hash})
	}
	page.Warnings = s.takeWarnings()
	return page, nil
}

// addChanges adds the present state of touched records of one object to a page.
func (s *source) addChanges(ctx context.Context, page *connectors.ChangePage, w *window, ids []itemID) error {
	o, err := s.objectNamed(ctx, ids[0].object)
	if err != nil {
		return err
	}
	rows, err := s.rowsOf(ctx, o, ids)
	if err != nil {
		return err
	}
	records, err := s.complete(ctx, o, rows)
	if err != nil {
		return err
	}
	found := map[itemID]*record{}
	for i := range records {
		found[records[i].id()] = &records[i]
	}
	for _, id := range ids {
		r := found[id]
		if r == nil {
			if err := s.addGone(ctx, page, id); err != nil {
				return err
			}
			continue
		}
		item := r.item(s.api.address())
		item.Content = r.document()
		items := append([]connectors.Item{item}, r.fileItems(s.api.address())...)
		gone, err := s.rememberFiles(ctx, r)
		if err != nil {
			return err
		}
		for i := range gone {
			page.Gone = append(page.Gone, gone[i].String())
		}
		page.Items = append(page.Items, items...)
		if s.imports { // an edit may be that of the owner or the parent
			for i := range items {
				page.Permissions = append(page.Permissions, items[i].ID)
			}
		}
	}
	return nil
}

// addGone adds a record that is not the connector's any more, and its files.
func (s *source) addGone(ctx context.Context, page *connectors.ChangePage, id itemID) error {
	page.Gone = append(page.Gone, id.String())
	if !s.settings.Boolean(optionFiles) {
		return nil
	}
	files, err := s.filesOf(ctx, id)
	for _, id.file = range files {
		page.Gone = append(page.Gone, id.String())
	}
	return err
}

// rowsOf reads records of one object by their ids.
func (s *source) rowsOf(ctx context.Context, o *object, ids []itemID) ([]row, error) {
	field, known := "Id", map[itemID]bool{}
	var values []string
	for _, id := range ids {
		values, known[id] = append(values, id.record), true
	}
	if o.isKnowledge() {
		field = "KnowledgeArticleId"
	}
	var rows []row
	err := s.api.each(ctx, o.selected().with(in(field, values)), func(r row) error {
		if known[(&record{object: o, row: r}).id()] {
			rows = append(rows, r)
		}
		return nil
	})
	if err != nil {
		return nil, s.queryError(o, err)
	}
	return rows, nil
}
