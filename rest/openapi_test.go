package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"magpie/rest"
)

// written is the description as it is served.
func written(t testing.TB) *httptest.ResponseRecorder {
	t.Helper()
	made, err := rest.New(rest.Options{Schema: realSchema(t), Keys: keys{}, Sessions: sessions{}})
	if err != nil {
		t.Fatal(err)
	}
	serve, err := made.OpenAPI("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	serve.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	return answer
}

func TestTheDescriptionIsTheReviewedOne(t *testing.T) {
	t.Parallel()
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, written(t).Body.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join("testdata", "openapi.json"), pretty.Bytes())
}
