package sharepoint

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A source is an opened connector.
type source struct {
	settings           connectors.Settings
	graph              *graph
	auth               *authorizer
	dial               connectors.Dial
	state              connectors.State
	now                func() time.Time
	importsPermissions bool
	linkIsPublic       bool
	suffix             string // the domain of SharePoint

	mutex       sync.Mutex // guards the fields below
	parts       *parts
	listAgain   bool                       // the stored parts are too old
	pageDrives  map[string]string          // drives of the page libraries, by site, "" for none
	siteGroups  map[string]siteGroupList   // by site address and number
	sites       map[string]*restClient     // by host
	contents    map[string]*restapi.Client // by origin
	savedGroups map[string]bool
	answers     map[string]permissionAnswer // of an interrupted call of Readers, by path
	answersFrom time.Time
}

func open(dial connectors.Dial, tokens *tokenCache, s connectors.Settings, now func() time.Time) (*source, error) {
	graphURL := cmp.Or(s.String(optionGraph), defaultGraph)
	national := cloudOf(graphURL)
	auth, err := newAuthorizer(dial, tokens, cmp.Or(s.String(optionAuth), national.login), s, now)
	if err != nil {
		return nil, err
	}
	g, err := newGraph(dial, auth, graphURL, s)
	if err != nil {
		return nil, err
	}
	permissions, _ := s.IncludesPermissions()
	suffix := s.String(optionSuffix)
	if parsed, err := url.Parse(graphURL); suffix == "" && err == nil && strings.EqualFold(national.graph, "https://"+parsed.Host) {
		// The tokens of another login than Microsoft's are not for SharePoint.
		suffix = national.suffix
	}
	src := &source{
		settings: s, graph: g, auth: auth, dial: dial, state: s.State, now: now, importsPermissions: permissions,
		linkIsPublic: s.Boolean(optionLinkIsPublic), suffix: suffix,
		pageDrives: map[string]string{}, siteGroups: map[string]siteGroupList{}, sites: map[string]*restClient{}, contents: map[string]*restapi.Client{}, savedGroups: map[string]bool{}, answers: map[string]permissionAnswer{},
	}
	if src.state == nil {
		src.state = &connectors.MemoryState{}
	}
	return src, nil
}

// resetCaches deletes what a new walk must request again.
func (s *source) resetCaches() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.parts, s.listAgain = nil, true
	clear(s.pageDrives)
	clear(s.siteGroups)
	clear(s.answers)
}

// excludes reports whether the config leaves out a path.
func (s *source) excludes(path string) bool {
	return slices.ContainsFunc(s.settings.Strings(optionNoPaths), func(pattern string) bool { return glob.Match(pattern, path) })
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.graph.client.Close()
	s.auth.close()
	for _, site := range s.sites {
		site.client.Close()
	}
	for _, client := range s.contents {
		client.Close()
	}
	return nil
}
