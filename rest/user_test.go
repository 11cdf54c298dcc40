package rest_test

import (
	"net/http"
	"testing"

	"github.com/magpie-search/magpie/internal/viewer"
)

// The header of whom a request is for is believed of secret keys only.
func TestASecretKeyNamesWhoAsks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const header = "X-Service-User"
	for given, want := range map[string]string{
		"ada@example.com": "ada@example.com", "Ada@EXAMPLE.com": "ada@example.com", " ada@example.com ": "ada@example.com",
	} {
		h.as = nil
		if got := h.ask(search("X-Service-Key", secretKey, header, given)); got.Code != http.StatusOK || len(h.as) != 1 || h.as[0].EndUser != want || h.as[0].ReaderEmail() != want {
			t.Errorf("%q is %+v: %d %s", given, h.as, got.Code, got.Body)
		}
	}
	h.as = nil
	if got := h.ask(search("X-Service-Key", secretKey)); got.Code != http.StatusOK || h.as[0].ReaderEmail() != "" {
		t.Errorf("nobody is %+v: %d", h.as, got.Code)
	}
	for _, given := range []string{"", "ada", "ada@", "user:ada@example.com x", "ada@example.com, bob@example.com", "Ada <ada@example.com>", "@", "ada@example.com\x00"} {
		want := refusal{400, "invalid_request", "X-Service-User: must be one email address"}
		if got := refusalOf(t, h.ask(search("X-Service-Key", secretKey, header, given))); got != want {
			t.Errorf("%q: %+v", given, got)
		}
	}
	twice := search("X-Service-Key", secretKey, header, "ada@example.com")
	twice.Header.Add(header, "bob@example.com")
	if got := h.ask(twice); got.Code != http.StatusBadRequest {
		t.Errorf("two people: %d", got.Code)
	}
	// A publishable key is on every page: what comes with it is nobody's word.
	for _, given := range []string{"ada@example.com", "nonsense"} {
		h.as = nil
		got := h.ask(search("X-Service-Key", publishableKey, "Origin", "https://docs.example.com", header, given))
		if got.Code != http.StatusOK || len(h.as) != 1 || h.as[0].EndUser != "" || h.as[0].ReaderEmail() != "" {
			t.Errorf("a publishable key names %+v: %d %s", h.as, got.Code, got.Body)
		}
	}
	// Nor does it make anybody of a session.
	h.as = nil
	h.ask(request(http.MethodGet, "/api/v1/collections", "", "Authorization", "Bearer session", header, "eve@example.com"))
	if len(h.as) != 1 || h.as[0].Kind != viewer.KindSession || h.as[0].EndUser != "" {
		t.Errorf("a session is %+v", h.as)
	}
}
