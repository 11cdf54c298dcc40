package sharepoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// A graphSite is a site as Graph lists it.
type graphSite struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	DisplayName    string `json:"displayName"`
	WebURL         string `json:"webUrl"`
	IsPersonalSite bool   `json:"isPersonalSite"`
}

// A graphDrive is a document library or OneDrive.
type graphDrive struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	WebURL    string `json:"webUrl"`
	DriveType string `json:"driveType"`
}

// A graphList is a list of a site.
type graphList struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	WebURL      string `json:"webUrl"`
	List        struct {
		Template string `json:"template"`
		Hidden   bool   `json:"hidden"`
	} `json:"list"`
	System *struct{} `json:"system"`
}

const (
	siteSelect = "id,name,displayName,webUrl,isPersonalSite"
	// siteRefKey is the prefix of the keys of the state under which the ids of named
	// sites and OneDrives are remembered.
	siteRefKey = "ref/"
	// contentStorage is the path of embedded containers that are no sites for people.
	contentStorage = "contentstorage/"
)

// selectParts returns the parts of the sites and OneDrives of the connector. A site
// that cannot be read is left out with a warning.
func (s *source) selectParts(ctx context.Context) (*parts, error) {
	s.mutex.Lock()
	cached, again := s.parts, s.listAgain
	s.mutex.Unlock()
	if cached != nil {
		return cached, nil
	}
	if !again {
		if stored, ok, err := s.storedParts(ctx); err != nil || ok {
			return stored, err
		}
	}
	found, err := s.listParts(ctx, 0)
	if err != nil {
		return nil, err
	}
	if err := s.storeParts(ctx, found); err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.parts, s.listAgain = found, false
	return found, nil
}

// listParts lists the parts of the connector, of at most limit sites and people if
// limit is not 0.
func (s *source) listParts(ctx context.Context, limit int) (*parts, error) {
	found := &parts{listed: map[string]bool{}}
	var firstErr error
	skip := func(container, name string, err error) error {
		reason, ok := isUnavailable(err)
		if !ok {
			return err
		}
		if firstErr == nil {
			firstErr = err
		}
		if container != "" {
			found.unavailable = append(found.unavailable, container, pagesContainer(container), listsContainer(container))
		}
		found.warnings = append(found.warnings, fmt.Sprintf("The site %s is left out: %s. None of its documents is deleted.", name, reason))
		return nil
	}
	sites, err := s.selectSites(ctx, skip)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		sites = sites[:min(len(sites), limit)]
	}
	for _, site := range sites {
		list, err := s.sitePartsOf(ctx, site)
		if err == nil {
			found.list, found.listed[site.ID] = append(found.list, list...), true
			continue
		}
		if err := skip(site.ID, siteName(site), err); err != nil {
			return nil, fmt.Errorf("read the libraries of %s: %w", siteName(site), err)
		}
	}
	if err := s.addPersonalDrives(ctx, found, limit, skip); err != nil {
		return nil, err
	}
	if len(found.list) == 0 && firstErr != nil {
		return nil, connectors.NeedsAuth(fmt.Errorf("none of the sites can be read; grant the app access to them (Sites.Read.All, or Sites.Selected and a grant for each site), or correct config.%s: %w", optionSites, opaque(firstErr)))
	}
	// A OneDrive may also be a library of a named site.
	seen := map[string]bool{}
	found.list = slices.DeleteFunc(found.list, func(p part) bool {
		name := p.key()
		if p.kind == partDrive {
			name = p.id
		}
		twice := seen[name]
		seen[name] = true
		return twice
	})
	slices.SortFunc(found.list, func(a, b part) int { return strings.Compare(a.key(), b.key()) })
	slices.Sort(found.unavailable)
	found.unavailable = slices.Compact(found.unavailable)
	return found, nil
}

func siteName(site graphSite) string {
	if path := addressPath(site.WebURL); path != "" {
		return path
	}
	if site.DisplayName != "" {
		return site.DisplayName
	}
	return site.ID
}

// addressPath returns the unescaped path of an address, without slashes around it.
func addressPath(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.Trim(parsed.Path, "/")
}

// namedSites returns the sites that the config names.
func (s *source) namedSites() []siteRef {
	var refs []siteRef
	for _, text := range append([]string{s.settings.String(optionSite)}, s.settings.Strings(optionSites)...) {
		if ref, err := parseSiteRef(text); text != "" && err == nil && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// selectSites returns the sites of the connector. It lists those of the organisation
// only if the config names none.
func (s *source) selectSites(ctx context.Context, skip func(container, name string, err error) error) ([]graphSite, error) {
	refs := s.namedSites()
	var sites []graphSite
	for _, ref := range refs {
		site, err := s.siteOf(ctx, ref)
		if err == nil {
			sites = append(sites, site)
			continue
		}
		known, stateErr := s.rememberedRef(ctx, ref.String())
		if stateErr != nil {
			return nil, stateErr
		}
		if err := skip(known, ref.String(), err); err != nil {
			return nil, fmt.Errorf("read the site %s: %w", ref, err)
		}
	}
	excluded := s.settings.Strings(optionNoSites)
	if len(refs) == 0 && !slices.Contains(excluded, "**") {
		all, err := s.allSites(ctx)
		if err != nil {
			return nil, err
		}
		sites = slices.DeleteFunc(all, func(site graphSite) bool {
			return isPersonal(site) || strings.HasPrefix(strings.ToLower(addressPath(site.WebURL)), contentStorage)
		})
	}
	return slices.DeleteFunc(sites, func(site graphSite) bool {
		return slices.ContainsFunc(excluded, func(pattern string) bool { return matchesSite(pattern, site) })
	}), nil
}

func isPersonal(site graphSite) bool {
	return site.IsPersonalSite || strings.HasPrefix(strings.ToLower(addressPath(site.WebURL)), "personal/")
}

// matchesSite reports whether a pattern names a site by its path or address.
func matchesSite(pattern string, site graphSite) bool {
	if ref, err := parseSiteRef(pattern); err == nil && strings.Contains(pattern, "://") {
		parsed, err := url.Parse(site.WebURL)
		return err == nil && strings.EqualFold(parsed.Host, ref.host) && glob.Match("/"+strings.ToLower(ref.path), strings.ToLower(addressPath(site.WebURL)))
	}
	if pattern == site.ID || pattern == site.DisplayName {
		return true
	}
	return glob.Match(strings.ToLower(pattern), strings.ToLower(addressPath(site.WebURL)))
}

// siteOf returns a named site.
func (s *source) siteOf(ctx context.Context, ref siteRef) (graphSite, error) {
	if ref.name != "" {
		site, err := s.siteNamed(ctx, ref.name)
		if err != nil {
			return graphSite{}, err
		}
		return site, s.rememberRef(ctx, ref.String(), site.ID)
	}
	path := "sites/" + segment(ref.id)
	switch {
	case ref.id != "":
	case ref.path == "":
		path = "sites/" + ref.host
	default:
		path = "sites/" + ref.host + ":/" + escapePath(ref.path)
	}
	var site graphSite
	err := s.graph.get(ctx, path, url.Values{"$select": {siteSelect}}, &site, "id")
	if parts := strings.Split(ref.path, "/"); restapi.StatusOf(err) == http.StatusNotFound && len(parts) > 2 {
		// The address may be that of a library in the site.
		err = s.graph.get(ctx, "sites/"+ref.host+":/"+escapePath(strings.Join(parts[:2], "/")), url.Values{"$select": {siteSelect}}, &site, "id")
	}
	if err != nil {
		return graphSite{}, err
	}
	if site.ID == "" {
		return graphSite{}, errInvalid("a site")
	}
	return site, s.rememberRef(ctx, ref.String(), site.ID)
}

// errNoSite says that no site has a name.
var errNoSite = errors.New("no site has the name")

// siteNamed returns the site with a name or title. Upper and lower case are equal.
func (s *source) siteNamed(ctx context.Context, name string) (graphSite, error) {
	found, err := list[graphSite](ctx, s.graph, "the sites", "sites", url.Values{"search": {name}, "$select": {siteSelect}})
	if err != nil {
		return graphSite{}, needsRight(err, "search for the site "+name, "the application permission Sites.Read.All (or name the site by its address)")
	}
	byID := map[string]graphSite{}
	for _, site := range found {
		if site.ID == "" {
			return graphSite{}, errInvalid("a site")
		}
		if !isPersonal(site) && (strings.EqualFold(site.Name, name) || strings.EqualFold(site.DisplayName, name)) {
			byID[site.ID] = site
		}
	}
	var addresses []string
	for id, site := range byID {
		addresses = append(addresses, cmp.Or(site.WebURL, id))
	}
	slices.Sort(addresses)
	switch len(byID) {
	case 0:
		return graphSite{}, errNoSite
	case 1:
		return byID[slices.Collect(maps.Keys(byID))[0]], nil
	}
	more := ""
	if len(addresses) > maxNamesakes {
		addresses, more = addresses[:maxNamesakes], " and others"
	}
	return graphSite{}, connectors.Fatal(fmt.Errorf("config.%s: %d sites have the name %q; write the address of the one that is meant: %s%s", optionSites, len(byID), name, strings.Join(addresses, ", "), more))
}

// maxNamesakes bounds the addresses that an error lists.
const maxNamesakes = 10

// escapePath escapes the segments of a path.
func escapePath(path string) string {
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = segment(parts[i])
	}
	return strings.Join(parts, "/")
}

// rememberRef stores the container of a name in the config, so that its documents
// are known when the site can no longer be read.
func (s *source) rememberRef(ctx context.Context, name, container string) error {
	key := siteRefKey + hashKey(name)
	if known, err := s.rememberedRef(ctx, name); err != nil || known == container {
		return err
	}
	return s.state.Put(ctx, key, []byte(container))
}

func (s *source) rememberedRef(ctx context.Context, name string) (string, error) {
	data, err := s.state.Get(ctx, siteRefKey+hashKey(name))
	if err != nil {
		return "", fmt.Errorf("read the connector's state: %w", err)
	}
	return string(data), nil
}

// allSites returns the sites of the organisation. An app may list all of them, a
// person only searches.
func (s *source) allSites(ctx context.Context) ([]graphSite, error) {
	const rights = "the application permission Sites.Read.All (or name the sites in config.sites, for which Sites.Selected suffices)"
	search := s.auth.grant != nil
	var sites []graphSite
	var err error
	if !search {
		sites, err = list[graphSite](ctx, s.graph, "the sites", "sites/getAllSites", url.Values{"$select": {siteSelect}, "$top": {"500"}})
		search = isNoQuery(err)
	}
	if search {
		sites, err = list[graphSite](ctx, s.graph, "the sites", "sites", url.Values{"search": {"*"}, "$select": {siteSelect}, "$top": {"500"}})
	}
	if err != nil {
		return nil, needsRight(err, "list the sites of the organisation", rights)
	}
	for _, site := range sites {
		if site.ID == "" {
			return nil, errInvalid("a site")
		}
	}
	return sites, nil
}

// sitePartsOf returns the parts of a site.
func (s *source) sitePartsOf(ctx context.Context, site graphSite) ([]part, error) {
	var found []part
	prefix := siteName(site)
	if site.WebURL != "" {
		prefix = addressPath(site.WebURL)
	}
	drives, err := list[graphDrive](ctx, s.graph, "the libraries", "sites/"+segment(site.ID)+"/drives", url.Values{"$select": {"id,name,webUrl,driveType"}})
	if err != nil {
		return nil, err
	}
	for _, drive := range drives {
		if drive.ID == "" {
			return nil, errInvalid("a library")
		}
		if s.includesLibrary(drive) {
			found = append(found, part{
				kind: partDrive, container: site.ID, siteID: site.ID, id: drive.ID, siteURL: site.WebURL, name: siteName(site) + "/" + drive.Name,
				prefix: joinPath(prefix, connectors.PathSegment(drive.Name)),
			})
		}
	}
	if s.settings.Boolean(optionPages) {
		found = append(found, part{
			kind: partPages, container: pagesContainer(site.ID), siteID: site.ID, siteURL: site.WebURL, name: siteName(site) + "/" + pagesFolder, prefix: joinPath(prefix, pagesFolder),
		})
	}
	if !s.settings.Boolean(optionLists) {
		return found, nil
	}
	lists, err := list[graphList](ctx, s.graph, "the lists", "sites/"+segment(site.ID)+"/lists", url.Values{"$select": {"id,name,displayName,webUrl,list,system"}})
	if err != nil {
		return nil, err
	}
	for _, l := range lists {
		if l.ID == "" {
			return nil, errInvalid("a list")
		}
		if l.List.Hidden || l.System != nil || !isListTemplate(l.List.Template) {
			continue
		}
		name := l.DisplayName
		if name == "" {
			name = l.Name
		}
		found = append(found, part{
			kind: partList, container: listsContainer(site.ID), siteID: site.ID, id: l.ID, siteURL: site.WebURL, name: siteName(site) + "/" + name,
			prefix: joinPath(prefix, listsFolder, connectors.PathSegment(name)),
		})
	}
	return found, nil
}

// isListTemplate reports whether a list of a template holds entries of its own.
// Libraries are drives, and pages are read as pages.
func isListTemplate(template string) bool {
	switch template {
	case "documentLibrary", "webPageLibrary", "pictureLibrary", "mySiteDocumentLibrary", "xmlForm", "webTemplateExtensionsList":
		return false
	}
	return true
}

// pagesContainer returns the container of a site's pages, listsContainer that of its
// lists. The site itself is the container of its libraries.
func pagesContainer(site string) string { return site + "/pages" }

func listsContainer(site string) string { return site + "/lists" }

// joinPath joins the segments of a path that are not empty.
func joinPath(segments ...string) string {
	return strings.Join(slices.DeleteFunc(segments, func(segment string) bool { return segment == "" }), "/")
}

// includesLibrary reports whether the config includes a library, which it names by
// name, id or the last part of its address.
func (s *source) includesLibrary(drive graphDrive) bool {
	named := s.settings.Strings(optionLibraries)
	address := addressPath(drive.WebURL)
	return len(named) == 0 || slices.ContainsFunc(named, func(name string) bool {
		name = strings.Trim(name, "/")
		return name == drive.ID || strings.EqualFold(name, drive.Name) || address != "" && (strings.EqualFold(name, address) || strings.EqualFold(name, address[strings.LastIndexByte(address, '/')+1:]))
	})
}

// A graphUser is a person of the directory.
type graphUser struct {
	ID                string `json:"id"`
	Mail              string `json:"mail"`
	UserPrincipalName string `json:"userPrincipalName"`
}

// addPersonalDrives adds the OneDrives that the config includes.
func (s *source) addPersonalDrives(ctx context.Context, found *parts, limit int, skip func(container, name string, err error) error) error {
	if !s.settings.Boolean(optionPersonal) {
		return nil
	}
	named := s.settings.Strings(optionUsers)
	people := named
	if len(named) == 0 && s.auth.grant != nil {
		drive, err := s.driveAt(ctx, "me/drive")
		if err != nil {
			return skip("", "me", err)
		}
		s.addPersonalDrive(found, drive)
		return nil
	}
	if len(named) == 0 {
		users, err := list[graphUser](ctx, s.graph, "the people", "users", url.Values{"$select": {"id,mail,userPrincipalName"}, "$top": {"999"}})
		if err != nil {
			return needsRight(err, "list the people of the organisation", "the application permission User.Read.All (or name the people in config.users)")
		}
		for _, user := range users {
			if user.ID == "" {
				return errInvalid("a person")
			}
			people = append(people, user.ID)
		}
	}
	if limit > 0 {
		people = people[:min(len(people), batchSize)]
	}
	if len(named) == 0 {
		return s.addDrivesOf(ctx, found, people)
	}
	for _, user := range people {
		drive, err := s.driveAt(ctx, "users/"+segment(user)+"/drive")
		if err == nil {
			s.addPersonalDrive(found, drive)
			if err := s.rememberRef(ctx, "user "+user, drive.ID); err != nil {
				return err
			}
			continue
		}
		known, stateErr := s.rememberedRef(ctx, "user "+user)
		if stateErr != nil {
			return stateErr
		}
		if err := skip(known, "of "+user, err); err != nil {
			return fmt.Errorf("read the OneDrive of %s: %w", user, err)
		}
	}
	return nil
}

// addDrivesOf adds the OneDrives of people, by their ids. Many people have none.
func (s *source) addDrivesOf(ctx context.Context, found *parts, people []string) error {
	locked := 0
	for batch := range slices.Chunk(people, batchSize) {
		var paths []string
		for _, user := range batch {
			paths = append(paths, "users/"+segment(user)+"/drive?$select=id,name,webUrl,driveType")
		}
		err := s.batch(ctx, paths, func(index, status int, header http.Header, body json.RawMessage) error {
			name := "user " + batch[index]
			var drive graphDrive
			switch status {
			case http.StatusOK:
				if !restapi.HasField(body, "id") || json.Unmarshal(body, &drive) != nil || drive.ID == "" {
					return errInvalid("a OneDrive")
				}
				s.addPersonalDrive(found, drive)
				return s.rememberRef(ctx, name, drive.ID)
			case http.StatusNotFound, http.StatusForbidden, http.StatusGone, http.StatusLocked:
				known, err := s.rememberedRef(ctx, name)
				if known != "" {
					locked++
					found.unavailable = append(found.unavailable, known)
				}
				return err
			}
			return batchError("a OneDrive", status, header, body)
		})
		if err != nil {
			return fmt.Errorf("read the OneDrives: %w", err)
		}
	}
	if locked > 0 {
		found.warnings = append(found.warnings, fmt.Sprintf("%d OneDrives that were read before are left out: they are locked, or their people have left. None of their documents is deleted.", locked))
	}
	return nil
}

func (s *source) driveAt(ctx context.Context, path string) (graphDrive, error) {
	var drive graphDrive
	if err := s.graph.get(ctx, path, url.Values{"$select": {"id,name,webUrl,driveType"}}, &drive, "id"); err != nil {
		return drive, err
	}
	if drive.ID == "" {
		return drive, errInvalid("a OneDrive")
	}
	return drive, nil
}

func (s *source) addPersonalDrive(found *parts, drive graphDrive) {
	root := addressPath(drive.WebURL)
	if at := strings.LastIndexByte(root, '/'); at > 0 {
		root = root[:at] // without the library
	}
	if root == "" {
		root = "personal/" + drive.ID
	}
	address := ""
	if parsed, err := url.Parse(drive.WebURL); err == nil && parsed.Host != "" {
		address = parsed.Scheme + "://" + parsed.Host + "/" + escapePath(root)
	}
	found.listed[drive.ID] = true
	found.list = append(found.list, part{
		kind: partDrive, container: drive.ID, id: drive.ID, siteURL: address, name: "OneDrive " + root, personal: true,
		prefix: joinPath(root, connectors.PathSegment(drive.Name)),
	})
}

// utc returns a time of a response in UTC.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

var errChanged = errors.New("the item has changed since it was listed")
