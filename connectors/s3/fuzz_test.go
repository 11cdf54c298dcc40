package s3_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/s3"
)

// FuzzEndpoint checks that an endpoint is refused without repeating it, or that a
// source can be opened with it.
func FuzzEndpoint(f *testing.F) {
	for _, seed := range []string{
		"https://host:9000", "host", "http://[::1]:9000/", "https://u:hunter2@host", "ftp://h", "//h", "http://h/p?q#f", "http://h:99999",
		"http://\x00", "%zz", "http://ü.example", "http://a b", "HTTP://HOST", "http://h\r\nX: y", "://", "http://:80", "s3.amazonaws.com",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, endpoint string) {
		config := map[string]any{"bucket": "docs", "endpoint": endpoint}
		kind := s3.Kind(dial)
		if err := kind.Validate(config, nil); err != nil {
			if strings.Contains(endpoint, "hunter2") && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a password: %v", err)
			}
			return
		}
		source, err := kind.New(t.Context(), connectors.Settings{Config: config})
		if err != nil {
			if !connectors.IsFatal(err) {
				t.Errorf("endpoint %q: %v is not fatal", endpoint, err)
			}
			return
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
}
