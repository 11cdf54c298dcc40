package command_test

import (
	"path/filepath"
	"testing"
)

func TestBenchRefusesWhatItCannotMeasure(t *testing.T) {
	t.Parallel()
	s := &shell{t: t, flags: []string{"--config", settingsFile(t), "--data", filepath.Join(t.TempDir(), "data")}}
	s.fails("--passages must be 1 or more", "bench", "search", "--passages", "0")
	s.fails("ascending order", "bench", "search", "--passages", "200,100")
	s.fails("--clients", "bench", "search", "--clients", "1,0")
	s.fails("--seconds", "bench", "search", "--seconds", "0")
	s.fails("--questions", "bench", "search", "--questions", "0")
	s.fails("--rounds", "bench", "search", "--under-sync", "--rounds", "0")
	s.fails("--corpora", "bench", "search", "--corpora", filepath.Join(t.TempDir(), "none"))
	s.fails("no Markdown page", "bench", "search", "--demo-docs", t.TempDir())
	s.fails("--clients", "bench", "load", "--clients", "0")
	s.fails("--seconds", "bench", "load", "--seconds", "0")
	s.fails("--streams", "bench", "load", "--streams=-1")
	s.fails("--passages", "bench", "load", "--passages", "0")
	s.fails("--url and --key", "bench", "load", "--url", "http://127.0.0.1:1")
	s.fails("warm up", "bench", "load", "--url", "http://127.0.0.1:1", "--key", "svc_sk_x")
	s.fails("--minutes", "bench", "soak", "--minutes", "0")
	s.fails("--writes", "bench", "soak", "--writes", "0")
	s.fails("--report", "bench", "soak", "--report", "0s")
	s.fails("--growth", "bench", "soak", "--growth=-1")
	s.fails("--clients", "bench", "soak", "--clients", "0")
	s.fails("--count", "bench", "subscriptions", "--count", "0")
	s.fails("--idle", "bench", "subscriptions", "--idle", "0s")
	s.fails("--workspaces and --collections", "bench", "tenants", "--workspaces", "0")
	s.fails("--passages and --questions", "bench", "tenants", "--questions", "0")
	s.fails("--connectors", "bench", "tenants", "--connectors", "501")
	s.fails("--clients and --files", "bench", "tenants", "--files", "0")
	s.fails("--rate", "bench", "tenants", "--rate", "0")
	s.fails("--seconds", "bench", "tenants", "--seconds", "0")
	s.fails("--processes and --collections", "bench", "nodes", "--processes", "0")
	s.fails("--passages and --questions", "bench", "nodes", "--passages", "0")
	s.fails("--clients", "bench", "nodes", "--clients", "0")
	s.fails("--seconds", "bench", "nodes", "--seconds", "0")
	s.fails("--streams", "bench", "chat", "--streams", "0")
	s.fails("--tokens", "bench", "chat", "--tokens", "0")
	s.fails("--think", "bench", "chat", "--think=-1s")
	s.fails("--passages and --queries", "bench", "--passages", "0")
}
