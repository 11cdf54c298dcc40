package command_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/internal/testkit"
)

// runAlone runs a command with settings in a file, and returns its exit code and
// what it wrote.
func runAlone(t *testing.T, settings []string, arguments ...string) (code int, output, errors string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte(strings.Join(settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, failed bytes.Buffer
	code = command.Run(t.Context(), append([]string{"--config", file}, arguments...), command.Streams{In: strings.NewReader(""), Out: &out, Err: &failed})
	return code, out.String(), failed.String()
}

func TestHealthAsksTheProcessOfThisMachine(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/readyz":
			w.WriteHeader(http.StatusNotFound)
		case !ready.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"parts":{"redis":"unavailable"}}`))
		}
	}))
	address := server.Listener.Addr().String()
	_, port, _ := strings.Cut(address, ":")

	if code, _, said := runAlone(t, []string{"LISTEN_ADDR=" + address}, "health"); code != 1 || !strings.Contains(said, `"redis":"unavailable"`) {
		t.Errorf("a process that is not ready: %d, %s", code, said)
	}
	ready.Store(true)
	for _, settings := range []string{"LISTEN_ADDR=" + address, "LISTEN_ADDR=0.0.0.0:" + port, "LISTEN_ADDR=:" + port} {
		if code, _, said := runAlone(t, []string{settings}, "health"); code != 0 {
			t.Errorf("%s: %d, %s", settings, code, said)
		}
	}
	if code, _, said := runAlone(t, []string{"WORKER_LISTEN_ADDR=" + address}, "health", "--worker"); code != 0 {
		t.Errorf("a worker: %d, %s", code, said)
	}
	if code, _, said := runAlone(t, nil, "health", "--worker"); code != 1 || !strings.Contains(said, "WORKER_LISTEN_ADDR") {
		t.Errorf("a worker that listens nowhere: %d, %s", code, said)
	}
	server.Close()
	if code, _, _ := runAlone(t, []string{"LISTEN_ADDR=" + address}, "health"); code != 1 {
		t.Errorf("nobody there: %d", code)
	}
}

func TestMigrateGrantsTheRoleOfTheApplication(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	admin, err := pgx.Connect(t.Context(), database.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	login := `odd "login" ` + uuid.NewString()
	name := pgx.Identifier{login}.Sanitize()
	if _, err := admin.Exec(t.Context(), "create role "+name+" login"); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_, _ = admin.Exec(t.Context(), "drop role "+name)
		_ = admin.Close(t.Context())
	}()
	for range 2 { // again does no harm
		if code, _, said := runAlone(t, []string{"MIGRATE_DATABASE_URL=" + database.AdminURL}, "migrate", "up", "--grant", login); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
	}
	var member bool
	if err := admin.QueryRow(t.Context(), "select pg_has_role($1, 'magpie_app', 'member')", login).Scan(&member); err != nil || !member {
		t.Errorf("member %t, %v", member, err)
	}
	if code, _, said := runAlone(t, []string{"MIGRATE_DATABASE_URL=" + database.AdminURL}, "migrate", "up", "--grant", "nobody"); code != 1 || !strings.Contains(said, `grant magpie_app to "nobody"`) {
		t.Errorf("a login that does not exist: %d, %s", code, said)
	}
}

func TestVersionSaysWhatTheProgramWasBuiltFrom(t *testing.T) {
	t.Parallel()
	code, output, said := runAlone(t, nil, "version", "--json")
	var build struct {
		Version, Revision, Date *string
		Go                      string
	}
	if err := json.Unmarshal([]byte(output), &build); err != nil || code != 0 {
		t.Fatalf("%d, %s, %s: %v", code, output, said, err)
	}
	if build.Version == nil || *build.Version == "" || build.Revision == nil || build.Date == nil || build.Go != runtime.Version() {
		t.Errorf("%s", output)
	}
	if _, output, _ := runAlone(t, nil, "version"); !strings.HasPrefix(output, "magpie "+*build.Version+"\n") || !strings.Contains(output, "go      "+runtime.Version()+"\n") {
		t.Errorf("%s", output)
	}
}
