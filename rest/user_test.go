package rest_test

import (
	"net/http"
	"testing"

	"github.com/magpie-search/magpie/internal/viewer"
)

// X-Service-User is ignored unless the key is secret.
func TestASecretKeyNamesTheEndUser(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const header = "X-Service-User"
	for given, want := range map[string]string{
		"ada@example.com": "ada@example.com", "Ada@EXAMPLE.com": "ada@example.com", " ada@example.com ": "ada@example.com",
	} {
		h.viewers = nil
		if got := h.send(search("X-Service-Key", secretKey, header, given)); got.Code != http.StatusOK || len(h.viewers) != 1 || h.viewers[0].EndUser != want || h.viewers[0].ReaderEmail() != want {
			t.Errorf("%q is %+v: %d %s", given, h.viewers, got.Code, got.Body)
		}
	}
	h.viewers = nil
	if got := h.send(search("X-Service-Key", secretKey)); got.Code != http.StatusOK || h.viewers[0].ReaderEmail() != "" {
		t.Errorf("without the header: %+v: %d", h.viewers, got.Code)
	}
	for _, given := range []string{"", "ada", "ada@", "user:ada@example.com x", "ada@example.com, bob@example.com", "Ada <ada@example.com>", "@", "ada@example.com\x00"} {
		want := refusal{400, "invalid_request", "X-Service-User: must be one email address"}
		if got := refusalOf(t, h.send(search("X-Service-Key", secretKey, header, given))); got != want {
			t.Errorf("%q: %+v", given, got)
		}
	}
	twice := search("X-Service-Key", secretKey, header, "ada@example.com")
	twice.Header.Add(header, "bob@example.com")
	if got := h.send(twice); got.Code != http.StatusBadRequest {
		t.Errorf("two headers: %d", got.Code)
	}
	// A publishable key is public, so the header cannot be trusted.
	for _, given := range []string{"ada@example.com", "nonsense"} {
		h.viewers = nil
		got := h.send(search("X-Service-Key", publishableKey, "Origin", "https://docs.example.com", header, given))
		if got.Code != http.StatusOK || len(h.viewers) != 1 || h.viewers[0].EndUser != "" || h.viewers[0].ReaderEmail() != "" {
			t.Errorf("with a publishable key: %+v: %d %s", h.viewers, got.Code, got.Body)
		}
	}
	// The header does not change a session.
	h.viewers = nil
	h.send(request(http.MethodGet, "/api/v1/collections", "", "Authorization", "Bearer session", header, "eve@example.com"))
	if len(h.viewers) != 1 || h.viewers[0].Kind != viewer.KindSession || h.viewers[0].EndUser != "" {
		t.Errorf("a session is %+v", h.viewers)
	}
}
