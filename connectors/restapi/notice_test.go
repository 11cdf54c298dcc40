package restapi_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

func TestTheEndOfAnAPIIsNoticed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header map[string]string
		status int
		ends   bool
		says   string
	}{
		"nothing":         {status: 200},
		"a date":          {header: map[string]string{"Sunset": "Wed, 11 Nov 2026 23:59:59 GMT"}, status: 200, says: "Platform ends a part of its API on 2026-11-11 (GET /api/v3/users/…/files)"},
		"a date in ISO":   {header: map[string]string{"Sunset": "2026-11-11T00:00:00Z"}, status: 200, says: "on 2026-11-11"},
		"no date":         {header: map[string]string{"Sunset": "soon"}, status: 200},
		"deprecated":      {header: map[string]string{"Deprecation": "@1688169599"}, status: 200, says: "is deprecated (GET /api/v3/users/…/files)"},
		"an old form":     {header: map[string]string{"Deprecation": "true"}, status: 200, says: "is deprecated"},
		"not deprecated":  {header: map[string]string{"Deprecation": "false"}, status: 200},
		"both":            {header: map[string]string{"Deprecation": "@1688169599", "Sunset": "Wed, 11 Nov 2026 23:59:59 GMT"}, status: 404, says: "on 2026-11-11"},
		"removed":         {status: 410, ends: true, says: "does not have a part of its API any more (410, GET /api/v3/users/…/files)"},
		"an item is gone": {status: 410},
	} {
		client := newClient(t, restapi.Options{GoneEndsAPI: c.ends}, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range c.header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte("{}"))
		})
		var notices []string
		ctx := connectors.WithNotices(t.Context(), func(text string) { notices = append(notices, text) })
		for _, user := range []string{"7", "b0b50000-1"} {
			_, _ = client.JSON(ctx, restapi.Request{Path: "v3/users/" + user + "/files"}, &struct{}{})
			_, _ = client.JSON(t.Context(), restapi.Request{Path: "v3/users/" + user + "/files"}, &struct{}{}) // nobody wants to know
		}
		notices = slices.Compact(notices)
		switch {
		case c.says == "" && len(notices) > 0, c.says != "" && (len(notices) != 1 || !strings.Contains(notices[0], c.says)):
			t.Errorf("%s: the notices are %q, want one with %q", name, notices, c.says)
		}
	}
}
