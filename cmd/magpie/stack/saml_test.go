package stack_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
)

const formKind = "application/x-www-form-urlencoded"

// post sends a form as the page of a provider does, without following redirects.
func (s *service) post(path string, form io.Reader, headers ...string) (status int, location, text string) {
	s.t.Helper()
	client := *s.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+path, form)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", formKind)
	request.Header.Set("Origin", "https://id.example.com")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, response.Header.Get("Location"), string(raw)
}

func TestAPersonSignsInBySAMLOverHTTP(t *testing.T) {
	t.Parallel()
	const base = "http://magpie.example.com"
	idp := samlserver.Start(t)
	s := start(t, map[string]string{"BASE_URL": base, "SAML_METADATA_URL": idp.MetadataURL, "SAML_NAME": "Company account"})
	s.token = ""
	methods := s.call(http.MethodGet, "/api/v1/auth/methods", nil)
	if offered, _ := methods.data["saml"].(map[string]any); offered["name"] != "Company account" || methods.data["oidc"] != nil {
		t.Errorf("the ways to sign in are %s", methods.body)
	}
	response := s.request(http.MethodGet, signon.SAMLMetadataPath, "", nil)
	described, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "application/samlmetadata+xml") ||
		!strings.Contains(string(described), base+signon.SAMLACSPath) {
		t.Errorf("%d %v %s", response.StatusCode, err, described)
	}

	begin := func() (binding string, form url.Values) {
		t.Helper()
		begun := s.call(http.MethodPost, "/api/v1/auth/saml/start", map[string]any{"redirect_url": base + "/saml"})
		address, _ := begun.data["authorization_url"].(string)
		binding, _ = begun.data["binding"].(string)
		if address == "" || binding == "" {
			t.Fatalf("%d %s", begun.status, begun.body)
		}
		signed, state := idp.Respond(t, address, samlserver.Person{NameID: "owner-1", Email: email, Name: "Owner"})
		return binding, url.Values{"SAMLResponse": {signed}, "RelayState": {state}}
	}
	binding, form := begin()
	status, location, text := s.post(signon.SAMLACSPath, strings.NewReader(form.Encode()))
	back, err := url.Parse(location)
	if err != nil || status != http.StatusSeeOther || back.Path != "/saml" || back.RawQuery != "" {
		t.Fatalf("%d %s %s", status, location, text)
	}
	fragment, err := url.ParseQuery(back.Fragment)
	if err != nil || len(fragment) != 1 {
		t.Fatalf("the fragment is %s: %v", back.Fragment, err)
	}
	finish := func(binding string) answered {
		return s.call(http.MethodPost, "/api/v1/auth/saml/finish", map[string]any{"code": fragment.Get("code"), "binding": binding})
	}
	opened := finish(binding)
	if opened.status != http.StatusOK || opened.data["access_token"] == "" {
		t.Fatalf("%d %s", opened.status, opened.body)
	}
	if again := finish(binding); again.status != http.StatusBadRequest {
		t.Errorf("a second time: %d %s", again.status, again.body)
	}
	s.token, _ = opened.data["access_token"].(string)
	if me := s.call(http.MethodGet, "/api/v1/auth/me", nil); me.status != http.StatusOK || !strings.Contains(me.body, email) {
		t.Errorf("signed in as %d %s", me.status, me.body)
	}
	s.token = ""

	if status, _, text := s.post(signon.SAMLACSPath, strings.NewReader(form.Encode())); status != http.StatusBadRequest || !strings.Contains(text, "RelayState") {
		t.Errorf("the same form again: %d %s", status, text)
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(bytes.Repeat([]byte("SAMLResponse=A"), 1<<20))
	_ = writer.Close()
	_, form = begin()
	twice := url.Values{"SAMLResponse": {form.Get("SAMLResponse"), form.Get("SAMLResponse")}, "RelayState": form["RelayState"]}
	for what, c := range map[string]struct {
		body    io.Reader
		headers []string
		status  int
	}{
		"a packed form":      {&packed, []string{"Content-Encoding", "gzip"}, http.StatusUnsupportedMediaType},
		"JSON":               {strings.NewReader("{}"), []string{"Content-Type", "application/json"}, http.StatusUnsupportedMediaType},
		"a huge form":        {strings.NewReader("SAMLResponse=" + strings.Repeat("A", 4<<20)), nil, http.StatusRequestEntityTooLarge},
		"an empty form":      {strings.NewReader(""), nil, http.StatusBadRequest},
		"no state":           {strings.NewReader("SAMLResponse=AAAA"), nil, http.StatusBadRequest},
		"two responses":      {strings.NewReader(twice.Encode()), nil, http.StatusBadRequest},
		"a malformed escape": {strings.NewReader("SAMLResponse=%zz&RelayState=x"), nil, http.StatusBadRequest},
	} {
		if status, location, text := s.post(signon.SAMLACSPath, c.body, c.headers...); status != c.status || location != "" {
			t.Errorf("%s: %d %s %s", what, status, location, text)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		if response := s.request(method, signon.SAMLACSPath, "", nil); response.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, response.StatusCode)
		}
	}
	if response := s.request(http.MethodPost, signon.SAMLMetadataPath, "", nil); response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a POST to the metadata: %d", response.StatusCode)
	}
}

func TestWithoutSettingsThereIsNoSAML(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.token = ""
	if methods := s.call(http.MethodGet, "/api/v1/auth/methods", nil); methods.data["saml"] != nil {
		t.Errorf("the ways to sign in are %s", methods.body)
	}
	if begun := s.call(http.MethodPost, "/api/v1/auth/saml/start", map[string]any{}); begun.status != http.StatusBadRequest {
		t.Errorf("%d %s", begun.status, begun.body)
	}
	if status, _, text := s.post(signon.SAMLACSPath, strings.NewReader("SAMLResponse=AAAA&RelayState=x")); status != http.StatusBadRequest || !strings.Contains(text, "SAML_METADATA_URL") {
		t.Errorf("%d %s", status, text)
	}
}
