package conformance_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit/mcpserver"
)

func TestABrowserConnectsAToolServer(t *testing.T) {
	t.Parallel()
	server := mcpserver.New(t)
	s := start(t, map[string]string{"BASE_URL": "http://magpie.example.com", "ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"})
	const all = "/api/v1/tool-integrations"
	made := data(t, "create", s.atDashboard(t, "POST", all, `{"provider":"mcp","name":"Tracker","slug":"tracker","config":{"url":"`+server.URL+`"}}`), 201)
	one := all + "/" + made["id"].(string)
	if got := data(t, "test", s.atDashboard(t, "POST", one+"/test", ""), 200); got["needsAuth"] != true {
		t.Errorf("the test says %v", got)
	}
	begin := func() (back, cookie string) {
		a := s.atDashboard(t, "POST", one+"/authorize", "")
		got := data(t, "authorize", a, 200)
		cookies := (&http.Response{Header: a.header}).Cookies()
		if len(got) != 1 || len(cookies) != 1 || !cookies[0].HttpOnly {
			t.Fatalf("the answer is %v with the cookies %v", got, cookies)
		}
		return "/api/v1/oauth/callback/mcp?" + server.Agree(t, got["authorizationUrl"].(string), "ada").Encode(), cookies[0].Name + "=" + cookies[0].Value
	}
	back, cookie := begin()
	rejected(t, "another browser", s.atDashboard(t, "GET", back, "", "Accept", "*/*"), 400, "invalid_request", "")
	if got := data(t, "callback", s.atDashboard(t, "GET", back, "", "Cookie", cookie), 200); got["provider"] != "mcp" || got["grantId"] == nil {
		t.Errorf("the callback says %v", got)
	}
	rejected(t, "a second time", s.atDashboard(t, "GET", back, "", "Cookie", cookie), 400, "invalid_request", "")
	back, cookie = begin()
	rejected(t, "another issuer", s.atDashboard(t, "GET", strings.Replace(back, "iss=http", "iss=https", 1), "", "Cookie", cookie), 400, "invalid_request", "")
	if a := s.atDashboard(t, "POST", one+"/refresh", ""); a.status != 200 || !strings.Contains(a.body, `"added":["whoami"]`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if got := data(t, "read", s.atDashboard(t, "GET", one, ""), 200); got["status"] != "active" || got["changedTools"] != 0.0 {
		t.Errorf("the integration is %v", got)
	}
}
