package salesforce

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 4

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if _, err := s.load(ctx); err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		if s.isOfLost(name) {
			return nil, nil // it may be there: it is neither found nor missing
		}
		item, err := s.resolve(ctx, name)
		return []connectors.Item{item}, err
	})
}

// isOfLost reports whether a name belongs to an object that the account does not see.
func (s *source) isOfLost(name string) bool {
	object, _, _ := strings.Cut(name, "/")
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Contains(s.lost, object)
}

func (s *source) resolve(ctx context.Context, name string) (connectors.Item, error) {
	id, ok := parseID(name)
	if !ok {
		if id, ok = idInPath(name); !ok {
			return connectors.Item{}, connectors.ErrNotFound
		}
	}
	r, err := s.recordNamed(ctx, id)
	if err != nil {
		return connectors.Item{}, err
	}
	item := r.item(s.api.address())
	if item.ID == name || item.Path == name {
		item.Content = r.document()
		return item, nil
	}
	if s.settings.Boolean(optionFiles) {
		for _, f := range r.fileItems(s.api.address()) {
			if f.ID == name || f.Path == name {
				return f, nil
			}
		}
	}
	return connectors.Item{}, fmt.Errorf("the record has another path: %w", connectors.ErrNotFound)
}

// idInPath returns the id of the record in a path. Names can have parentheses, and files
// slashes in their stead.
func idInPath(path string) (itemID, bool) {
	if len(path) > connectors.MaxIDBytes {
		return itemID{}, false
	}
	parts := strings.SplitN(path, "/", 4)
	if checkName(parts[0]) != nil || len(parts) < 2 {
		return itemID{}, false
	}
	id, at := itemID{object: parts[0]}, 1
	if strings.HasSuffix(id.object, "__kav") {
		if len(parts) < 3 || checkLanguage(parts[1]) != nil {
			return itemID{}, false
		}
		id.language, at = parts[1], 2
	}
	match := regexp.MustCompile(`\(([A-Za-z0-9]{15}|[A-Za-z0-9]{18})\)$`).FindStringSubmatch(parts[at])
	if match == nil {
		return itemID{}, false
	}
	id.record = match[1]
	return id, true
}
