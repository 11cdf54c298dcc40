package s3_test

import (
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/s3"
	"github.com/magpie-search/magpie/internal/testkit"

	"github.com/minio/minio-go/v7"
)

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	connectortest.RunFaultInjection(t, func(t *testing.T) connectortest.FaultInjection {
		b := newBucket(t, server)
		for _, key := range []string{"a.md", "docs/b.html", "docs/c.json", "empty.txt"} {
			content := []byte("<p>what is in " + key + ", and some more of it</p>")
			if key == "empty.txt" {
				content = nil
			}
			b.put(t, key, content, minio.PutObjectOptions{})
		}
		return connectortest.FaultInjection{
			Kind: s3.Kind, Dial: dial, Settings: b.settings(nil),
			AbsentNames: []string{"never/there.md"},
			Undetectable: func(e connectortest.Exchange, fault string) string {
				if strings.HasSuffix(e.URI, "?location=") && fault == "the root element only" {
					return "a service answers so for a bucket in its default region"
				}
				return ""
			},
		}
	})
}
