package googledrive_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	. "github.com/magpie-search/magpie/internal/testkit/driveserver"
)

const maxTestPages = 100

// walk returns the items of a walk by path, and the pages without their items.
func walk(t testing.TB, source connectors.Source) (map[string]connectors.Item, connectors.Page) {
	t.Helper()
	items := map[string]connectors.Item{}
	var all connectors.Page
	cursor := ""
	for range maxTestPages {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			items[item.Path] = item
		}
		all.Warnings, all.Incomplete = append(all.Warnings, page.Warnings...), append(all.Incomplete, page.Incomplete...)
		if page.Done {
			return items, all
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, all
}

func paths(items map[string]connectors.Item) []string { return slices.Sorted(maps.Keys(items)) }

func expectPaths(t *testing.T, what string, got map[string]connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(paths(got), want) {
		t.Errorf("%s: %q, not %q", what, paths(got), want)
	}
}

func read(t testing.TB, source connectors.Source, item connectors.Item) (string, error) {
	t.Helper()
	reader, err := source.Open(t.Context(), item)
	if err != nil {
		return "", err
	}
	defer func() { _ = reader.Close() }()
	content, err := io.ReadAll(reader)
	return string(content), err
}

func TestAWalkFindsThePlacesOfTheConfig(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	year := p.Add(File{Name: "2024", Owner: ada, MimeType: Folder})
	p.Add(File{Name: "plan/draft.md", Owner: ada, Parent: year, Content: []byte("plan")})
	p.Add(File{Name: "binned.md", Owner: ada, Trashed: true})
	theirs := p.Add(File{Name: "Theirs", Owner: bob, MimeType: Folder, Permissions: []Permission{{Type: "user", Email: ada}}})
	p.Add(File{Name: "shared.md", Owner: bob, Parent: theirs})
	p.Add(File{Name: "guest.md", Owner: bob, Parent: year, Permissions: []Permission{{Type: "user", Email: ada}}})
	handbook := p.Add(File{Name: "Handbook", Parent: p.drive, MimeType: Folder})
	p.Add(File{Name: "a.md", Parent: handbook})
	other := p.AddDrive("Other", Permission{Type: "user", Email: ada})
	p.Add(File{Name: "b.md", Parent: other})
	p.AddDrive("Foreign", Permission{Type: "user", Email: bob})

	mine, shared := []string{"My Drive/2024/plan∕draft.md", "My Drive/2024/guest.md"}, []string{"Shared with me/Theirs/shared.md"}
	team, second := []string{"Team/Handbook/a.md"}, []string{"Other/b.md"}
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"everything":      {nil, slices.Concat(mine, team, second)},
		"shared with me":  {map[string]any{"includeSharedWithMe": true}, slices.Concat(mine, shared, team, second)},
		"only shared":     {map[string]any{"includeMyDrive": false, "includeSharedDrives": false, "includeSharedWithMe": true}, shared},
		"one drive":       {map[string]any{"includeMyDrive": false, "sharedDrives": []any{"https://drive.google.com/drive/folders/" + other}}, second},
		"a folder":        {map[string]any{"folders": []any{handbook, year}}, []string{"Handbook/a.md", "2024/plan∕draft.md", "2024/guest.md"}},
		"nested folders":  {map[string]any{"folders": []any{p.drive, handbook}}, team},
		"folder by other": {map[string]any{"folders": []any{"https://drive.google.com/open?id=" + year}, "sharedDrives": []any{other}}, slices.Concat(second, []string{"2024/plan∕draft.md", "2024/guest.md"})},
	} {
		items, page := walk(t, open(t, p.settings(c.config)))
		expectPaths(t, name, items, c.want...)
		if len(page.Warnings)+len(page.Incomplete) > 0 {
			t.Errorf("%s: %+v", name, page)
		}
	}
}

func TestGoogleFilesAreExported(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const workbook = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	p.Add(File{Name: "Plan", Owner: ada, MimeType: Document, Exports: map[string][]byte{"text/markdown": []byte("# Plan"), "application/pdf": []byte("%PDF-1.7 plan")}})
	p.Add(File{Name: "Long", Owner: ada, MimeType: Document, LargeExports: true, Exports: map[string][]byte{"text/markdown": []byte("# Long"), "application/pdf": []byte("%PDF long")}})
	p.Add(File{Name: "Budget", Owner: ada, MimeType: Sheet, Exports: map[string][]byte{workbook: []byte("PK\x03\x04")}})
	p.Add(File{Name: "Survey", Owner: ada, MimeType: Form})
	p.Add(File{Name: "locked.md", Owner: ada, Locked: true, Content: []byte("x")})
	p.Add(File{Name: "bad.exe", Owner: ada, Abusive: true, Content: []byte("x")})
	p.Add(File{Name: "Odd", Owner: ada, MimeType: Document})
	source := open(t, p.settings(nil))
	items, _ := walk(t, source)
	_, err := read(t, source, items["My Drive/Odd.md"])
	if _, retryable := connectors.RetryAfterOf(err); err == nil || retryable || connectors.IsFatal(err) || connectors.IsSkip(err) {
		t.Errorf("a file that is not exported: %v", err)
	}
	for path, want := range map[string]string{"My Drive/Plan.md": "# Plan", "My Drive/Long.md": "# Long", "My Drive/Budget.xlsx": "PK\x03\x04"} {
		if got, err := read(t, source, items[path]); got != want || err != nil {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, reason := range map[string]string{
		"My Drive/Survey": "a Google form cannot be exported", "My Drive/locked.md": "downloads are disabled by the owner", "My Drive/bad.exe": "malware",
	} {
		if _, err := read(t, source, items[path]); !connectors.IsSkip(err) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", path, err)
		}
	}
	pdf := open(t, p.settings(map[string]any{"exportFormat": "pdf"}))
	items, _ = walk(t, pdf)
	if got, err := read(t, pdf, items["My Drive/Plan.pdf"]); got != "%PDF-1.7 plan" || err != nil {
		t.Errorf("as PDF: %q, %v", got, err)
	}
	// An edit between the walk and the export is noticed.
	plan := items["My Drive/Plan.pdf"]
	p.Change(plan.ID, true, func(f *File) {})
	_, err = read(t, pdf, plan)
	if _, retryable := connectors.RetryAfterOf(err); !retryable {
		t.Errorf("another version: %v", err)
	}
}

func TestShortcutsStandForTheirTargetOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	inside := p.Add(File{Name: "inside.md", Parent: p.drive})
	outside := p.Add(File{Name: "outside.md", Owner: bob, Permissions: []Permission{{Type: "user", Email: ada}}, Content: []byte("outside")})
	secret := p.Add(File{Name: "secret.md", Owner: bob})
	p.Add(File{Name: "to inside", Owner: ada, MimeType: Shortcut, Target: inside})
	first := p.Add(File{Name: "to outside", Owner: ada, MimeType: Shortcut, Target: outside})
	p.Add(File{Name: "again", Owner: ada, MimeType: Shortcut, Target: outside})
	p.Add(File{Name: "to secret", Owner: ada, MimeType: Shortcut, Target: secret})
	p.Add(File{Name: "to folder", Owner: ada, MimeType: Shortcut, Target: p.Add(File{Name: "F", Owner: bob, MimeType: Folder, Permissions: []Permission{{Type: "user", Email: ada}}})})
	s := p.settings(nil)
	source := open(t, s)
	items, _ := walk(t, source)
	expectPaths(t, "shortcuts", items, "Team/inside.md", "My Drive/to outside")
	if item := items["My Drive/to outside"]; item.ID != outside || item.Title != "to outside" {
		t.Errorf("the target is %+v", item)
	}
	if content, err := read(t, source, items["My Drive/to outside"]); content != "outside" || err != nil {
		t.Errorf("the target has %q, %v", content, err)
	}
	// Without the first, the second stands for it.
	p.Remove(first)
	items, _ = walk(t, source)
	expectPaths(t, "the second shortcut", items, "Team/inside.md", "My Drive/again")
}

func TestADelegatedAccountReadsUsersAndDrives(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Add(File{Name: "of-ada.md", Owner: ada})
	ofBob := p.Add(File{Name: "of-bob.md", Owner: bob, Permissions: []Permission{{Type: "user", Email: ada}}, Content: []byte("bob's")})
	hers := p.AddDrive("Bob only", Permission{Type: "group", Email: "x@example.com"}, Permission{Type: "user", Email: "bob@other.org"}, Permission{Type: "user", Role: "organizer", Email: bob})
	p.Add(File{Name: "c.md", Parent: hers})
	s := p.settings(map[string]any{"users": []any{ada, bob}, "includeSharedWithMe": true})
	s.Token, s.Credentials = nil, map[string]string{"serviceAccountJson": p.ServiceAccount("https://www.googleapis.com/auth/drive.readonly"), "adminEmail": ada}
	source := open(t, s)
	items, page := walk(t, source)
	expectPaths(t, "delegation", items, "ada@example.com/of-ada.md", "bob@example.com/of-bob.md", "Bob only/c.md")
	if content, err := read(t, source, items["bob@example.com/of-bob.md"]); content != "bob's" || err != nil || items["bob@example.com/of-bob.md"].ID != ofBob {
		t.Errorf("bob's file: %q, %v", content, err)
	}
	if len(page.Warnings) > 0 {
		t.Errorf("warnings: %q", page.Warnings)
	}
	// A missing scope and an unknown person are named.
	s.Config["users"] = []any{"*"}
	if err := open(t, s).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "admin.directory.user.readonly") {
		t.Errorf("without the scope for users: %v", err)
	}
	s.Config["users"] = []any{"nobody@example.com"}
	if err := open(t, s).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "nobody@example.com") {
		t.Errorf("for an unknown person: %v", err)
	}
}

// Somebody whom Google does not know or has suspended is left out, and the others
// still sync.
func TestUnknownPeopleAreLeftOut(t *testing.T) {
	t.Parallel()
	const kim, typo = "kim@example.com", "nobody@example.com"
	p := newPlace(t)
	p.AddUser(kim)
	p.Add(File{Name: "of-ada.md", Owner: ada})
	ofKim := p.Add(File{Name: "of-kim.md", Owner: kim})
	p.Add(File{Name: "c.md", Parent: p.drive})
	s := p.settings(map[string]any{"users": []any{ada, kim, typo}})
	s.Token, s.Credentials = nil, map[string]string{"serviceAccountJson": p.ServiceAccount("https://www.googleapis.com/auth/drive.readonly"), "adminEmail": ada}
	source := open(t, s)
	f := follow(t, source)
	items, page := walk(t, source)
	expectPaths(t, "one is unknown", items, "ada@example.com/of-ada.md", "kim@example.com/of-kim.md", "Team/c.md")
	if !slices.Equal(page.Incomplete, []string{"user:" + typo}) || len(page.Warnings) > 1 {
		t.Errorf("one is unknown: incomplete %q, warnings %q", page.Incomplete, page.Warnings)
	}
	if err := open(t, s).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), typo) {
		t.Errorf("the connection test names the unknown person: %v", err)
	}

	p.Suspend(kim, true)
	p.Add(File{Name: "new.md", Owner: ada})
	p.Change(ofKim, true, func(f *File) { f.Name = "renamed.md" })
	f.source = open(t, s)
	change := f.read()
	if change.Expired || len(change.Gone) > 0 || len(f.items) != 4 || !slices.ContainsFunc(change.Warnings, func(w string) bool { return strings.Contains(w, kim) }) {
		t.Errorf("the feed after a suspension: %+v", change)
	}
	found, missing, err := f.source.(connectors.Resolver).Resolve(t.Context(), []string{ofKim, "kim@example.com/of-kim.md", "Team/c.md"})
	if err != nil || len(missing) > 0 || len(found) != 1 {
		t.Errorf("a suspended person's file is found %v, missing %q: %v", found, missing, err)
	}
	p.Suspend(kim, false)
	f.source = open(t, s)
	if f.read(); f.items[ofKim].Path != "kim@example.com/renamed.md" {
		t.Errorf("after the suspension, the feed has %+v", f.items[ofKim])
	}
	p.Suspend(kim, true)
	items, page = walk(t, open(t, s))
	expectPaths(t, "one is suspended", items, "ada@example.com/of-ada.md", "ada@example.com/new.md", "Team/c.md")
	if !slices.Equal(page.Incomplete, []string{"user:" + kim, "user:" + typo}) || len(page.Warnings) != 2 {
		t.Errorf("one is suspended: incomplete %q, warnings %q", page.Incomplete, page.Warnings)
	}
	suspended := follow(t, open(t, s)) // begins without her

	p.Suspend(kim, false)
	suspended.source = open(t, s)
	if change := suspended.read(); !change.Expired {
		t.Errorf("a person who is back needs a walk: %+v", change)
	}

	s.Config["users"] = []any{typo, "another@example.com"}
	if _, err := open(t, s).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "@example.com") {
		t.Errorf("all are unknown: %v", err)
	}
}

func TestHiddenDrivesKeepTheirDocuments(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Add(File{Name: "a.md", Parent: p.drive})
	hidden := p.AddDrive("Hidden", Permission{Type: "user", Email: bob})
	items, page := walk(t, open(t, p.settings(map[string]any{"includeMyDrive": false, "sharedDrives": []any{p.drive, hidden}})))
	expectPaths(t, "one is hidden", items, "Team/a.md")
	if !slices.Equal(page.Incomplete, []string{"drive:" + hidden}) || len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], hidden) {
		t.Errorf("the page is %+v", page)
	}
	if _, err := open(t, p.settings(map[string]any{"includeMyDrive": false, "sharedDrives": []any{hidden}})).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("all are hidden: %v", err)
	}
	// A search that is cut short is incomplete too.
	lost := p.Add(File{Name: "lost.md", Parent: p.drive})
	p.Hide(lost, true)
	items, page = walk(t, open(t, p.settings(map[string]any{"includeMyDrive": false})))
	expectPaths(t, "a search cut short", items, "Team/a.md")
	if !slices.Equal(page.Incomplete, []string{"drive:" + p.drive}) || len(page.Warnings) != 1 {
		t.Errorf("the page is %+v", page)
	}
}

// The flat list of a drive has the same files as its folders.
func TestAFlatListEqualsTheFolders(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for n := range 60 {
		p.Put(t, fmt.Sprintf("%d/%d/%d.md", n%7, n%3, n), []byte("x"))
	}
	flat, _ := walk(t, open(t, p.settings(map[string]any{"includeMyDrive": false})))
	p.MaxPage = 2
	paged, _ := walk(t, open(t, p.settings(map[string]any{"includeMyDrive": false})))
	p.MaxPage = 0
	var folders []any
	for n := range 7 {
		folders = append(folders, p.folder(fmt.Sprint(n)))
	}
	by, _ := walk(t, open(t, p.settings(map[string]any{"folders": folders})))
	inDrive := map[string]connectors.Item{}
	for path, item := range by {
		inDrive["Team/"+path] = item
	}
	if len(flat) != 60 || !slices.Equal(paths(flat), paths(inDrive)) || !slices.Equal(paths(flat), paths(paged)) {
		t.Errorf("the list has %d files, in pages %d, the folders %d", len(flat), len(paged), len(by))
	}
}

func TestAnExpiredPageTokenBeginsTheDriveAgain(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.MaxPage = 2
	for n := range 40 {
		p.Put(t, fmt.Sprintf("%d.md", n), []byte("x"))
	}
	source := open(t, p.settings(map[string]any{"includeMyDrive": false}))
	first, err := source.Walk(t.Context(), "")
	if err != nil || first.Done {
		t.Fatalf("the first page: %+v, %v", first.Done, err)
	}
	p.ExpirePages()
	seen := map[string]bool{}
	for cursor := first.Next; ; {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			seen[item.ID] = true
		}
		if page.Done {
			break
		}
		cursor = page.Next
	}
	if len(seen) != 40 {
		t.Errorf("%d files after the token expired", len(seen))
	}
}

func TestRightsAreShownByTier(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Grant("files-only", ada, "https://www.googleapis.com/auth/drive.readonly")
	s := p.settings(map[string]any{"include_permissions": true, "webhook_subscription": true})
	s.Token = fixedToken("files-only")
	checker, _ := open(t, s).(connectors.TierChecker)
	tiers, err := checker.CheckTiers(t.Context())
	if err != nil || len(tiers) != 3 {
		t.Fatalf("the tiers are %+v, %v", tiers, err)
	}
	for i, name := range []connectors.TierName{connectors.TierRead, connectors.TierPermissions, connectors.TierWebhooks} {
		if missing := tiers[i].Err != nil; tiers[i].Name != name || missing != (name == connectors.TierPermissions) {
			t.Errorf("the tier %s is %+v", name, tiers[i])
		}
	}
	if text := fmt.Sprint(tiers[1].Err); !strings.Contains(text, "admin.directory.group.member.readonly") {
		t.Errorf("the tier of permissions says %s", text)
	}
}

func TestNothingToReadIsSaid(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	nothing := p.settings(map[string]any{"includeMyDrive": false, "includeSharedDrives": false})
	if err := kind().ValidateSettings(nothing); err == nil || !strings.Contains(err.Error(), "nothing is selected") {
		t.Errorf("nothing is selected: %v", err)
	}
	p.ChangeDrive(p.drive, "Team", Permission{Type: "user", Email: bob})
	if _, err := open(t, p.settings(map[string]any{"includeMyDrive": false})).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "sees no shared drive") {
		t.Errorf("no drive is visible: %v", err)
	}
	items, page := walk(t, open(t, p.accountSettings(nil)))
	if len(items) > 0 || len(page.Warnings) != 1 || !strings.Contains(page.Warnings[0], "sees no file") {
		t.Errorf("a service account that sees nothing: %q", page.Warnings)
	}
	elsewhere := p.settings(map[string]any{"apiUrl": p.URL + "/elsewhere", "includeMyDrive": false})
	if err := open(t, elsewhere).Check(t.Context()); !connectors.IsFatal(err) || !strings.Contains(err.Error(), "no Drive API") {
		t.Errorf("another address: %v", err)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Grant("narrow", ada, "https://www.googleapis.com/auth/userinfo.email")
	p.Grant("files-only", ada, "https://www.googleapis.com/auth/drive.readonly")
	withToken := func(token string, config map[string]any) connectors.Settings {
		s := p.settings(config)
		s.Token = fixedToken(token)
		return s
	}
	for name, c := range map[string]struct {
		settings connectors.Settings
		want     string
	}{
		"a narrow grant":      {withToken("narrow", nil), "auth/drive.readonly"},
		"a revoked grant":     {withToken("revoked", nil), "does not accept the credentials"},
		"no right to groups":  {withToken("files-only", map[string]any{"include_permissions": true}), "admin.directory.group.member.readonly"},
		"an invisible folder": {withToken("files-only", map[string]any{"folders": []any{"1unknown"}}), "does not see it"},
		"another key":         {connectors.Settings{Config: map[string]any{"apiUrl": p.URL, "authUrl": p.URL}, Credentials: map[string]string{"serviceAccountJson": strings.Replace(p.ServiceAccount(), "reader@", "writer@", 1)}}, "serviceAccountJson"},
	} {
		if err := open(t, c.settings).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.Fail(func(r *http.Request) *Fault {
		return &Fault{Status: 403, Body: `{"error":{"code":403,"message":"Google Drive API has not been used in project 1 before or it is disabled.","errors":[{"domain":"usageLimits","reason":"accessNotConfigured"}]}}`}
	})
	if err := open(t, p.settings(nil)).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "enable the Google Drive API") {
		t.Errorf("the API is off: %v", err)
	}
}

func TestTheSampleIsRead(t *testing.T) {
	t.Parallel()
	server, account := NewSample()
	t.Cleanup(server.Close)
	source := open(t, connectors.Settings{
		Config:      map[string]any{"apiUrl": server.URL, "include_permissions": true},
		Credentials: map[string]string{"serviceAccountJson": account, "adminEmail": SampleAdmin},
	})
	if err := source.Check(t.Context()); err != nil {
		t.Error(err)
	}
	items, page := walk(t, source)
	expectPaths(t, "the sample", items, "Team/Handbook/On call.md", "Team/Handbook/rota.csv", "Team/Handbook/Survey", "Team/Salaries/Raises.md",
		"ada@example.com/Ideas.md", "ada@example.com/Notes of Bob.md", "ada@example.com/contract.txt")
	if len(page.Warnings) > 0 {
		t.Errorf("warnings: %q", page.Warnings)
	}
	if got := readersOf(t, source, items["Team/Salaries/Raises.md"]).Principals; !slices.Equal(got, []string{"user:" + SampleAdmin}) {
		t.Errorf("the limited folder has the readers %q", got)
	}
	if text, err := read(t, source, items["ada@example.com/Notes of Bob.md"]); err != nil || !strings.Contains(text, "tides") {
		t.Errorf("the shortcut: %q, %v", text, err)
	}
}
