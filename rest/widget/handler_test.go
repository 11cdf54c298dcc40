package widget_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest/widget"
)

func get(t *testing.T, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	h, err := widget.New()
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFilesMayBeLoadedByAnySite(t *testing.T) {
	t.Parallel()
	for path, kind := range map[string]string{
		"/widget.js": "text/javascript; charset=utf-8", "/magpie.js": "text/javascript; charset=utf-8", "/magpie.d.ts": "text/x.typescript; charset=utf-8",
	} {
		got := get(t, http.MethodGet, path)
		for name, want := range map[string]string{
			"Content-Type": kind, "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff",
			"Vary": "Accept-Encoding", "Cache-Control": "public, max-age=3600, stale-while-revalidate=86400",
		} {
			if got.Header().Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, got.Header().Get(name))
			}
		}
		if got.Code != http.StatusOK || got.Body.Len() == 0 || got.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, %d bytes", path, got.Code, got.Body.Len())
		}
		head := get(t, http.MethodHead, path)
		if head.Code != http.StatusOK || head.Body.Len() != 0 || head.Header().Get("Content-Length") != got.Header().Get("Content-Length") || head.Header().Get("ETag") != got.Header().Get("ETag") {
			t.Errorf("%s: HEAD %d %v", path, head.Code, head.Header())
		}
	}
	for _, path := range []string{"/", "/widget.js/", "/client.js", "/style.css", "/asset/client.js", "/../doc.go"} {
		if got := get(t, http.MethodGet, path); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestFilesAreCompressedIfTheClientAcceptsIt(t *testing.T) {
	t.Parallel()
	plain := get(t, http.MethodGet, "/widget.js")
	for offer, want := range map[string]bool{
		"gzip": true, "br, GZIP;q=0.5": true, "deflate,gzip": true, "": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false, "identity": false,
	} {
		got := get(t, http.MethodGet, "/widget.js", "Accept-Encoding", offer)
		zipped := got.Header().Get("Content-Encoding") == "gzip"
		if zipped != want {
			t.Errorf("%q: %v", offer, zipped)
		}
		content := got.Body.Bytes()
		if zipped {
			if got.Header().Get("ETag") == plain.Header().Get("ETag") {
				t.Error("two encodings have the same ETag")
			}
			r, err := gzip.NewReader(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			if content, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(content, plain.Body.Bytes()) {
			t.Errorf("%q: other content", offer)
		}
	}
}

func TestACachedFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	tag := get(t, http.MethodGet, "/magpie.js").Header().Get("ETag")
	for known, want := range map[string]int{
		tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, "*": 304, `"other"`: 200, strings.Trim(tag, `"`): 200, "": 200,
	} {
		got := get(t, http.MethodGet, "/magpie.js", "If-None-Match", known)
		if got.Code != want || (got.Body.Len() == 0) != (want == http.StatusNotModified) || got.Header().Get("ETag") != tag {
			t.Errorf("%s: %d, %d bytes", known, got.Code, got.Body.Len())
		}
	}
	if got := get(t, http.MethodGet, "/magpie.js", "If-None-Match", tag, "Accept-Encoding", "gzip"); got.Code != http.StatusOK {
		t.Errorf("the ETag of another encoding: %d", got.Code)
	}
}

func TestTheWidgetIsAsSmallAsTheDocumentationSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/widget.md")
	if err != nil {
		t.Fatal(err)
	}
	said := regexp.MustCompile(`([0-9]+) kB compressed`).FindSubmatch(page)
	if said == nil {
		t.Fatal("the page names no size")
	}
	n := get(t, http.MethodGet, "/widget.js", "Accept-Encoding", "gzip").Body.Len()
	if got := strconv.Itoa((n + 500) / 1000); got != string(said[1]) {
		t.Errorf("the widget has %d bytes, the page says %s kB", n, said[1])
	}
}

// The widget creates no HTML or code from text, stores nothing, and contains no other
// host.
func TestTheWidgetUsesNoDangerousFunctions(t *testing.T) {
	t.Parallel()
	script := get(t, http.MethodGet, "/widget.js").Body.String()
	for _, word := range []string{
		"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "DOMParser", "eval(", "new Function", "localStorage", "sessionStorage",
		"indexedDB", "document.cookie", "setAttribute(\"style\"", "@import", "url(", "export ", "sourceMappingURL",
	} {
		if strings.Contains(script, word) {
			t.Errorf("the widget has %s", word)
		}
	}
	if n := strings.Count(script, "://"); n != strings.Count(script, "http://www.w3.org/2000/svg") {
		t.Errorf("the widget contains a URL: %d", n)
	}
}

func TestEveryLanguageHasAllLabels(t *testing.T) {
	t.Parallel()
	script := get(t, http.MethodGet, "/widget.js").Body.String()
	english := map[string]string{}
	block := script[strings.Index(script, "const LABELS = {"):]
	for _, m := range regexp.MustCompile(`(?m)^(\w+): "(.*)",$`).FindAllStringSubmatch(block[:strings.Index(block, "\n};")], -1) {
		english[m[1]] = m[2]
	}
	languages := regexp.MustCompile(`const LANGUAGES = \[(.*)\];`).FindStringSubmatch(script)
	if len(english) < 50 || languages == nil {
		t.Fatalf("%d labels, languages %q", len(english), languages)
	}
	names := strings.Split(strings.ReplaceAll(languages[1], `"`, ""), ", ")
	if len(names) != 9 {
		t.Errorf("languages %q", names)
	}
	placeholder := regexp.MustCompile(`\{\w+\}`)
	inside := func(label string) string {
		found := placeholder.FindAllString(label, -1)
		slices.Sort(found)
		return strings.Join(found, "")
	}
	for _, language := range names {
		answer := get(t, http.MethodGet, "/widget/"+language+".json")
		var labels map[string]string
		if err := json.Unmarshal(answer.Body.Bytes(), &labels); err != nil || answer.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%s: %v, %v", language, err, answer.Header())
		}
		for name, want := range english {
			if got := labels[name]; strings.TrimSpace(got) == "" || inside(got) != inside(want) {
				t.Errorf("%s: %s is %q", language, name, got)
			}
		}
		if len(labels) != len(english) {
			t.Errorf("%s has %d labels of %d", language, len(labels), len(english))
		}
	}
}
