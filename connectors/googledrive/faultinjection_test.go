package googledrive_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/googledrive"
	. "github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// newPlaceWithLists returns a place in which every list has three entries, and a
// function that changes it, so that each feed has three changes.
func newPlaceWithLists(t *testing.T) (p *place, top string, change func()) {
	t.Helper()
	p = newPlace(t)
	const staff, inner, everybody = "staff@example.com", "inner@example.com", "all@example.com"
	p.AddGroup(inner, Member{Email: bob}, Member{Email: "eve@example.com"}, Member{Email: "kim@example.com"})
	p.AddGroup(staff, Member{Email: ada}, Member{Email: inner}, Member{Email: "mia@example.com"})
	p.AddGroup(everybody, Member{Email: "*"}, Member{Email: "guest@example.org"}, Member{Email: "friend@example.org"})
	p.AddUser("eve@example.com")
	admin := Permission{Type: "user", Role: "organizer", Email: ada}
	p.ChangeDrive(p.drive, "Team", admin, Permission{Type: "group", Email: staff}, Permission{Type: "group", Email: everybody})
	p.AddDrive("Second", admin)
	p.AddDrive("Third", admin)
	top = p.Add(File{Name: "Handbook", Parent: p.drive, MimeType: Folder})
	var opened, files, mine []string
	for n := range 3 {
		open := p.Add(File{Name: fmt.Sprint("Open ", n), Parent: top, MimeType: Folder})
		opened = append(opened, open)
		files = append(files, p.Add(File{Name: fmt.Sprint(n, ".txt"), Parent: open, Content: []byte(fmt.Sprint("some text of number ", n))}))
		mine = append(mine, p.Add(File{Name: fmt.Sprint("mine-", n, ".txt"), Owner: ada, Content: []byte(fmt.Sprint("other text of number ", n)),
			Permissions: []Permission{{Type: "user", Email: bob}, {Type: "group", Email: staff}, {Type: "domain", Domain: "example.com"}}}))
		p.Add(File{Name: fmt.Sprint("Folder ", n), Owner: ada, MimeType: Folder})
	}
	closed := p.Add(File{Name: "Closed", Parent: top, MimeType: Folder, Permissions: []Permission{{Type: "user", Email: "eve@example.com"}, {Type: "user", Email: "kim@example.com"}}})
	p.Add(File{Name: "secret.txt", Parent: closed, Content: []byte("a secret that few may read")})
	p.Add(File{Name: "Plan", Parent: top, MimeType: Document, Exports: map[string][]byte{"text/markdown": []byte("# Plan\n\nThe plan is long and good.")}})
	p.Add(File{Name: "Long", Parent: top, MimeType: Document, LargeExports: true, Exports: map[string][]byte{"text/markdown": []byte("# Long\n\nIt goes on and on.")}})
	p.Add(File{Name: "Table", Parent: top, MimeType: Sheet,
		Exports: map[string][]byte{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": []byte("PK\x03\x04 a table that is packed")}})
	external := p.Add(File{Name: "elsewhere.txt", Owner: "friend@example.org", Content: []byte("it belongs to another company"), Permissions: []Permission{{Type: "user", Email: ada}}})
	p.Add(File{Name: "link", Parent: p.drive, MimeType: Shortcut, Target: external})
	return p, top, func() {
		p.Change(files[0], true, func(f *File) { f.Content = []byte("some text that was changed") })
		p.Change(files[1], false, func(f *File) { f.Trashed = true })
		p.Change(opened[2], false, func(f *File) { f.Name = "Renamed" })
		for n := range 3 {
			p.Add(File{Name: fmt.Sprint("new-", n, ".txt"), Parent: opened[2], Content: []byte(fmt.Sprint("new text of number ", n))})
		}
		p.Change(mine[0], false, func(f *File) { f.Permissions = f.Permissions[:1] })
		p.Remove(mine[1])
		p.Add(File{Name: "also mine.txt", Owner: ada, Content: []byte("more text of this person")})
	}
}

func pagedList(r *http.Request) string {
	query := r.URL.Query()
	switch {
	case strings.HasSuffix(r.URL.Path, "/drive/v3/files"):
		if query.Get("q") == "trashed = false" { // of a test of the connection, which reads one page
			return ""
		}
		query.Del("pageToken")
		query.Del("fields")
		query.Del("pageSize")
		return "files " + query.Encode()
	case strings.HasSuffix(r.URL.Path, "/permissions"), strings.HasSuffix(r.URL.Path, "/members"), strings.HasSuffix(r.URL.Path, "/drives"), strings.HasSuffix(r.URL.Path, "/users"):
		return r.URL.Path
	case strings.HasSuffix(r.URL.Path, "/drive/v3/changes"):
		return "changes " + query.Get("driveId")
	}
	return ""
}

func shrinkPages(r *http.Request) {
	query := r.URL.Query()
	for _, name := range []string{"pageSize", "maxResults"} {
		if query.Has(name) {
			query.Set(name, "1")
		}
	}
	r.URL.RawQuery = query.Encode()
}

// undetectable says which faults leave an export as it could be.
func undetectable(e connectortest.Exchange, fault string) string {
	target, err := url.ParseRequestURI(e.URI)
	if err != nil || !strings.Contains(target.Path, "/export") {
		return ""
	}
	switch fault {
	case "a truncated body with a matching length", "an empty body", "an empty body with the original header":
		return "nobody knows the length of an export, and an empty document has none"
	}
	return ""
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	for _, scope := range []string{"everything", "a folder"} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
				p, top, change := newPlaceWithLists(t)
				config := map[string]any{"include_permissions": true, "includeSharedWithMe": true, "users": []any{ada}}
				if scope == "a folder" { // in which the users have no files of their own to list
					config["folders"], config["users"] = []any{top}, []any{"*"}
				}
				s := p.settings(config)
				s.Token = nil
				s.Credentials = map[string]string{"serviceAccountJson": p.ServiceAccount(strings.Fields(Scopes)...), "adminEmail": ada}
				token, state := connectortest.RecordFeed(t, kind(), s)
				change()
				return connectortest.FaultInjection{
					FeedToken: token, FeedState: state,
					Kind: func(dial connectors.Dial) connectors.Kind { return googledrive.Kind(dial) }, Settings: s,
					AbsentNames: []string{"1aaaaaaaa", "Team/never"}, PagedList: pagedList, ShrinkPages: shrinkPages, Undetectable: undetectable,
				}
			})
		})
	}
}
