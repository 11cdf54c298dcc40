package googledrive_test

import (
	"context"
	"maps"
	"net"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/googledrive"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

const ada, bob = "ada@example.com", "bob@example.com"

// A place is a server with the My Drive of ada, and a shared drive.
type place struct {
	*driveserver.Server
	root, drive string

	mutex   sync.Mutex
	folders map[string]string // by path
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{Server: driveserver.New(), folders: map[string]string{}}
	t.Cleanup(p.Close)
	p.Admins = []string{ada}
	p.root = p.AddUser(ada)
	p.AddUser(bob)
	p.drive = p.AddDrive("Team", driveserver.Permission{Type: "user", Role: "organizer", Email: ada},
		driveserver.Permission{Type: "user", Email: driveserver.ServiceAccountEmail})
	p.Grant("token-of-ada", ada)
	return p
}

// settings returns settings with the grant of ada.
func (p *place) settings(config map[string]any) connectors.Settings {
	s := connectors.Settings{Config: map[string]any{"apiUrl": p.URL}, Credentials: map[string]string{}, State: &connectortest.State{}}
	maps.Copy(s.Config, config)
	s.Token = fixedToken("token-of-ada")
	return s
}

func fixedToken(token string) func(context.Context, string) (string, map[string]string, error) {
	return func(context.Context, string) (string, map[string]string, error) { return token, nil, nil }
}

// accountSettings returns settings with the key of the service account.
func (p *place) accountSettings(config map[string]any) connectors.Settings {
	s := p.settings(config)
	s.Token, s.Credentials["serviceAccountJson"] = nil, p.ServiceAccount()
	return s
}

func kind() connectors.Kind { return googledrive.Kind(new(net.Dialer).DialContext) }

// publishedKind returns the kind, whose requests must be in Google's published model.
func publishedKind(t testing.TB) connectors.Kind {
	t.Helper()
	return googledrive.Kind(connectortest.PublishedDial(t, new(net.Dialer).DialContext, "testdata/published.json", "^/token$|^/export/"))
}

func open(t testing.TB, s connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, publishedKind(t), s)
}

// Put implements [connectortest.Fixture]: files in folders of the shared drive.
func (p *place) Put(_ testing.TB, at string, content []byte) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	parent := p.folder(path.Dir(at))
	if id := p.Find(parent, path.Base(at)); id != "" {
		p.Change(id, true, func(f *driveserver.File) { f.Content = content })
		return
	}
	p.Add(driveserver.File{Name: path.Base(at), Parent: parent, Content: content, MimeType: "application/octet-stream"})
}

func (p *place) folder(at string) string {
	if at == "." {
		return p.drive
	}
	if p.folders[at] == "" {
		p.folders[at] = p.Add(driveserver.File{Name: path.Base(at), Parent: p.folder(path.Dir(at)), MimeType: driveserver.Folder})
	}
	return p.folders[at]
}

// Delete implements [connectortest.Fixture].
func (p *place) Delete(_ testing.TB, at string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.Remove(p.Find(p.folder(path.Dir(at)), path.Base(at)))
}

// move moves a file or folder.
func (p *place) move(_ testing.TB, from, to string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	parent := p.folder(path.Dir(to))
	id := p.Find(p.folder(path.Dir(from)), path.Base(from))
	p.Change(id, false, func(f *driveserver.File) { f.Name, f.Parent = path.Base(to), parent })
	moved := map[string]string{}
	for at, id := range p.folders {
		if rest, ok := strings.CutPrefix(at+"/", from+"/"); ok {
			at = strings.TrimSuffix(to+"/"+rest, "/")
		}
		moved[at] = id
	}
	p.folders = moved
}

// share shares a file with bob.
func (p *place) share(_ testing.TB, at string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.Change(p.Find(p.folder(path.Dir(at)), path.Base(at)), false, func(f *driveserver.File) {
		f.Permissions = append(f.Permissions, driveserver.Permission{Type: "user", Email: bob})
	})
}

// lock makes the files of the shared drive invisible.
func (p *place) lock(testing.TB, string) func() {
	p.Fail(func(r *http.Request) *driveserver.Fault {
		if r.URL.Path != "/drive/v3/files" || r.URL.Query().Get("driveId") != p.drive {
			return nil
		}
		return &driveserver.Fault{Status: http.StatusNotFound, Body: `{"error":{"code":404,"message":"Shared drive not found","errors":[{"reason":"notFound"}]}}`}
	})
	return func() { p.Fail(nil) }
}

// breakDown makes the server fail.
func (p *place) breakDown(_ testing.TB, how connectortest.Breakage) func() {
	faults := map[connectortest.Breakage]driveserver.Fault{
		connectortest.Unauthorized: {Status: http.StatusUnauthorized, Body: `{"error":{"code":401,"message":"Invalid Credentials","errors":[{"reason":"authError"}]}}`},
		connectortest.RateLimited: {Status: http.StatusForbidden, Header: http.Header{"Retry-After": {"7"}},
			Body: `{"error":{"code":403,"message":"User Rate Limit Exceeded","errors":[{"domain":"usageLimits","reason":"userRateLimitExceeded"}]}}`},
		connectortest.Unavailable: {Status: http.StatusServiceUnavailable, Body: `{"error":{"code":503,"message":"Backend Error"}}`},
		connectortest.Truncated:   {Status: http.StatusOK, Header: http.Header{"Content-Length": {"5000"}, "Content-Type": {"application/json"}}, Body: `{"files":[`},
	}
	p.Fail(func(*http.Request) *driveserver.Fault { f := faults[how]; return &f })
	return func() { p.Fail(nil) }
}

// itemPath returns the path of an item. Ids have none.
func itemPath(top, path string) string {
	if regexp.MustCompile(`^(1[0-9a-f]{32}|no-such-id)$`).MatchString(path) {
		return path
	}
	return top + "/" + path
}

func TestSharedDrivesPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		p := newPlace(t)
		return connectortest.Setup{
			Kind: publishedKind(t), Settings: p.accountSettings(nil), Fixture: p, Break: p.breakDown, FixedTimes: true,
			Move: p.move, ChangeReaders: p.share, ExpireTokens: func(testing.TB) { p.ExpireChanges() }, Lock: p.lock,
			UnusualPaths: []string{"a b.md", "日本/語.md", "a%20b+c&d=e#f?.md", "ÄÖ ü.txt", `x'"y;.md`, `back\slash.md`, "(1).md", "-", "~.md", "a:b.md", "plan.md.md"},
			ItemPath:     func(path string) string { return itemPath("Team", path) },
			FixturePath:  func(path string) string { return strings.TrimPrefix(path, "Team/") },
		}
	})
}

// The files of a folder pass the suite too: they are listed folder by folder.
func TestFoldersPassTheSuite(t *testing.T) {
	t.Parallel()
	connectortest.Run(t, func(t *testing.T) connectortest.Setup {
		p := newPlace(t)
		top := p.folder("Handbook")
		p.Add(driveserver.File{Name: "outside.md", Parent: p.drive})
		p.drive = top // of Put
		s := p.accountSettings(map[string]any{"folders": []any{"https://drive.google.com/drive/folders/" + top + "?usp=sharing"}})
		return connectortest.Setup{
			Kind: publishedKind(t), Settings: s, Fixture: p, Break: p.breakDown, FixedTimes: true,
			Move: p.move, ExpireTokens: func(testing.TB) { p.ExpireChanges() },
			UnusualPaths: []string{"a b.md", "日本/語.md", `x'"y;.md`},
			ItemPath:     func(path string) string { return itemPath("Handbook", path) },
			FixturePath:  func(path string) string { return strings.TrimPrefix(path, "Handbook/") },
		}
	})
}
