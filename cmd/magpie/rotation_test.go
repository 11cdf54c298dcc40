package main_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

// bucket makes a bucket with a document.
func bucket(t *testing.T, server *devstack.S3, name string) {
	t.Helper()
	if err := server.MakeBucket(name); err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(strings.TrimPrefix(server.Endpoint, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""), Region: server.Region,
		Transport: &http.Transport{DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := "# Keys\n\nThe keys of the installation are rotated twice a year."
	if _, err := client.PutObject(context.WithoutCancel(t.Context()), name, "keys.md", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Both keys are changed while two servers and a worker are restarted one by one. At each
// step, searches, syncs that open credentials, and sessions go on.
func TestKeysAreRotatedWithoutDowntime(t *testing.T) {
	t.Parallel()
	database, redis, server := testkit.Database(t), testkit.Redis(t), testkit.S3(t)
	bucket(t, server, "documents")
	key := func(letter string) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(letter), 32)) }
	blobs := filepath.Join(t.TempDir(), "blobs")
	settings := func(secrets, session string) *installation {
		return configure(t, database.AdminURL, database.OwnerURL, database.AppURL, redis, blobs,
			"SECRET_KEYS="+secrets, "SESSION_KEY="+session, "ALLOWED_PRIVATE_NETWORKS=127.0.0.0/8", "SECRET_RATE_LIMIT=0")
	}
	first := "first:" + key("a")
	second := "second:" + key("b")
	i := settings(first, key("s"))
	var person struct{ Password string }
	i.runJSON(&person, "users", "create", "owner@example.com", "--new-workspace", "Test")
	i.mustRun("collections", "create", "Docs")
	i.mustRun("connectors", "create", "--name", "Bucket", "--type", "s3", "--collection", "Docs", "--option", "bucket=documents", "--option", "endpoint="+server.Endpoint,
		"--option", "region="+server.Region, "--credential", "accessKeyId="+server.AccessKey, "--credential", "secretAccessKey="+server.SecretKey)
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections")

	running := []*process{i.start("serve", "--listen", "127.0.0.1:0"), i.start("serve", "--listen", "127.0.0.1:0"), i.start("worker")}
	session := func(address, content string) (access, refresh string) {
		t.Helper()
		status, body := post(t, address, content)
		var answer struct {
			Data struct {
				AccessToken  string `json:"access_token"`
				RefreshToken string `json:"refresh_token"`
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || answer.Data.AccessToken == "" {
			t.Fatalf("%s: %d %s", address, status, body)
		}
		return answer.Data.AccessToken, answer.Data.RefreshToken
	}
	login := func(address string) (access, refresh string) {
		t.Helper()
		return session(address+"/api/v1/auth/login", `{"email":"owner@example.com","password":"`+person.Password+`"}`)
	}
	tokens := []string{}
	// The first session is used all the time, and the link of an invitation at the end.
	_, refresh := login(running[0].address(t))
	var invited struct{ Token string }
	i.runJSON(&invited, "users", "invite", "grace@example.com")
	check := func(step string, i *installation, sessions int) {
		t.Helper()
		for _, p := range running[:2] {
			address := p.address(t)
			if status, body := get(t, address+"/v1/docs/search?min_score=0&query=rotated", keys.SecretKey); status != http.StatusOK || step != "" && !strings.Contains(body, "twice a year") {
				t.Errorf("%s: search: %d %s", step, status, body)
			}
			for n, token := range tokens[max(0, len(tokens)-sessions):] {
				if status, body := request(t, http.MethodGet, address+"/api/v1/connectors", "", "Authorization", "Bearer "+token); status != http.StatusOK {
					t.Errorf("%s: session %d: %d %s", step, n, status, body)
				}
			}
			access, _ := login(address)
			var renewed string
			renewed, refresh = session(address+"/api/v1/auth/refresh", `{"refresh_token":"`+refresh+`"}`)
			tokens = append(tokens, access, renewed)
			if status, body := post(t, address+"/api/v1/auth/invitation", `{"token":"`+invited.Token+`"}`); status != http.StatusOK || !strings.Contains(body, "grace@example.com") {
				t.Errorf("%s: the link of an invitation: %d %s", step, status, body)
			}
		}
		var j job
		i.runJSON(&j, "sync", "start", "Bucket", "--mode", "full")
		if j.Status != "COMPLETED" || j.Stats.Errors != 0 {
			t.Errorf("%s: sync: %+v", step, j)
		}
	}
	check("", i, 0)
	for _, step := range []struct{ name, secrets, session string }{
		{"the new keys behind the old ones", first + "," + second, key("s") + "," + key("t")},
		{"the new keys first", second + "," + first, key("t") + "," + key("s")},
	} {
		next := settings(step.secrets, step.session)
		for n := range running {
			arguments := []string{"serve", "--listen", "127.0.0.1:0"}
			if n == 2 {
				arguments = []string{"worker"}
			}
			replacement := next.start(arguments...)
			if n < 2 {
				replacement.address(t)
			}
			running[n].stop()
			running[n] = replacement
			// Processes of both steps work side by side.
			check(step.name, next, 100)
		}
		i = next
	}
	var sealed []struct {
		Key    string
		Values int64
		Lost   int64
	}
	i.runJSON(&sealed, "secrets", "status", "--check")
	if len(sealed) == 0 || sealed[0].Key != "first" || sealed[0].Lost != 0 {
		t.Errorf("before the rotation: %+v", sealed)
	}
	out := i.mustRun("secrets", "rotate")
	if !strings.Contains(out, "credentials of connectors") {
		t.Errorf("rotate: %s", out)
	}
	if out, stderr, code := i.run("secrets", "rotate"); code != 0 || strings.Contains(out, "credentials") || !strings.Contains(stderr, "Everything is sealed") {
		t.Errorf("rotate again: %d %s%s", code, out, stderr)
	}
	i.runJSON(&sealed, "secrets", "status", "--check")
	for _, row := range sealed {
		if row.Key != "second" || row.Lost != 0 {
			t.Errorf("after the rotation: %+v", sealed)
		}
	}
	check("after the rotation", i, 4)
	last := settings(second, key("t"))
	for n := range running {
		running[n].stop()
		arguments := []string{"serve", "--listen", "127.0.0.1:0"}
		if n == 2 {
			arguments = []string{"worker"}
		}
		running[n] = last.start(arguments...)
	}
	check("without the old keys", last, 4)
	// Browsers keep the same token in a cookie, whose name has the port of the service's own address.
	address := running[0].address(t)
	if status, body := post(t, address+"/api/v1/auth/refresh?cookie=1", "", "Cookie", "magpie_session_0="+refresh, "Sec-Fetch-Site", "same-origin"); status != http.StatusOK || !strings.Contains(body, "access_token") {
		t.Errorf("a cookie from before the rotation: %d %s", status, body)
	}
	session(address+"/api/v1/auth/accept-invitation", `{"token":"`+invited.Token+`","name":"Grace","password":"correct horse battery"}`)
	// Without the new key, what it sealed is counted, and left as it is.
	lost := settings(first, key("t"))
	if _, stderr, code := lost.run("secrets", "rotate"); code != 1 || !strings.Contains(stderr, `"second"`) || !strings.Contains(stderr, "docs/secrets.md") {
		t.Errorf("rotate with a lost key: %d %s", code, stderr)
	}
}
