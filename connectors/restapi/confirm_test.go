package restapi_test

import (
	"crypto/md5"
	"encoding/hex"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

func TestContentsAreConfirmed(t *testing.T) {
	t.Parallel()
	sum := md5.Sum([]byte("content"))
	right, wrong := hex.EncodeToString(sum[:]), "9e107d9d372bb6826bd81d3542a419d6"
	for name, c := range map[string]struct {
		answers  []string
		size     int64
		sum      string
		requests int32
		fails    bool
	}{
		"as told":               {[]string{"content"}, 7, right, 1, false},
		"nothing told":          {[]string{"content"}, -1, "", 1, false},
		"a wrong size":          {[]string{"content", "content"}, 2048, right, 2, false},
		"a wrong checksum":      {[]string{"content", "content"}, 7, wrong, 2, false},
		"both wrong":            {[]string{"content", "content"}, 2048, wrong, 2, false},
		"half of it, once":      {[]string{"con", "content"}, 7, right, 2, true},
		"another content, once": {[]string{"another", "content"}, 7, right, 2, true},
		"empty, once":           {[]string{"", "content"}, 7, "", 1, true},
		"different contents":    {[]string{"another", "a third"}, 7, right, 2, true},
		"empty":                 {[]string{"", ""}, 7, "", 1, true},
	} {
		var requests atomic.Int32
		client := newClient(t, restapi.Options{}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, c.answers[requests.Add(1)-1])
		})
		body, err := client.DownloadConfirmed(t.Context(), restapi.Request{Path: "file"}, restapi.Expected{Size: c.size}, restapi.Claim{New: md5.New, Sum: c.sum})
		var content []byte
		if err == nil {
			content, err = io.ReadAll(body)
			_ = body.Close()
		}
		_, retryable := connectors.RetryAfterOf(err)
		if retryable != c.fails || !c.fails && (err != nil || string(content) != c.answers[0]) || requests.Load() != c.requests {
			t.Errorf("%s: %q after %d requests, %v", name, content, requests.Load(), err)
		}
	}
}
