package notion

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A source is the content that is shared with an integration.
type source struct {
	client       *client
	settings     connectors.Settings
	state        connectors.State
	only         map[string]bool // ids of pages and databases, empty for all
	databases    []string        // ids
	withFiles    bool
	withComments bool

	mutex          sync.Mutex // guards the fields below
	accountChecked bool
	noMarkdown     bool // the API has no Markdown
	hasMarkdown    bool // the API has Markdown of a page
	warnings       []string
	warningSet     map[string]bool
	blockPages     map[string]string // pages by block
	loaded         *tree             // of a walk, with its first chunks
	loadedWalk     string
	loadedChunks   int
	rowSources     []string // the data sources of a walk whose rows are listed
	rowSourcesOf   string
	texts          map[string]string // of pages, by id and version
	fileLists      map[string]map[string]pageFiles
	places         map[string][2]int // of the nodes of a walk
	placesOf       string
}

func open(dial connectors.Dial, s connectors.Settings) (*source, error) {
	c, err := newClient(dial, s)
	if err != nil {
		return nil, err
	}
	src := &source{
		client: c, settings: s, state: s.State, only: map[string]bool{}, withFiles: s.Boolean(optionFiles), withComments: s.Boolean(optionComments),
		warningSet: map[string]bool{}, blockPages: map[string]string{}, texts: map[string]string{}, fileLists: map[string]map[string]pageFiles{},
	}
	if src.state == nil {
		src.state = &connectors.MemoryState{}
	}
	for _, text := range s.Strings(optionRoots) {
		if id, ok := parseID(text); ok {
			src.only[bare(id)] = true
		}
	}
	for _, text := range s.Strings(optionDatabases) {
		if id, ok := parseID(text); ok {
			src.only[bare(id)] = true
			src.databases = append(src.databases, id)
		}
	}
	return src, nil
}

func (s *source) addWarning(text string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.warningSet[text] {
		s.warningSet[text] = true
		s.warnings = append(s.warnings, text)
	}
}

func (s *source) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	warnings := s.warnings
	s.warnings = nil
	return warnings
}

// checkAccount checks that the token is valid, and that the pages and databases of
// the settings are shared with the integration.
func (s *source) checkAccount(ctx context.Context) error {
	s.mutex.Lock()
	checked := s.accountChecked
	s.mutex.Unlock()
	if checked {
		return nil
	}
	var me struct{ ID string }
	err := s.client.request(ctx, restapi.Request{Path: "users/me", RequiredFields: []string{"id"}}, &me)
	if err != nil && !isAbsent(err) && restapi.StatusOf(err) != http.StatusForbidden { // a proxy may serve the content only
		return err
	}
	missing := func(option, id string, err error) error {
		if errors.Is(err, connectors.ErrNotFound) {
			return connectors.NeedsAuth(fmt.Errorf("%s is not shared with the integration, or does not exist; share it (page menu, Connections), or take it out of config.%s", bare(id), option))
		}
		return err
	}
	for _, text := range s.settings.Strings(optionRoots) {
		id, _ := parseID(text)
		if _, err := s.client.page(ctx, id); err != nil {
			return missing(optionRoots, id, err)
		}
	}
	for _, id := range s.databases {
		if _, err := s.client.dataSources(ctx, id); err != nil {
			return missing(optionDatabases, id, err)
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.accountChecked = true
	return nil
}

// CheckTiers implements [connectors.TierChecker]. There is one tier: Notion does not
// tell permissions.
func (s *source) CheckTiers(ctx context.Context) ([]connectors.Tier, error) {
	return []connectors.Tier{{Name: connectors.TierRead, Err: s.Check(ctx)}}, ctx.Err()
}

// Check implements [connectors.Source].
func (s *source) Check(ctx context.Context) error {
	s.mutex.Lock()
	s.accountChecked = false
	s.mutex.Unlock()
	if err := s.checkAccount(ctx); err != nil {
		return err
	}
	pages, err := s.client.search(ctx, "page", descending, "")
	if err != nil {
		return err
	}
	if len(pages.Results) == 0 {
		sources, err := s.client.search(ctx, "data_source", descending, "")
		if err != nil {
			return err
		}
		if len(sources.Results) == 0 {
			return errNothingShared
		}
		return nil
	}
	id := pages.Results[0].ID
	if _, _, err := s.readText(ctx, id); err != nil && !errors.Is(err, connectors.ErrNotFound) {
		return fmt.Errorf("read a page: %w", err)
	}
	if s.withComments {
		if _, err := s.client.comments(ctx, id); err != nil && !errors.Is(err, connectors.ErrNotFound) {
			return fmt.Errorf("read the comments on a page: %w", err)
		}
	}
	return nil
}

const (
	ascending  = "ascending"
	descending = "descending"
)

var errNothingShared = connectors.NeedsAuth(errors.New("nothing is shared with the integration; open a page in Notion, and add the integration in its menu under Connections"))

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.client.Close()
	return nil
}

// readPart reads a page of the whole list. It returns nil as next at the end.
// incomplete is the data source whose rows cannot be listed, "" for none.
func (s *source) readPart(ctx context.Context, at listing, sources func() ([]string, error)) (nodes []node, next *listing, incomplete string, err error) {
	switch at.Phase {
	case phaseSources:
		if at.Cursor == "" {
			for _, id := range s.databases {
				found, err := s.client.dataSources(ctx, id)
				if err != nil {
					return nil, nil, "", err
				}
				for _, o := range found {
					n, err := s.newNode(ctx, o)
					if err != nil {
						return nil, nil, "", err
					}
					if n.Database == "" {
						n.Database = id
					}
					nodes = append(nodes, n)
				}
			}
		}
		return s.readSearch(ctx, at, "data_source", nodes)
	case phasePages:
		return s.readSearch(ctx, at, "page", nil)
	case phaseRows:
		return s.readRows(ctx, at, sources)
	}
	return nil, nil, "", connectors.ErrCursor
}

func (s *source) readSearch(ctx context.Context, at listing, kind string, nodes []node) ([]node, *listing, string, error) {
	found, err := s.client.search(ctx, kind, ascending, at.Cursor)
	if err != nil {
		return nil, nil, "", err
	}
	if found.RequestStatus.Type == "incomplete" {
		s.addWarning("Notion does not list everything that is shared with the integration in one search; name pages and databases in several connectors.")
	}
	more, err := s.nodesOf(ctx, found.Results)
	if err != nil {
		return nil, nil, "", err
	}
	nodes = append(nodes, more...)
	next := at
	switch {
	case found.HasMore:
		if err := next.advance(found.NextCursor); err != nil {
			return nil, nil, "", err
		}
	case at.Phase == phaseSources:
		next = listing{Phase: phasePages}
	default:
		next = listing{Phase: phaseRows}
	}
	return nodes, &next, "", nil
}

// nodesOf returns the nodes of objects that are not in the trash.
func (s *source) nodesOf(ctx context.Context, objects []object) ([]node, error) {
	var nodes []node
	for i := range objects {
		if objects[i].isGone() {
			continue
		}
		if !objects[i].isValid() {
			// Notion leaves out the fields of some objects in lists.
			found, err := s.client.object(ctx, objects[i])
			if errors.Is(err, connectors.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			objects[i] = *found
		}
		n, err := s.newNode(ctx, &objects[i])
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// readRows reads a page of the rows of a data source. One query returns 10,000 rows
// at most: further ones are read by the time of their creation.
func (s *source) readRows(ctx context.Context, at listing, sources func() ([]string, error)) ([]node, *listing, string, error) {
	all, err := sources()
	if err != nil {
		return nil, nil, "", err
	}
	position, exact := slices.BinarySearch(all, at.Source)
	if position == len(all) {
		return nil, nil, "", nil
	}
	if !exact {
		at = listing{Phase: phaseRows, Source: all[position]}
	}
	following := func() *listing {
		if position+1 == len(all) {
			return nil
		}
		return &listing{Phase: phaseRows, Source: all[position+1]}
	}
	var from time.Time
	if at.From != 0 {
		from = time.Unix(at.From, 0).UTC()
	}
	found, err := s.client.rows(ctx, at.Source, from, at.Cursor)
	if isAbsent(err) || restapi.StatusOf(err) == http.StatusForbidden {
		s.addWarning("The rows of the database " + bare(at.Source) + " cannot be listed; nothing of it is deleted.")
		return nil, following(), at.Source, nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	nodes, err := s.nodesOf(ctx, found.Results)
	if err != nil {
		return nil, nil, "", err
	}
	next := at
	switch {
	case found.HasMore:
		if err := next.advance(found.NextCursor); err != nil {
			return nil, nil, "", err
		}
		return nodes, &next, "", nil
	case found.RequestStatus.Type != "incomplete":
		return nodes, following(), "", nil
	}
	if len(found.Results) > 0 {
		if last := found.Results[len(found.Results)-1].Created; last.Unix() > at.From {
			return nodes, &listing{Phase: phaseRows, Source: at.Source, From: last.Unix()}, "", nil
		}
	}
	s.addWarning("Notion does not list all rows of the database " + bare(at.Source) + "; nothing of it is deleted.")
	return nodes, following(), at.Source, nil
}
