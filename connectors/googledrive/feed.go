package googledrive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	feedVersion     = 1
	changesPerPage  = 200
	maxFeedRequests = 10
	parallelTokens  = 4
)

// A feedToken is a position in the feeds of a connector.
type feedToken struct {
	Version int `json:"v"`
	// Streams are the page tokens of the feeds. "" stands for a drive that was not
	// visible.
	Streams map[string]string `json:"s"`
	// At is the feed that is being read, "" before the first.
	At string `json:"a,omitempty"`
	// Moved are folders of that feed whose files are to be listed.
	Moved []string `json:"m,omitempty"`
	// Page is the page token of the list of files in the first of these folders.
	Page string `json:"p,omitempty"`
	Loop string `json:"l,omitempty"`
}

// A change is an entry of the feed.
type change struct {
	ChangeType, FileID, DriveID string
	Removed                     bool
	File                        *file
	Drive                       *drive
}

// Changes implements [connectors.Feeder]. The feeds are read one after another:
// those of users first, because a file that moves from a user to a shared drive is
// removed from one feed and new in the other.
func (s *source) Changes(ctx context.Context, text string) (connectors.ChangePage, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.ChangePage{}, err
	}
	if text == "" {
		return s.presentToken(ctx)
	}
	expired := connectors.ChangePage{Expired: true}
	var token feedToken
	if len(text) > connectors.MaxTokenBytes || json.Unmarshal([]byte(text), &token) != nil || token.Version != feedVersion || len(token.Streams) == 0 {
		return expired, nil
	}
	if token.At == "" {
		s.resetCaches()
	}
	units, isSame, err := s.unitsOfFeed(ctx, token)
	if err != nil || !isSame {
		return expired, err
	}
	reader := &feedReader{source: s, units: units, token: token, streams: streamsOf(units), seen: map[string]bool{}}
	if err := reader.run(ctx); err != nil {
		return connectors.ChangePage{}, err
	}
	if reader.isExpired {
		return expired, nil
	}
	next, err := json.Marshal(reader.token)
	if err != nil {
		return connectors.ChangePage{}, fmt.Errorf("encode the token: %w", err)
	}
	if len(next) > connectors.MaxTokenBytes {
		return expired, nil // too many folders moved at once
	}
	reader.page.Next, reader.page.Warnings = string(next), s.takeWarnings()
	return reader.page, nil
}

// streamsOf returns the feeds of the units, those of users first.
func streamsOf(units []unit) []string {
	var streams []string
	for _, u := range units {
		streams = append(streams, u.stream())
	}
	slices.SortFunc(streams, func(a, b string) int {
		if isUser := strings.HasPrefix(a, unitUser); isUser != strings.HasPrefix(b, unitUser) {
			if isUser {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return slices.Compact(streams)
}

// presentToken returns the token of the present.
func (s *source) presentToken(ctx context.Context) (connectors.ChangePage, error) {
	units, err := s.listUnits(ctx, nil)
	if err != nil {
		return connectors.ChangePage{}, err
	}
	streams := streamsOf(units)
	tokens := make([]string, len(streams))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelTokens)
	for i, stream := range streams {
		group.Go(func() error {
			token, err := s.startToken(groupCtx, stream, subjectOfStream(units, stream))
			if isInvisible(err) && strings.HasPrefix(stream, unitDrive+":") || isUnknownPerson(err) {
				err = nil // the walk names the drive or person
			}
			tokens[i] = token
			return err
		})
	}
	if err := group.Wait(); (isInvisible(err) || restapi.StatusOf(err) == http.StatusNotImplemented) && len(streams) > 0 {
		// Everybody may follow the changes of their own files.
		return connectors.ChangePage{Warnings: []string{"Google does not give the changes of My Drive; every sync lists all files."}}, nil
	} else if err != nil {
		return connectors.ChangePage{}, fmt.Errorf("read the position in the changes: %w", err)
	}
	token := feedToken{Version: feedVersion, Streams: map[string]string{}}
	for i, stream := range streams {
		token.Streams[stream] = tokens[i]
	}
	text, err := json.Marshal(token)
	if err != nil {
		return connectors.ChangePage{}, fmt.Errorf("encode the token: %w", err)
	}
	if len(text) > connectors.MaxTokenBytes {
		return connectors.ChangePage{Warnings: []string{"There are too many drives to follow their changes; every sync lists all files. Divide them among several connectors."}}, nil
	}
	return connectors.ChangePage{Next: string(text)}, nil
}

func subjectOfStream(units []unit, stream string) string {
	return units[slices.IndexFunc(units, func(u unit) bool { return u.stream() == stream })].Subject
}

// streamQuery returns the parameters that select a feed.
func streamQuery(stream string) url.Values {
	query := url.Values{"supportsAllDrives": {"true"}}
	if id, ok := strings.CutPrefix(stream, unitDrive+":"); ok {
		query.Set("driveId", id)
	}
	return query
}

func (s *source) startToken(ctx context.Context, stream, subject string) (string, error) {
	var answer struct{ StartPageToken string }
	err := s.api.get(ctx, subject, "changes/startPageToken", streamQuery(stream), "startPageToken", &answer)
	if err == nil && answer.StartPageToken == "" {
		err = errInvalid("an empty token")
	}
	return answer.StartPageToken, err
}

// unitsOfFeed returns the units of the last walk. It reports false if they are not
// those of the config and of Google any more, so that only a walk finds everything.
func (s *source) unitsOfFeed(ctx context.Context, token feedToken) ([]unit, bool, error) {
	var units []unit
	if ok, err := connectors.GetJSON(ctx, s.state, unitsKey, &units); err != nil || !ok {
		return nil, false, err
	}
	if token.At == "" {
		// The folders are those of the last walk; a change of their drive is in the feed.
		current, err := s.listUnits(ctx, units)
		if err != nil {
			return nil, false, err
		}
		if !slices.Equal(current, units) {
			return nil, false, nil
		}
	}
	s.setUnits(units)
	streams := streamsOf(units)
	if !slices.Equal(slices.Sorted(slices.Values(streams)), sortedKeys(token.Streams)) || token.At != "" && !slices.Contains(streams, token.At) {
		return nil, false, nil
	}
	return units, true, nil
}

// A feedReader makes one page of changes.
type feedReader struct {
	source    *source
	units     []unit
	streams   []string
	token     feedToken
	page      connectors.ChangePage
	isExpired bool
	seen      map[string]bool // items of the page
	trees     []*tree         // of the units of the feed
	inStream  []unit
}

// run reads changes and lists moved folders until the page is full.
func (r *feedReader) run(ctx context.Context) error {
	if r.token.At == "" && len(r.streams) > 0 {
		r.token.At = r.streams[0]
	}
	for requests := 0; r.token.At != "" && !r.isExpired; requests++ {
		if requests == maxFeedRequests || len(r.page.Items) > connectors.MaxPageItems-changesPerPage {
			r.page.More = true
			break
		}
		if err := r.openTrees(ctx); err != nil {
			return err
		}
		var err error
		if len(r.token.Moved) > 0 {
			err = r.listMoved(ctx)
		} else {
			err = r.readChanges(ctx)
		}
		if err != nil {
			return err
		}
	}
	if r.isExpired {
		return nil
	}
	return r.saveTrees(ctx)
}

// openTrees opens the folders of the units of the current feed.
func (r *feedReader) openTrees(ctx context.Context) error {
	if r.trees != nil {
		return nil
	}
	r.inStream = nil
	for _, u := range r.units {
		if u.stream() != r.token.At {
			continue
		}
		t, err := r.source.loadTree(ctx, u, generationNow)
		if err != nil {
			return err
		}
		r.inStream, r.trees = append(r.inStream, u), append(r.trees, t)
	}
	return nil
}

func (r *feedReader) saveTrees(ctx context.Context) error {
	for _, t := range r.trees {
		if err := r.source.saveTree(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// nextStream moves on to the next feed.
func (r *feedReader) nextStream(ctx context.Context) error {
	if err := r.saveTrees(ctx); err != nil {
		return err
	}
	r.trees = nil
	i := slices.Index(r.streams, r.token.At)
	r.token.At, r.token.Loop = "", ""
	if i+1 < len(r.streams) {
		r.token.At = r.streams[i+1]
	}
	return nil
}

// readChanges reads the next page of the current feed.
func (r *feedReader) readChanges(ctx context.Context) error {
	s, stream := r.source, r.token.At
	subject := r.inStream[0].Subject
	position := r.token.Streams[stream]
	if position == "" { // the drive or person was not visible; is it now?
		_, err := s.startToken(ctx, stream, subject)
		if isInvisible(err) {
			if _, err := s.listPage(ctx, r.inStream[0], s.listQuery(r.inStream[0], "trashed = false", 1)); err == nil {
				r.isExpired = true // its files are visible, its changes are not
				return nil
			}
			s.warnHidden(r.inStream[0], err)
			return r.nextStream(ctx)
		}
		r.isExpired = err == nil
		return err
	}
	query := streamQuery(stream)
	query.Set("pageToken", position)
	query.Set("pageSize", fmt.Sprint(changesPerPage))
	query.Set("includeRemoved", "true")
	query.Set("includeItemsFromAllDrives", "true")
	if strings.HasPrefix(stream, unitUser) && !s.includesShared() {
		query.Set("restrictToMyDrive", "true")
	}
	query.Set("fields", "nextPageToken,newStartPageToken,changes(changeType,removed,fileId,driveId,drive(id,name),file("+s.fields()+"))")
	var page struct {
		NextPageToken, NewStartPageToken string
		Changes                          []change
	}
	err := s.api.list(ctx, subject, "changes", query, "changes", &page)
	if isUnknownPerson(err) { // its changes are read when the person is back
		s.warnPerson(subject)
		return r.nextStream(ctx)
	}
	if isExpired(err) || isHidden(err) {
		r.isExpired = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the changes of %s: %w", s.title(r.inStream[0]), err)
	}
	next := cmp.Or(page.NextPageToken, page.NewStartPageToken)
	if next == "" {
		return errInvalid("a list of changes without its end")
	}
	for _, c := range page.Changes {
		if drive, ok := strings.CutPrefix(stream, unitDrive+":"); ok && c.File != nil && c.File.DriveID == "" {
			c.File.DriveID = drive
		}
		if err := r.apply(ctx, c, position); err != nil || r.isExpired {
			return err
		}
	}
	r.token.Streams[stream] = next
	if page.NextPageToken != "" {
		loop, _ := restapi.ParseLoopDetector(r.token.Loop)
		if err := loop.Visit("Google", "the changes", next); err != nil {
			return err
		}
		r.token.Loop = loop.String()
		return nil
	}
	if len(r.token.Moved) > 0 {
		r.token.Streams[stream] = next
		return nil // their files first; the feed then has no more changes
	}
	return r.nextStream(ctx)
}

// apply adds a change to the page.
func (r *feedReader) apply(ctx context.Context, c change, position string) error {
	if c.ChangeType == "drive" {
		// A drive that is gone or has another name changes the paths of all its files.
		// Its members are a group, which is read without a walk.
		for _, u := range r.inStream {
			renamed := c.Drive != nil && c.Drive.Name != "" && c.Drive.Name != u.Name && u.Type == unitDrive
			r.isExpired = r.isExpired || c.Removed || renamed
		}
		return nil
	}
	f, id := c.File, c.FileID
	if id == "" && f != nil {
		id = f.ID
	}
	if idPattern.MatchString(id) && !c.Removed && (f == nil || f.MimeType == "") {
		// The change names the file alone.
		found, err := r.source.fileByID(ctx, r.inStream[0].Subject, id)
		if err != nil && (!isInvisible(err) || isUnknownPerson(err)) {
			return fmt.Errorf("look up a file that changed: %w", err)
		}
		f = found
	}
	switch {
	case !idPattern.MatchString(id):
		return errInvalid("a change")
	case c.Removed || f == nil:
		return r.remove(ctx, id)
	case f.isFolder():
		r.moveFolder(f, position)
		return nil
	default:
		return r.addFile(ctx, f)
	}
}

// remove handles a file or folder that left the feed.
func (r *feedReader) remove(ctx context.Context, id string) error {
	for i, t := range r.trees {
		if _, isFolder := t.folder(id); isFolder || r.inStream[i].ID == id {
			// The files in it cannot be asked for any more.
			r.isExpired = true
			return nil
		}
		if target := t.targetOf(id); target != "" {
			id = target
		}
	}
	if len(r.streams) > 1 {
		// It may be in another drive now.
		item, err := r.source.itemByID(ctx, r.units, id)
		if err == nil {
			r.add(item)
			return nil
		}
		if !errors.Is(err, connectors.ErrNotFound) {
			return err
		}
	}
	r.gone(id)
	return nil
}

func (r *feedReader) gone(id string) {
	r.page.Gone = append(r.page.Gone, id)
	r.page.Items = slices.DeleteFunc(r.page.Items, func(item connectors.Item) bool { return item.ID == id })
	delete(r.seen, id)
}

// add adds an item, in place of an earlier one with the same id.
func (r *feedReader) add(item connectors.Item) {
	r.page.Gone = slices.DeleteFunc(r.page.Gone, func(id string) bool { return id == item.ID })
	if r.seen[item.ID] {
		r.page.Items = slices.DeleteFunc(r.page.Items, func(other connectors.Item) bool { return other.ID == item.ID })
	} else {
		r.page.Permissions = append(r.page.Permissions, item.ID)
	}
	r.seen[item.ID] = true
	r.page.Items = append(r.page.Items, item)
}

// addFile adds the item of a file that changed, or says that it is gone.
func (r *feedReader) addFile(ctx context.Context, f *file) error {
	s := r.source
	if f.isShortcut() {
		for i, u := range r.inStream {
			item, ok, err := s.shortcutItem(ctx, r.units, u, r.trees[i], f)
			if err != nil {
				return err
			}
			if ok {
				r.add(item)
				return nil
			}
			if target := r.trees[i].targetOf(f.ID); target != "" && f.Trashed {
				r.gone(target)
			}
		}
		return nil
	}
	for i, u := range r.inStream {
		added, err := s.completeChain(ctx, u, r.trees[i], f, r.token.Streams[r.token.At])
		if err != nil {
			return err
		}
		for _, id := range added { // other files may have come with the folder
			r.moved(id)
		}
		if place, ok := s.placeOf(u, r.trees[i], f); ok {
			s.remember(f)
			r.add(s.item(u, f, place))
			return nil
		}
	}
	if f.Trashed {
		r.gone(f.ID)
		return nil
	}
	return r.remove(ctx, f.ID)
}

// moveFolder changes the folder of the trees. If its place or its readers changed,
// the files in it are listed next, since the feed does not name them.
func (r *feedReader) moveFolder(f *file, position string) {
	for i, u := range r.inStream {
		t := r.trees[i]
		if isRoot(u, f) {
			r.isExpired = r.isExpired || u.Type == unitFolder && u.ID == f.ID && (f.Trashed || f.Name != u.Name)
			continue
		}
		have, known := t.folder(f.ID)
		now := newFolder(f)
		if !known && u.Type == unitFolder {
			if _, inside := t.folder(now.Parent); !inside && now.Parent != u.ID {
				continue
			}
		}
		if !known && (f.DriveID != u.driveID() || f.Trashed) {
			continue
		}
		now.Changed = have.Changed
		if !known || now.differs(have) {
			now.Changed = position
		}
		t.put(f.ID, now)
		if now.Changed == position {
			r.moved(f.ID)
		}
	}
}

// moved marks a folder whose files are to be listed.
func (r *feedReader) moved(id string) {
	if !slices.Contains(r.token.Moved, id) {
		r.token.Moved = append(r.token.Moved, id)
	}
}

// listMoved lists the files of a folder that moved, and finds the folders in it.
// Files in the trash are gone.
func (r *feedReader) listMoved(ctx context.Context) error {
	s, u := r.source, r.inStream[0]
	id := r.token.Moved[0]
	query := s.listQuery(u, parentsQuery([]string{id}), changesPerPage)
	if r.token.Page != "" {
		query.Set("pageToken", r.token.Page)
	}
	page, err := s.listPage(ctx, u, query)
	switch {
	case isExpired(err) && r.token.Page != "":
		r.token.Page = ""
		return nil
	case isHidden(err):
		r.isExpired = true
		return nil
	case err != nil:
		return fmt.Errorf("list the files of a folder that changed: %w", err)
	}
	for _, f := range page.Files {
		if !f.isFolder() {
			if err := r.addFile(ctx, f); err != nil {
				return err
			}
			continue
		}
		for i, u := range r.inStream {
			if have, known := r.trees[i].folder(f.ID); f.DriveID == u.driveID() && !isRoot(u, f) {
				now := newFolder(f)
				if now.Changed = have.Changed; !known || now.differs(have) {
					r.trees[i].put(f.ID, now)
				}
			}
		}
		r.moved(f.ID)
	}
	if r.token.Page = page.NextPageToken; r.token.Page == "" {
		r.token.Moved = r.token.Moved[1:]
	}
	return nil
}
