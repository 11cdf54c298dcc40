package sharepoint_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/sharepoint"
	. "github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// open opens a source as Magpie does.
func open(t *testing.T, s connectors.Settings) connectors.Source {
	t.Helper()
	return connectortest.Open(t, publishedKind(t), s)
}

// A listing is the result of a walk.
type listing struct {
	items      map[string]connectors.Item // by path
	incomplete []string
	warnings   []string
}

func walk(t *testing.T, source connectors.Source) listing {
	t.Helper()
	l := listing{items: map[string]connectors.Item{}}
	cursor := ""
	for {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatalf("walk: %v", err)
		}
		for _, item := range page.Items {
			l.items[item.Path] = item
		}
		l.incomplete, l.warnings = append(l.incomplete, page.Incomplete...), append(l.warnings, page.Warnings...)
		if page.Done {
			return l
		}
		cursor = page.Next
	}
}

func (l listing) paths() []string { return slices.Sorted(maps.Keys(l.items)) }

func expectPaths(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the paths are %q, want %q", got, want)
	}
}

func read(t *testing.T, source connectors.Source, item connectors.Item) string {
	t.Helper()
	body, err := source.Open(t.Context(), item)
	if err != nil {
		t.Fatalf("open %s: %v", item.Path, err)
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read %s: %v", item.Path, err)
	}
	return string(text)
}

func TestPagesAndListsBecomeItems(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.PutPage(o.site, Page{Name: "Home.aspx", Title: "Welcome", Canvas: map[string]any{
		"horizontalSections": []any{map[string]any{"columns": []any{map[string]any{"webparts": []any{
			map[string]any{"@odata.type": "#microsoft.graph.textWebPart", "innerHtml": "<h2>Walrus</h2><p>It sleeps.</p></main><div><script>x()</script></div>"},
			map[string]any{"@odata.type": "#microsoft.graph.standardWebPart", "data": map[string]any{"serverProcessedContent": map[string]any{
				"searchablePlainTexts": []any{map[string]any{"key": "title", "value": "Links & more"}}, "links": []any{map[string]any{"key": "a", "value": "https://acme.example/x"}},
			}}},
		}}}}},
		"verticalSection": map[string]any{"webparts": []any{map[string]any{"innerHtml": "<p>At the side</p>"}}},
	}})
	o.PutPage(o.site, Page{Name: "Draft.aspx", Title: "Draft", Draft: true})
	risks := o.AddList(o.site, "Risks", "genericList")
	o.PutEntry(risks, "", map[string]any{"Title": "Fire", "Risk_x0020_owner": map[string]any{"LookupValue": "Ada"}, "Level": 3, "Tags": []any{"a", "b"}, "_Hidden": "x"})
	o.AddList(o.site, "Pictures", "pictureLibrary")
	source := open(t, o.settings(map[string]any{"includeLists": true}))
	l := walk(t, source)
	expectPaths(t, l.paths(), "sites/eng/Lists/Risks/Fire (1).md", "sites/eng/Site Pages/Home.aspx")
	page := read(t, source, l.items["sites/eng/Site Pages/Home.aspx"])
	for _, want := range []string{"<h1>Welcome</h1>", "<h2>Walrus</h2>", "It sleeps.", "Links &amp; more", "https://acme.example/x", "At the side"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if strings.Count(page, "</main>") != 1 || strings.Contains(page, "script") {
		t.Errorf("the page is not sanitised: %s", page)
	}
	entry := l.items["sites/eng/Lists/Risks/Fire (1).md"]
	if want := "# Fire\n\n**Level**: 3\n\n**Risk owner**: Ada\n\n**Tags**: a, b\n\n"; string(entry.Content) != want || read(t, source, entry) != want {
		t.Errorf("the entry is %q", entry.Content)
	}
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), []string{entry.Path, entry.ID, "sites/eng/Site Pages/Home.aspx", "sites/eng/Site Pages/Draft.aspx"})
	if err != nil || len(found) != 2 || !slices.Equal(missing, []string{"sites/eng/Site Pages/Draft.aspx"}) {
		t.Errorf("resolved %d items, missing %q: %v", len(found), missing, err)
	}
}

func TestContentWithoutAFileIsSkippedWithTheReason(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	for name, facets := range map[string]map[string]any{
		"Notebook":   {"file": nil, "package": map[string]any{"type": "oneNote"}},
		"shared":     {"file": nil, "remoteItem": map[string]any{"id": "x"}},
		"virus.docx": {"malware": map[string]any{"description": "bad"}},
	} {
		o.Server.Put(o.drive, name, []byte("x"))
		o.Change(o.drive, name, facets)
	}
	source := open(t, o.settings(nil))
	for path, want := range map[string]string{"Notebook": "OneNote", "shared": "shortcut", "virus.docx": "malware"} {
		_, err := source.Open(t.Context(), walk(t, source).items[library+path])
		if !connectors.IsSkip(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestOptionsSelect(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	ada := o.AddUser(User{DisplayName: "Ada", UPN: "ada@acme.example", Mail: "ada@acme.example"})
	bo := o.AddUser(User{DisplayName: "Bo", UPN: "bo@acme.example"})
	o.AddUser(User{DisplayName: "Nobody", UPN: "no@acme.example"}) // without a OneDrive
	_, sales := o.AddSite("sites/sales", "Sales")
	_, root := o.AddSite("", "Home")
	o.AddSite("personal/ada_acme_example", "Ada")
	contracts := o.AddLibrary(o.site, "Contracts", "Contracts")
	for drive, name := range map[string]string{o.drive: "eng.md", sales: "sales.md", root: "root.md", contracts: "contract.md", o.AddOneDrive(ada): "ada.md", o.AddOneDrive(bo): "bo.md"} {
		o.Server.Put(drive, name, []byte(name))
	}
	const adas, bos = "personal/ada_acme_example/OneDrive/ada.md", "personal/bo_acme_example/OneDrive/bo.md"
	eng, contract, sold, home := library+"eng.md", "sites/eng/Contracts/contract.md", "sites/sales/Documents/sales.md", "Documents/root.md"
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"one site":                {map[string]any{}, []string{eng, contract}},
		"siteUrl":                 {map[string]any{"sites": nil, "siteUrl": o.URL + "/sites/sales/SitePages/Home.aspx"}, []string{sold}},
		"the root site":           {map[string]any{"sites": []any{o.URL}}, []string{home}},
		"by id":                   {map[string]any{"sites": []any{o.site}}, []string{eng, contract}},
		"by title":                {map[string]any{"sites": []any{"engineering", "sales"}}, []string{eng, contract, sold}},
		"siteUrl by name":         {map[string]any{"sites": nil, "siteUrl": "ENG"}, []string{eng, contract}},
		"all sites":               {map[string]any{"sites": nil}, []string{eng, contract, sold, home}},
		"excluded sites":          {map[string]any{"sites": nil, "excludedSites": []any{"sites/S*", o.URL + "/sites/eng"}}, []string{home}},
		"a library":               {map[string]any{"libraries": []any{"contracts"}}, []string{contract}},
		"a library's address":     {map[string]any{"libraries": []any{"Shared Documents"}}, []string{eng}},
		"a library's id":          {map[string]any{"libraries": []any{contracts}}, []string{contract}},
		"excluded paths":          {map[string]any{"excludedPaths": []any{"**/contract.md"}}, []string{eng}},
		"all OneDrives":           {map[string]any{"sites": nil, "includePersonalSites": true}, []string{eng, contract, sold, home, adas, bos}},
		"a OneDrive":              {map[string]any{"includePersonalSites": true, "users": []any{"bo@acme.example"}}, []string{eng, contract, bos}},
		"OneDrives alone":         {map[string]any{"sites": nil, "excludedSites": []any{"**"}, "includePersonalSites": true, "users": []any{"ada@acme.example"}}, []string{adas}},
		"people without the flag": {map[string]any{"users": []any{"ada@acme.example"}}, []string{eng, contract}},
	} {
		s := o.settings(c.config)
		s.State = nil
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := open(t, s)
			expectPaths(t, walk(t, source).paths(), c.want...)
			if err := source.Check(t.Context()); err != nil {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

// A name must be exactly that of one site.
func TestNamesOfSites(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.AddSite("sites/sales", "Sales")
	o.AddSite("sites/sales-archive", "Sales archive")
	other, _ := o.AddSite("sites/emea", "Emea")
	o.Server.Put(o.drive, "a.md", []byte("a"))
	for name, text := range map[string]string{"a part of the name": "sale", "unknown": "Nowhere"} {
		l := walk(t, open(t, o.settings(map[string]any{"sites": []any{"Engineering", text}})))
		expectPaths(t, l.paths(), library+"a.md")
		if len(l.warnings) != 1 || !strings.Contains(l.warnings[0], text) || !strings.Contains(l.warnings[0], "None of its documents is deleted") {
			t.Errorf("%s: warnings %q", name, l.warnings)
		}
		o.state.Clear()
	}
	if err := open(t, o.settings(map[string]any{"sites": []any{"Nowhere"}})).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "none of the sites") {
		t.Errorf("no site has the name: %v", err)
	}
	// A site that lost its name keeps its documents.
	s := o.settings(map[string]any{"sites": []any{"Engineering", "Emea"}})
	walk(t, open(t, s))
	o.ChangeSite(other, func(site *Site) { site.Name, site.Path = "Europe", "sites/europe" })
	if l := walk(t, open(t, s)); !slices.Contains(l.incomplete, other) {
		t.Errorf("incomplete are %q, want %q", l.incomplete, other)
	}
	o.AddSite("teams/sales", "Sales of the team")
	_, err := open(t, o.settings(map[string]any{"sites": []any{"Sales"}})).Walk(t.Context(), "")
	if !connectors.IsFatal(err) || !strings.Contains(err.Error(), o.URL+"/sites/sales, "+o.URL+"/teams/sales") {
		t.Errorf("two sites have the name: %v", err)
	}
	for _, text := range []string{"sites/eng", "a\nb", strings.Repeat("x", 256)} {
		if err := sharepoint.Kind(dial).Validate(o.settings(map[string]any{"sites": []any{text}}).Config, s.Credentials); err == nil {
			t.Errorf("%q is taken for a site", text)
		}
	}
}

// An app with Sites.Selected reads the named sites and never lists the others.
func TestSelectedSitesSuffice(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t, "Sites.Selected")
	o.ChangeApp(clientID, func(app *App) { app.Sites = []string{o.site} })
	o.Server.Put(o.drive, "a.md", []byte("a"))
	source := open(t, o.settings(nil))
	expectPaths(t, walk(t, source).paths(), library+"a.md")
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	if _, err := source.(connectors.Feeder).Changes(t.Context(), ""); err != nil {
		t.Errorf("Changes: %v", err)
	}
	for _, request := range o.Requests() {
		if strings.Contains(request, "getAllSites") || strings.Contains(request, "/users") || strings.Contains(request, "/sites?") {
			t.Errorf("the organisation was listed: %s", request)
		}
	}
	err := open(t, o.settings(map[string]any{"sites": nil})).Check(t.Context())
	if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "Sites.Read.All") || !strings.Contains(err.Error(), "config.sites") {
		t.Errorf("Check of all sites: %v", err)
	}
}

func TestSitesThatCannotBeReadAreLeftOut(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusGone, http.StatusLocked} {
		for _, named := range []bool{true, false} {
			o := newOrganisation(t)
			sales, drive := o.AddSite("sites/sales", "Sales")
			o.Server.Put(o.drive, "a.md", []byte("a"))
			o.Server.Put(drive, "b.md", []byte("b"))
			config := map[string]any{"sites": []any{o.URL + "/sites/eng", o.URL + "/sites/sales"}}
			if !named {
				config["sites"] = nil
			}
			source := open(t, o.settings(config))
			before := walk(t, source)
			feeder := source.(connectors.Feeder)
			token, err := feeder.Changes(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			o.ChangeSite(sales, func(site *Site) { site.Locked = status })
			l := walk(t, source)
			expectPaths(t, l.paths(), library+"a.md")
			if want := before.items["sites/sales/Documents/b.md"].Container; !slices.Contains(l.incomplete, want) || want == "" {
				t.Errorf("%d: incomplete are %q, want %q", status, l.incomplete, want)
			}
			if !slices.ContainsFunc(l.warnings, func(w string) bool { return strings.Contains(w, "sites/sales") }) {
				t.Errorf("%d: the warnings are %q", status, l.warnings)
			}
			page, err := feeder.Changes(t.Context(), token.Next)
			if err != nil || len(page.Gone) != 0 || len(page.Warnings) == 0 {
				t.Errorf("%d: the feed lists %q as gone, warns %q: %v", status, page.Gone, page.Warnings, err)
			}
			if _, missing, err := source.(connectors.Resolver).Resolve(t.Context(), []string{before.items["sites/sales/Documents/b.md"].ID}); err == nil {
				t.Errorf("%d: %q are missing, without an error", status, missing)
			}
			o.ChangeSite(o.site, func(site *Site) { site.Locked = status })
			if page, err := open(t, o.settings(config)).Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
				t.Errorf("%d: without any site: %+v, %v", status, page, err)
			}
		}
	}
}

func TestWrongCredentialsNeedAuth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		credentials map[string]string
		want        string
	}{
		"secret": {map[string]string{"clientSecret": "wrong"}, "AADSTS7000215"},
		"client": {map[string]string{"clientId": "unknown"}, "AADSTS700016"},
		"tenant": {map[string]string{"tenantId": "unknown"}, "AADSTS90002"},
	} {
		o := newOrganisation(t)
		s := o.settings(nil)
		maps.Copy(s.Credentials, c.credentials)
		err := open(t, s).Check(t.Context())
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Trace ID") {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	source := open(t, o.settings(nil))
	walk(t, source)
	o.RevokeTokens() // they are renewed once
	walk(t, source)
	o.ChangeApp(clientID, func(app *App) { app.Disabled = true })
	if _, err := source.Walk(t.Context(), ""); !connectors.IsNeedsAuth(err) {
		t.Errorf("a disabled app: %v", err)
	}
}

// newCertificate returns a certificate with its key.
func newCertificate(t *testing.T) (certificate *x509.Certificate, certificatePEM, keyPEM string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "magpie"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	if certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// withCertificate makes the app sign in with a certificate.
func (o *organisation) withCertificate(t *testing.T, s connectors.Settings) connectors.Settings {
	t.Helper()
	certificate, text, key := newCertificate(t)
	o.ChangeApp(clientID, func(app *App) { app.Certificate = certificate })
	s.Credentials = map[string]string{"tenantId": Tenant, "clientId": clientID, "certificate": text, "privateKey": key}
	return s
}

func TestACertificateSignsIn(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	s := o.withCertificate(t, o.settings(nil))
	expectPaths(t, walk(t, open(t, s)).paths(), library+"a.md")
	_, other, otherKey := newCertificate(t)
	kind := sharepoint.Kind(dial)
	for field, credentials := range map[string]map[string]string{
		"credentials.privateKey":  {"privateKey": otherKey},
		"credentials.certificate": {"certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
	} {
		wrong := maps.Clone(s.Credentials)
		maps.Copy(wrong, credentials)
		if err := kind.Validate(s.Config, wrong); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	s.Credentials["certificate"], s.Credentials["privateKey"] = other, strings.ReplaceAll(otherKey, "\n", `\n`)
	if err := open(t, s).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "AADSTS700027") {
		t.Errorf("another certificate: %v", err)
	}
}

// A grant lists sites by search, and reads its own OneDrive.
func TestAGrantReadsItsSites(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	o.Server.Put(o.AddOneDrive(o.reader), "mine.md", []byte("mine"))
	o.Grant("the-token-of-a-person", o.reader.ID)
	s := o.settings(map[string]any{"sites": nil, "includePersonalSites": true})
	s.Credentials = nil
	refused := 0
	s.Token = func(_ context.Context, rejected string) (string, map[string]string, error) {
		if rejected != "" {
			refused++
		}
		return "the-token-of-a-person", nil, nil
	}
	expectPaths(t, walk(t, open(t, s)).paths(), library+"a.md", "personal/Reader_Acme_example/OneDrive/mine.md")
	if refused != 0 {
		t.Errorf("the token was refused %d times", refused)
	}
}

// refuse makes the server answer requests whose path contains a text with a status.
func (o *organisation) refuse(part string, status int) {
	o.Fail(func(r *http.Request) *Fault {
		if !strings.Contains(r.URL.Path, part) {
			return nil
		}
		return &Fault{Status: status, Body: `{"error":{"code":"refused","message":"by the test"}}`}
	})
}

// Sites of old templates have no library of pages.
func TestASiteWithoutPagesIsComplete(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		o := newOrganisation(t)
		o.Server.Put(o.drive, "a.md", []byte("a"))
		o.PutPage(o.site, Page{Name: "Home.aspx", Title: "Home", Text: "x"})
		o.refuse("/pages/", status)
		source := open(t, o.settings(nil))
		l := walk(t, source)
		expectPaths(t, l.paths(), library+"a.md")
		if len(l.incomplete)+len(l.warnings) != 0 {
			t.Errorf("%d: incomplete %q, warnings %q", status, l.incomplete, l.warnings)
		}
		if err := source.Check(t.Context()); err != nil {
			t.Errorf("%d: Check: %v", status, err)
		}
		// Pages that were there before are not taken for deleted.
		o.Fail(nil)
		container := walk(t, source).items["sites/eng/Site Pages/Home.aspx"].Container
		token := changesSince(t, source, "").next
		o.refuse("/pages/", status)
		if l := walk(t, source); !slices.Equal(l.incomplete, []string{container}) || len(l.warnings) == 0 {
			t.Errorf("%d: incomplete %q, warnings %q", status, l.incomplete, l.warnings)
		}
		if c := changesSince(t, source, token); len(c.gone) != 0 || len(c.warnings) == 0 {
			t.Errorf("%d: gone are %q, warnings %q", status, c.gone, c.warnings)
		}
	}
}

// An app that sees a file but not its folder reads it below the library.
func TestHiddenFolders(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	folder := o.Server.Put(o.drive, "secret/a.md", []byte("a"))
	o.Hide(o.drive, "secret")
	source := open(t, o.settings(nil))
	l := walk(t, source)
	expectPaths(t, l.paths(), library+"a.md")
	if l.items[library+"a.md"].ID != "d:"+o.drive+"/"+folder {
		t.Errorf("the item is %+v", l.items[library+"a.md"])
	}
	found, _, err := source.(connectors.Resolver).Resolve(t.Context(), []string{l.items[library+"a.md"].ID})
	if err != nil || len(found) != 1 || found[0].Path != library+"a.md" {
		t.Errorf("Resolve: %+v, %v", found, err)
	}
}

func TestAnAddressOfALibraryNamesItsSite(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	for _, address := range []string{"/sites/eng/Freigegebene%20Dokumente", "/sites/eng/Shared%20Documents/Forms/AllItems.aspx", "/sites/eng/_layouts/15/viewlsts.aspx", "/sites/ENG/"} {
		expectPaths(t, walk(t, open(t, o.settings(map[string]any{"sites": nil, "siteUrl": o.URL + address}))).paths(), library+"a.md")
	}
}

// A refusal of one item leaves the others, and the sync, alone.
func TestARefusedFileFailsAlone(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t)
	o.Server.Put(o.drive, "a.md", []byte("a"))
	o.NoDownloadURL = true
	source := open(t, o.settings(nil))
	item := walk(t, source).items[library+"a.md"]
	for _, status := range []int{http.StatusForbidden, http.StatusLocked, http.StatusBadRequest, http.StatusNotAcceptable} {
		o.refuse("/content", status)
		_, err := source.Open(t.Context(), item)
		_, retryable := connectors.RetryAfterOf(err)
		if err == nil || connectors.IsNeedsAuth(err) || connectors.IsFatal(err) || connectors.IsSkip(err) || retryable != (status == http.StatusLocked) {
			t.Errorf("%d: %v", status, err)
		}
	}
	// So does the host of the contents.
	o.Fail(nil)
	o.NoDownloadURL = false
	for status, again := range map[int]bool{http.StatusForbidden: false, http.StatusUnauthorized: true, http.StatusNotFound: true, http.StatusServiceUnavailable: true} {
		o.FailContents(status)
		_, err := source.Open(t.Context(), item)
		_, retryable := connectors.RetryAfterOf(err)
		if err == nil || connectors.IsNeedsAuth(err) || connectors.IsFatal(err) || errors.Is(err, connectors.ErrNotFound) || retryable != again {
			t.Errorf("contents, %d: %v", status, err)
		}
	}
	o.FailContents(0)
	// Some apps may read a content and not the item.
	o.Fail(func(r *http.Request) *Fault {
		if strings.Contains(r.URL.Path, "/items/") && !strings.HasSuffix(r.URL.Path, "/content") {
			return &Fault{Status: http.StatusNotFound, Body: `{"error":{"code":"itemNotFound","message":"by the test"}}`}
		}
		return nil
	})
	if text := read(t, source, item); text != "a" {
		t.Errorf("the content is %q", text)
	}
}

func TestTheSampleCanBeConnected(t *testing.T) {
	t.Parallel()
	server := NewSample()
	t.Cleanup(server.Close)
	source := open(t, connectors.Settings{
		Config:      map[string]any{"graphUrl": server.URL, "authUrl": server.URL, "includeLists": true, "includePersonalSites": true, "include_permissions": true},
		Credentials: map[string]string{"tenantId": Tenant, "clientId": SampleClientID, "clientSecret": SampleSecret},
	})
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
	l := walk(t, source)
	if len(l.items) != 9 || len(l.warnings) != 0 {
		t.Errorf("the sample has %q, warnings %q", l.paths(), l.warnings)
	}
	for _, item := range l.items {
		if read(t, source, item) == "" {
			t.Errorf("%s is empty", item.Path)
		}
	}
}
