package wire_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
)

// logged keeps what a log writes.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

// What go-redis says about a server that is away is an event of our log. The library has
// one global logger, so that this test runs alone.
func TestWhatGoRedisSaysIsInOurLog(t *testing.T) {
	out := &logged{}
	wire.LogRedis(slog.New(slog.NewJSONHandler(out, nil)))
	t.Cleanup(func() { wire.LogRedis(slog.New(slog.DiscardHandler)) })
	client, err := wire.Redis("unix://" + filepath.Join(t.TempDir(), "away.sock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a Redis that is away answers")
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	out.mu.Lock()
	defer out.mu.Unlock()
	var line struct{ Level, Msg, Driver, Line string }
	first, _, _ := strings.Cut(out.text.String(), "\n")
	if err := json.Unmarshal([]byte(first), &line); err != nil || line.Msg != "driver reports" || line.Driver != "redis" || line.Level != "WARN" || line.Line == "" {
		t.Errorf("%q, %v", out.text.String(), err)
	}
}
