package googledrive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	parallelLookUps = 4
	maxNamesakes    = 20 // pages of files with the same name in a folder
)

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := s.checkOpen(ctx); err != nil || len(names) == 0 {
		return nil, nil, err
	}
	units, err := s.knownUnits(ctx)
	if err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookUps, func(ctx context.Context, name string) ([]connectors.Item, error) {
		var found []connectors.Item
		var err error
		if idPattern.MatchString(name) {
			var item connectors.Item
			item, err = s.itemByID(ctx, units, name)
			found = []connectors.Item{item}
		} else {
			found, err = s.itemsAt(ctx, units, name)
		}
		if isUnknownPerson(err) {
			return nil, nil // it may be in the Drive of a person who is suspended: it is neither found nor missing
		}
		return found, err
	})
}

// subjectsOf returns the subjects of the units.
func subjectsOf(units []unit) []string {
	var subjects []string
	for _, u := range units {
		subjects = append(subjects, u.Subject)
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

// itemByID returns the item of a file, or of the target of a shortcut.
func (s *source) itemByID(ctx context.Context, units []unit, id string) (connectors.Item, error) {
	missing := connectors.ErrNotFound
	for _, subject := range subjectsOf(units) {
		f, err := s.fileByID(ctx, subject, id)
		if isUnknownPerson(err) {
			missing = fmt.Errorf("%w: %w", err, connectors.ErrNotFound)
		}
		if isInvisible(err) {
			continue
		}
		if err != nil {
			return connectors.Item{}, err
		}
		item, ok, err := s.itemIn(ctx, units, subject, f)
		if err != nil || ok {
			return item, err
		}
		for _, u := range units {
			t, err := s.currentTree(ctx, u)
			if err != nil {
				return connectors.Item{}, err
			}
			shortcut, err := s.fileByID(ctx, u.Subject, t.shortcut(id))
			if isInvisible(err) {
				continue
			}
			if err != nil {
				return connectors.Item{}, err
			}
			if item, ok, err := s.shortcutItem(ctx, units, u, t, shortcut); err != nil || ok {
				return item, err
			}
		}
	}
	return connectors.Item{}, fmt.Errorf("look up a file: %w", missing)
}

// itemIn returns the item of a file that a subject sees, in the unit that lists it.
func (s *source) itemIn(ctx context.Context, units []unit, subject string, f *file) (connectors.Item, bool, error) {
	if f.isFolder() || f.isShortcut() {
		return connectors.Item{}, false, nil
	}
	for _, u := range units {
		if f.DriveID != u.driveID() || f.DriveID == "" && u.Subject != subject {
			continue
		}
		t, err := s.currentTree(ctx, u)
		if err != nil {
			return connectors.Item{}, false, err
		}
		if _, err := s.completeChain(ctx, u, t, f, ""); err != nil {
			return connectors.Item{}, false, err
		}
		if place, ok := s.placeOf(u, t, f); ok {
			s.remember(f)
			return s.item(u, f, place), true, nil
		}
	}
	return connectors.Item{}, false, nil
}

// completeChain asks for the folders above a file that the tree lacks, and returns
// the ids of these folders. changed is the token of the page of changes, if any.
func (s *source) completeChain(ctx context.Context, u unit, t *tree, f *file, changed string) (added []string, err error) {
	id := f.parent()
	for depth := 0; depth < maxDepth && id != "" && id != u.ID && id != u.Root; depth++ {
		if above, known := t.folder(id); known {
			id = above.Parent
			continue
		}
		above, err := s.fileByID(ctx, u.Subject, id)
		if isInvisible(err) {
			return added, nil
		}
		if err != nil {
			return added, fmt.Errorf("look up a folder: %w", err)
		}
		if isRoot(u, above) || above.DriveID != u.driveID() {
			return added, nil
		}
		made := newFolder(above)
		made.Changed = changed
		t.put(id, made)
		added = append(added, id)
		id = above.parent()
	}
	return added, nil
}

// isRoot reports whether a folder is the top of a drive, which is no part of paths.
func isRoot(u unit, f *file) bool {
	return f.ID == u.Root || f.ID == u.ID || f.DriveID == f.ID || f.DriveID == "" && f.parent() == "" && (f.OwnedByMe == nil || *f.OwnedByMe) && u.Root == ""
}

// itemsAt returns the items with a path. It asks for each folder of the path.
func (s *source) itemsAt(ctx context.Context, units []unit, path string) (found []connectors.Item, err error) {
	segments := strings.Split(path, "/")
	if len(path) > connectors.MaxIDBytes || !utf8.ValidString(path) || strings.ContainsRune(path, 0) || slices.Contains(segments, "") {
		return nil, connectors.ErrNotFound
	}
	for _, u := range units {
		condition, rest := "", segments[1:]
		switch {
		case u.Type == unitUser && u.Subject == "" && segments[0] == sharedPrefix:
			condition = "sharedWithMe = true"
		case segments[0] != u.prefix():
			continue
		case u.Type == unitUser && u.Subject != "" && len(rest) > 1 && rest[0] == sharedPrefix:
			condition, rest = "sharedWithMe = true", rest[1:]
		case u.Type == unitUser:
			condition = parentsQuery([]string{rootAlias(u)})
		default:
			condition = parentsQuery([]string{u.ID})
		}
		if len(rest) == 0 {
			continue
		}
		items, err := s.itemsBelow(ctx, units, u, condition, path, rest)
		if err != nil && (!isInvisible(err) || isUnknownPerson(err)) {
			return nil, err
		}
		found = append(found, items...)
		if id, _, _ := strings.Cut(rest[0], "."); len(rest) == 1 && idPattern.MatchString(id) && len(items) == 0 {
			// The path of a file whose own path is too long.
			if item, err := s.itemByID(ctx, units, id); err == nil && item.Path == path {
				found = append(found, item)
			} else if err != nil && !errors.Is(err, connectors.ErrNotFound) {
				return nil, err
			}
		}
	}
	if len(found) == 0 {
		return nil, connectors.ErrNotFound
	}
	return found, nil
}

// rootAlias returns the id of a user's My Drive. Google knows it as "root".
func rootAlias(u unit) string {
	if u.Root != "" {
		return u.Root
	}
	return "root"
}

func (s *source) itemsBelow(ctx context.Context, units []unit, u unit, condition, path string, segments []string) (found []connectors.Item, err error) {
	t, err := s.currentTree(ctx, u)
	if err != nil {
		return nil, err
	}
	for len(segments) > 1 {
		files, err := s.filesNamed(ctx, u, condition, []string{segments[0]}, true)
		if err != nil || len(files) == 0 {
			return nil, err
		}
		var ids []string
		for _, f := range files {
			ids = append(ids, f.ID)
		}
		condition, segments = parentsQuery(ids), segments[1:]
	}
	names := []string{segments[0]}
	for _, extension := range []string{".md", ".xlsx", ".pptx", ".pdf"} {
		if name, ok := strings.CutSuffix(segments[0], extension); ok && name != "" {
			names = append(names, name)
		}
	}
	files, err := s.filesNamed(ctx, u, condition, names, false)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		var item connectors.Item
		var ok bool
		if f.isShortcut() {
			item, ok, err = s.shortcutItem(ctx, units, u, t, f)
		} else {
			item, ok, err = s.itemIn(ctx, []unit{u}, u.Subject, f)
		}
		if err != nil {
			return nil, err
		}
		if ok && item.Path == path {
			found = append(found, item)
		}
	}
	return found, nil
}

// filesNamed returns the files or folders with one of some names under a condition.
func (s *source) filesNamed(ctx context.Context, u unit, condition string, names []string, folders bool) (found []*file, err error) {
	var conditions []string
	for _, name := range names {
		for _, variant := range slices.Compact([]string{name, strings.ReplaceAll(name, "∕", "/")}) {
			conditions = append(conditions, "name = '"+quote(variant)+"'")
		}
	}
	q := condition + " and (" + strings.Join(conditions, " or ") + ") and trashed = false"
	if folders {
		q += " and mimeType = '" + typeFolder + "'"
	}
	err = restapi.AllPages("Google", "the files of a name", maxNamesakes, func(token string) (string, error) {
		query := s.listQuery(u, q, minListSize)
		if token != "" {
			query.Set("pageToken", token)
		}
		page, err := s.listPage(ctx, u, query)
		if err != nil {
			return "", err
		}
		for _, f := range page.Files {
			if f.isFolder() == folders {
				found = append(found, f)
			}
		}
		return page.NextPageToken, nil
	})
	return found, err
}
