package email_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/email"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestAMailInABucketIsRead(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	host := strings.TrimPrefix(server.Endpoint, "http://")
	client, err := minio.New(host, &minio.Options{Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.MakeBucket("mails"); err != nil {
		t.Fatal(err)
	}
	const raw = "From: ada@example.com\r\nTo: support@acme.example\r\nSubject: Stored\r\nMessage-ID: <s@example.com>\r\n\r\nThe xylophone.\r\n\r\nOn Monday, Bob wrote:\r\n> Hello\r\n"
	if _, err := client.PutObject(t.Context(), "mails", "in/1", strings.NewReader(raw), int64(len(raw)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	ses := email.SES(email.Deps{Client: &http.Client{Transport: &http.Transport{}}, S3Endpoint: server.Endpoint})
	read := func(key string, secrets map[string]string) (*event.Mail, error) {
		m := &event.Mail{SPF: "pass", Verified: true, From: event.Address{Email: "Ada@example.com"}, Object: &event.StoredMail{Bucket: "mails", Key: key, Region: "us-east-1"}}
		return m, ses.Complete(t.Context(), &event.Content{Mail: m}, connectors.Settings{Credentials: secrets})
	}
	good := map[string]string{"access_key_id": server.AccessKey, "secret_access_key": server.SecretKey}
	m, err := read("in/1", good)
	if err != nil || m.Subject != "Stored" || m.SPF != "pass" || !m.Verified || m.StrippedReply != "The xylophone." || m.Object != nil {
		t.Errorf("%+v, %v", m, err)
	}
	for what, try := range map[string]struct {
		key     string
		secrets map[string]string
	}{
		"no key":      {"in/1", nil},
		"another key": {"in/1", map[string]string{"access_key_id": server.AccessKey, "secret_access_key": "guess"}},
		"no object":   {"in/2", good},
	} {
		if _, ok := errors.AsType[*event.Refusal](second(read(try.key, try.secrets))); !ok {
			t.Errorf("%s: %v", what, second(read(try.key, try.secrets)))
		}
	}
}

func second(_ *event.Mail, err error) error { return err }
