package s3_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/internal/testkit"

	"github.com/minio/minio-go/v7"
)

func TestNoLieIsBelieved(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	connectortest.RunLies(t, func(t *testing.T) connectortest.Lies {
		b := newBucket(t, server)
		for _, key := range []string{"a.md", "docs/b.html", "docs/c.json", "empty.txt"} {
			content := []byte("<p>what is in " + key + ", and some more of it</p>")
			if key == "empty.txt" {
				content = nil
			}
			b.put(t, key, content, minio.PutObjectOptions{})
		}
		return connectortest.Lies{
			Kind: func(dial connectortest.Dial) connectors.Kind { return s3.Kind(dial) }, Dial: dial, Settings: b.settings(nil),
			Absent: []string{"never/there.md"},
			Believes: func(e connectortest.Exchange, lie string) string {
				if strings.HasSuffix(e.URI, "?location=") && lie == "the root of the answer alone" {
					return "so says a service of a bucket in its first region"
				}
				return ""
			},
		}
	})
}
