package clickhouse_test

import (
	"bufio"
	"flag"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// chdb is the folder of an installation of npm's package chdb, which has a current engine
// as a library: scripts/test-clickhouse.sh installs it and runs the test.
var chdb = flag.String("chdb", "", "folder in which the npm package chdb is installed")

// TestCurrentClickHouse runs the statements on a current engine behind a small HTTP server.
// Everybody is its administrator, so that readonly = 1 alone refuses what writes.
func TestCurrentClickHouse(t *testing.T) {
	if *chdb == "" {
		t.Skip("no current ClickHouse: scripts/test-clickhouse.sh installs one (550 MB) and runs this test")
	}
	s := &shop{host: "127.0.0.1", port: startLibrary(t)}
	s.fill(t)
	t.Log("ClickHouse " + strings.TrimSpace(s.ask(t, "system", "select version()")))
	t.Run("attacks", func(t *testing.T) { hostileStatementsAreRefused(t, s) })
	t.Run("unchecked", func(t *testing.T) { hostileStatementsHaveNoEffectAtTheServer(t, s) })
	// FINAL is for tables that replace rows, and literals of maps came and went.
	t.Run("answers", func(t *testing.T) { statementsReturnRows(t, s, []string{" final ", "toTypeName({"}) })
	t.Run("values", func(t *testing.T) { valuesAreExact(t, s, "12.5") })
	t.Run("schema", func(t *testing.T) { schemaIsRead(t, s) })
}

// startLibrary starts the server and returns its port.
func startLibrary(t *testing.T) int {
	t.Helper()
	server := exec.CommandContext(t.Context(), "node", "testdata/chdb.mjs", *chdb, t.TempDir())
	server.WaitDelay = 10 * time.Second
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // the test's context ends it
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
