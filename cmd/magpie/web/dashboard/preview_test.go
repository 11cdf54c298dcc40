package dashboard_test

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The page with the preview of the widget is shown inside the dashboard only, and may
// do what the widget needs and no more.
func TestThePreviewOfTheWidgetHasAPolicyOfItsOwn(t *testing.T) {
	t.Parallel()
	from := site()
	for _, name := range []string{"widget-preview.html", "widget-preview.js", "widget-preview.css"} {
		content, err := os.ReadFile("public/" + name)
		if err != nil {
			t.Fatal(err)
		}
		from[name] = &fstest.MapFile{Data: content}
	}
	h := open(t, from)
	got := get(t, h.ServeHTTP, http.MethodGet, "/widget-preview.html")
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/html; charset=utf-8" || got.Header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	rules := strings.Split(got.Header.Get("Content-Security-Policy"), "; ")
	want := []string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'self'",
	}
	if !slices.Equal(rules, want) {
		t.Errorf("the policy is %q", rules)
	}
	page := string(content(t, got))
	for _, name := range []string{"widget-preview.js", "widget-preview.css"} {
		if !strings.Contains(page, `"/`+name+`"`) || !h.Serves("/"+name) {
			t.Errorf("the page has no %s", name)
		}
	}
	if strings.Contains(page, "<script>") || strings.Contains(page, "<style") || strings.Contains(page, " style=") {
		t.Errorf("the policy forbids what is in the page: %s", page)
	}
	if embeds := get(t, h.Page, http.MethodGet, "/widget").Header.Get("Content-Security-Policy"); !strings.Contains(embeds, "frame-src 'self'") {
		t.Errorf("the dashboard may not show the preview: %s", embeds)
	}
}
