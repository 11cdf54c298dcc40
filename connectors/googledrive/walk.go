package googledrive

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	maxPageRequests = 12 // lists that are read for one page of the walk
	foldersPerPage  = 1000
	// minListSize is the smallest part of a list for which a page of the walk goes on.
	minListSize = 100
	maxRestarts = 3

	// A query names this many folders, or one for the folders of a small unit.
	maxParents  = 40
	fewFolders  = 8
	frontierKey = "frontier/"
)

// The stages of a unit: its folders, then its files.
const (
	stageFolders = "d"
	stageFiles   = "f"
)

// A cursor is a position in the lists of a unit.
type cursor struct {
	Unit  string `json:"u"`
	Stage string `json:"s"`
	// Token is the page token of the list.
	Token string `json:"t,omitempty"`
	// After is the last folder whose files were listed, in a unit of a folder.
	After string `json:"a,omitempty"`
	// Step counts the lists of folders, in a unit of a folder.
	Step int    `json:"n,omitempty"`
	Loop string `json:"l,omitempty"`
	// Restarts counts how often the unit was begun again, because a page token expired.
	Restarts int `json:"r,omitempty"`
	// Read and Hidden say that a unit was read, and that one was not visible.
	Read   bool `json:"ok,omitempty"`
	Hidden bool `json:"h,omitempty"`
	// Found says that there was an item.
	Found bool `json:"i,omitempty"`
}

func parseCursor(text string) (cursor, error) {
	var c cursor
	if err := connectors.ParseCursor(text, &c); err != nil {
		return cursor{}, err
	}
	if c.Unit == "" || c.Stage != stageFolders && c.Stage != stageFiles {
		return cursor{}, connectors.ErrCursor
	}
	return c, nil
}

// A fileList is a page of files.
type fileList struct {
	NextPageToken    string
	IncompleteSearch bool
	Files            []*file
}

// listQuery returns the parameters of a list of a unit's files.
func (s *source) listQuery(u unit, q string, size int) url.Values {
	query := url.Values{
		"q": {q}, "pageSize": {strconv.Itoa(size)}, "supportsAllDrives": {"true"}, "includeItemsFromAllDrives": {"true"}, "corpora": {"user"},
		"fields": {"nextPageToken,incompleteSearch,files(" + s.fields() + ")"},
	}
	switch {
	case u.Type == unitDrive:
		query.Set("corpora", "drive")
		query.Set("driveId", u.ID)
	case u.driveID() != "":
		// Somebody who sees a folder need not be a member of its drive.
		query.Set("corpora", "allDrives")
	}
	return query
}

func (s *source) listPage(ctx context.Context, u unit, query url.Values) (*fileList, error) {
	var page fileList
	if err := s.api.list(ctx, u.Subject, "files", query, "files", &page); err != nil {
		return nil, err
	}
	for _, f := range page.Files {
		if f == nil || !idPattern.MatchString(f.ID) || f.MimeType == "" {
			return nil, errInvalid("a file")
		}
		if u.Type == unitDrive && f.DriveID == "" {
			f.DriveID = u.ID
		}
	}
	return &page, nil
}

// parentsQuery returns the condition that a file is in one of some folders.
func parentsQuery(ids []string) string {
	conditions := make([]string, len(ids))
	for i, id := range ids {
		conditions[i] = "'" + quote(id) + "' in parents"
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " or ") + ")"
}

func quote(text string) string { return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) }

// Walk implements [connectors.Source].
func (s *source) Walk(ctx context.Context, text string) (connectors.Page, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.Page{}, err
	}
	var at cursor
	var units []unit
	var err error
	if text == "" {
		s.resetCaches()
		units, err = s.renewUnits(ctx)
	} else if at, err = parseCursor(text); err == nil {
		units, err = s.knownUnits(ctx)
	}
	if err != nil {
		return connectors.Page{}, err
	}
	w := &walker{source: s, units: units, cursor: at, seen: map[string]bool{}}
	if err := w.run(ctx); err != nil {
		return connectors.Page{}, err
	}
	w.page.Warnings = s.takeWarnings()
	return w.page, nil
}

// A walker makes one page of a walk.
type walker struct {
	source *source
	units  []unit
	cursor cursor
	page   connectors.Page
	tree   *tree // of the current unit
	seen   map[string]bool
}

// run reads lists until the page is full or the walk is complete.
func (w *walker) run(ctx context.Context) error {
	if w.cursor.Unit == "" {
		w.begin(0)
	}
	for requests := 0; ; requests++ {
		i := slices.IndexFunc(w.units, func(u unit) bool { return u.key() >= w.cursor.Unit })
		if i < 0 || w.cursor.Unit == "" {
			return w.end()
		}
		if w.units[i].key() != w.cursor.Unit {
			w.begin(i) // the config changed meanwhile
		}
		remaining := connectors.MaxPageItems - len(w.page.Items)
		if requests == maxPageRequests || remaining < minListSize || w.cursor.Token != "" && w.cursor.Stage == stageFiles && len(w.page.Items) > 0 {
			return w.stop(ctx)
		}
		err := w.step(ctx, i, remaining)
		switch {
		case err == nil:
			continue
		case w.cursor.Token != "" && isExpired(err) && w.cursor.Restarts < maxRestarts:
			restarts := w.cursor.Restarts + 1
			w.begin(i)
			w.cursor.Restarts = restarts
		case isHidden(err):
			u := w.units[i]
			w.page.Incomplete = append(w.page.Incomplete, u.key())
			w.source.warnHidden(u, err)
			w.cursor.Hidden = true
			w.begin(i + 1)
		default:
			return fmt.Errorf("list %s: %w", w.source.title(w.units[i]), err)
		}
	}
}

// isExpired reports whether Google no longer knows a page token.
func isExpired(err error) bool {
	status := restapi.StatusOf(err)
	return status == http.StatusBadRequest || status == http.StatusGone
}

// begin moves the cursor to the start of a unit, or to the end of the walk.
func (w *walker) begin(i int) {
	w.cursor = cursor{Stage: stageFolders, Read: w.cursor.Read, Hidden: w.cursor.Hidden, Found: w.cursor.Found}
	w.tree = nil
	if i < len(w.units) {
		w.cursor.Unit = w.units[i].key()
	}
}

// stop ends the page before the end of the walk.
func (w *walker) stop(ctx context.Context) error {
	if w.tree != nil {
		if err := w.source.saveTree(ctx, w.tree); err != nil {
			return err
		}
	}
	w.page.Next = connectors.FormatCursor(w.cursor)
	return nil
}

func (w *walker) end() error {
	if w.cursor.Hidden && !w.cursor.Read {
		return connectors.NeedsAuth(fmt.Errorf("the account sees none of the drives and folders of the config; share them with it, or correct config.%s and config.%s", optionDrives, optionFolders))
	}
	if s := w.source; !w.cursor.Found && s.settings.Token == nil && !s.delegates() {
		s.addWarning("The service account sees no file. Share folders or shared drives with its address, or set credentials." + credentialAdmin + ".")
	}
	w.page.Done = true
	return nil
}

// step reads the next list of a unit.
func (w *walker) step(ctx context.Context, i, size int) error {
	s, u := w.source, w.units[i]
	if w.tree == nil {
		if err := w.openTree(ctx, u); err != nil {
			return err
		}
	}
	if w.cursor.Stage == stageFolders {
		done, err := w.listFolders(ctx, u)
		if err != nil || !done {
			return err
		}
		if err := s.saveTree(ctx, w.tree); err != nil {
			return err
		}
		w.cursor.Stage, w.cursor.Token, w.cursor.Loop, w.cursor.Step = stageFiles, "", "", 0
		return nil
	}
	done, err := w.listFiles(ctx, u, size)
	if err != nil || !done {
		return err
	}
	if err := s.completeTree(ctx, u, w.tree); err != nil {
		return err
	}
	w.cursor.Read = true
	w.begin(i + 1)
	return nil
}

// openTree opens the tree of the walk, an empty one at the start of a unit.
func (w *walker) openTree(ctx context.Context, u unit) (err error) {
	s := w.source
	if w.cursor.Stage == stageFolders && w.cursor.Token == "" && w.cursor.Step == 0 {
		if err := s.clearTree(ctx, u, generationNext); err != nil {
			return err
		}
		w.tree = newTree(u, generationNext)
		s.cacheTree(w.tree)
		if u.Type == unitFolder {
			return w.saveFrontier(ctx, u, []string{u.ID})
		}
		return nil
	}
	w.tree, err = s.currentTree(ctx, u)
	return err
}

// advance moves the cursor to the next part of a list.
func (w *walker) advance(u unit, next string) error {
	loop, _ := restapi.ParseLoopDetector(w.cursor.Loop)
	if err := loop.Visit("Google", "the files of "+w.source.title(u), next); err != nil {
		return err
	}
	w.cursor.Token, w.cursor.Loop = next, loop.String()
	return nil
}

// list reads a part of a list at the cursor's token.
func (w *walker) list(ctx context.Context, u unit, q string, size int) (*fileList, error) {
	query := w.source.listQuery(u, q, size)
	if w.cursor.Token != "" {
		query.Set("pageToken", w.cursor.Token)
	}
	page, err := w.source.listPage(ctx, u, query)
	if err == nil && page.IncompleteSearch && !slices.Contains(w.page.Incomplete, u.key()) {
		w.page.Incomplete = append(w.page.Incomplete, u.key())
		w.source.addWarning("Google did not list " + w.source.title(u) + " completely. Documents that are missing from the list are kept.")
	}
	return page, err
}

// listFolders reads a part of the unit's folders.
func (w *walker) listFolders(ctx context.Context, u unit) (done bool, err error) {
	if u.Type == unitFolder {
		return w.listFoldersBelow(ctx, u)
	}
	page, err := w.list(ctx, u, "mimeType = '"+typeFolder+"' and trashed = false", foldersPerPage)
	if err != nil {
		return false, err
	}
	for _, f := range page.Files {
		if f.isFolder() && !f.Trashed && f.DriveID == u.driveID() && f.ID != u.Root && f.ID != u.ID {
			w.tree.put(f.ID, newFolder(f))
		}
	}
	if page.NextPageToken == "" {
		return true, nil
	}
	return false, w.advance(u, page.NextPageToken)
}

// listFoldersBelow reads the folders in some folders of a unit of a folder. The
// folders that remain are in the state.
func (w *walker) listFoldersBelow(ctx context.Context, u unit) (done bool, err error) {
	var frontier []string
	if _, err := connectors.GetJSON(ctx, w.source.state, frontierKey+w.tree.key, &frontier); err != nil {
		return false, err
	}
	if len(frontier) == 0 {
		return true, nil
	}
	batch := frontier[:min(parentsPerQuery(len(frontier)), len(frontier))]
	frontier = frontier[len(batch):]
	err = restapi.AllPages("Google", "the folders of "+w.source.title(u), maxDrivePages, func(token string) (string, error) {
		query := w.source.listQuery(u, parentsQuery(batch)+" and mimeType = '"+typeFolder+"' and trashed = false", foldersPerPage)
		if token != "" {
			query.Set("pageToken", token)
		}
		page, err := w.source.listPage(ctx, u, query)
		if err != nil {
			return "", err
		}
		for _, f := range page.Files {
			if _, known := w.tree.folder(f.ID); f.isFolder() && !f.Trashed && !known && f.ID != u.ID {
				w.tree.put(f.ID, newFolder(f))
				frontier = append(frontier, f.ID)
			}
		}
		return page.NextPageToken, nil
	})
	if err != nil {
		return false, err
	}
	if err := w.source.saveTree(ctx, w.tree); err != nil {
		return false, err
	}
	w.cursor.Step++
	return false, w.saveFrontier(ctx, u, frontier)
}

func (w *walker) saveFrontier(ctx context.Context, u unit, frontier []string) error {
	return connectors.PutJSON(ctx, w.source.state, frontierKey+treePrefix(u, generationNext), frontier)
}

// parentsPerQuery returns how many folders a query names. Few folders are listed
// one by one, with short queries.
func parentsPerQuery(folders int) int {
	if folders <= fewFolders {
		return 1
	}
	return maxParents
}

// listFiles reads a part of the unit's files.
func (w *walker) listFiles(ctx context.Context, u unit, size int) (done bool, err error) {
	if w.cursor.Token != "" {
		size = connectors.MaxPageItems
	}
	condition, last, isLast := "", "", true
	if u.Type == unitFolder {
		ids := append(w.tree.folderIDs(""), u.ID)
		slices.Sort(ids)
		rest := ids[slices.IndexFunc(append(ids, ""), func(id string) bool { return id > w.cursor.After || id == "" }):]
		if len(rest) == 0 {
			return true, nil
		}
		batch := rest[:min(parentsPerQuery(len(ids)), len(rest))]
		condition, last, isLast = parentsQuery(batch)+" and ", batch[len(batch)-1], len(batch) == len(rest)
	}
	page, err := w.list(ctx, u, condition+"mimeType != '"+typeFolder+"' and trashed = false", size)
	if err != nil {
		return false, err
	}
	for _, f := range page.Files {
		if err := w.add(ctx, u, f); err != nil {
			return false, err
		}
	}
	if page.NextPageToken != "" {
		return false, w.advance(u, page.NextPageToken)
	}
	w.cursor.Token, w.cursor.Loop, w.cursor.After = "", "", last
	return isLast, nil
}

// add adds the item of a file to the page.
func (w *walker) add(ctx context.Context, u unit, f *file) error {
	if f.isFolder() {
		return nil
	}
	var item connectors.Item
	var ok bool
	var err error
	if f.isShortcut() {
		item, ok, err = w.source.shortcutItem(ctx, w.units, u, w.tree, f)
	} else if place, belongs := w.source.placeOf(u, w.tree, f); belongs {
		item, ok = w.source.item(u, f, place), true
		w.source.remember(f)
	}
	if err != nil || !ok || w.seen[item.ID] {
		return err
	}
	w.seen[item.ID], w.cursor.Found = true, true
	w.page.Items = append(w.page.Items, item)
	return nil
}

// shortcutItem returns the item of a shortcut's target, at the place of the
// shortcut. It reports false if the target is listed anyway, is a folder or is not
// visible, or if another shortcut stands for it.
func (s *source) shortcutItem(ctx context.Context, units []unit, u unit, t *tree, f *file) (connectors.Item, bool, error) {
	target := f.ShortcutDetails.TargetID
	if have := t.shortcut(target); f.Trashed || !idPattern.MatchString(target) || f.ShortcutDetails.TargetMimeType == typeFolder || have != "" && have != f.ID {
		return connectors.Item{}, false, nil
	}
	named := *f
	named.MimeType = f.ShortcutDetails.TargetMimeType
	place, ok := s.placeOf(u, t, &named)
	if !ok {
		return connectors.Item{}, false, nil
	}
	found, err := s.fileByID(ctx, u.Subject, target)
	switch {
	case isInvisible(err):
		return connectors.Item{}, false, nil
	case err != nil:
		return connectors.Item{}, false, fmt.Errorf("look up the target of a shortcut: %w", err)
	case found.Trashed || found.isFolder() || found.isShortcut():
		return connectors.Item{}, false, nil
	}
	if _, listed, err := s.itemIn(ctx, units, u.Subject, found); err != nil || listed {
		return connectors.Item{}, false, err
	}
	t.putShortcut(target, f.ID)
	s.remember(found)
	item := s.item(u, found, place)
	item.Title = f.Name
	return item, true, nil
}
