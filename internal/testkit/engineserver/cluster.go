package engineserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

// variable names the environment variable with the path of the server.
const variable = "MAGPIE_TEST_ENGINE"

// startTimeout bounds the start of a node on a busy machine.
const startTimeout = 3 * time.Minute

// clusters counts those of this process, which share a network namespace.
var clusters atomic.Int32

// A Cluster is an engine of several nodes, which are named node1, node2 and so on and are
// counted from 0.
type Cluster struct {
	t       testing.TB
	program string
	folder  string
	first   int // port
	nodes   []*exec.Cmd
	client  *http.Client
}

// Start starts an engine of some nodes and waits until it is ready. It stops at the end of
// the test. The test is skipped unless make test-engine runs it.
func Start(t testing.TB, nodes int) *Cluster {
	t.Helper()
	program := os.Getenv(variable)
	if program == "" {
		t.Skip("needs the search engine; make test-engine runs it")
	}
	if !isolated(t) {
		t.Skip("needs a network namespace of its own, since the engine listens on every interface; this system allows none (user namespaces are off)")
	}
	c := &Cluster{
		t: t, program: program, folder: t.TempDir(), first: 10_000 + 100*int(clusters.Add(1)),
		nodes: make([]*exec.Cmd, nodes), client: &http.Client{Timeout: 10 * time.Second},
	}
	t.Cleanup(func() {
		c.client.CloseIdleConnections()
		for i := range c.nodes {
			c.Kill(i)
			if t.Failed() {
				t.Logf("the log of node%d ends with\n%s", i+1, tail(c.log(i)))
			}
		}
	})
	for i := range nodes {
		c.start(i)
	}
	c.settle()
	return c
}

// isolated reports whether there is no network but loopback.
func isolated(t testing.TB) bool {
	t.Helper()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	up := false
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			return false
		}
		up = up || i.Flags&net.FlagUp != 0
	}
	return up
}

// The ports of a node.
func (c *Cluster) rest(i int) int   { return c.first + i }
func (c *Cluster) grpc(i int) int   { return c.first + 10 + i }
func (c *Cluster) gossip(i int) int { return c.first + 20 + 2*i }
func (c *Cluster) raft(i int) int   { return c.first + 40 + 2*i }

// URLs returns the addresses of the nodes, as ENGINE_URL has them.
func (c *Cluster) URLs() []string {
	out := make([]string, len(c.nodes))
	for i := range out {
		out[i] = fmt.Sprintf("%s?grpc=%d", c.address(i), c.grpc(i))
	}
	return out
}

func (c *Cluster) address(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", c.rest(i)) }
func (c *Cluster) log(i int) string     { return filepath.Join(c.folder, fmt.Sprintf("node%d.log", i+1)) }
func (c *Cluster) data(i int) string    { return filepath.Join(c.folder, fmt.Sprintf("node%d", i+1)) }

// childScript runs a server that is killed when the other end of its standard input is
// closed, which happens even when this process is killed.
const childScript = `exec 3<&0
"$@" </dev/null 3<&- &
server=$!
( cat <&3 >/dev/null; kill -9 "$server" 2>/dev/null ) &
wait "$server"
kill "$!" 2>/dev/null`

func (c *Cluster) start(i int) {
	c.t.Helper()
	var join []string
	for k := range c.nodes {
		join = append(join, fmt.Sprintf("node%d:%d", k+1, c.raft(k)))
	}
	log, err := os.OpenFile(c.log(i), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()                                                                                                                    // the child has its own copy
	command := exec.Command("/bin/sh", "-c", childScript, "child", c.program, "--scheme", "http", "--host", "127.0.0.1", "--port", fmt.Sprint(c.rest(i))) //nolint:noctx,gosec // it outlives this call; the program is the one that was built
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.folder,
		fmt.Sprintf("CLUSTER_HOSTNAME=node%d", i+1), "CLUSTER_IN_LOCALHOST=true", "CLUSTER_ADVERTISE_ADDR=127.0.0.1", "CLUSTER_BIND_ADDR=127.0.0.1",
		fmt.Sprintf("CLUSTER_GOSSIP_BIND_PORT=%d", c.gossip(i)), fmt.Sprintf("CLUSTER_DATA_BIND_PORT=%d", c.gossip(i)+1),
		fmt.Sprintf("RAFT_PORT=%d", c.raft(i)), fmt.Sprintf("RAFT_INTERNAL_RPC_PORT=%d", c.raft(i)+1),
		"RAFT_JOIN=" + strings.Join(join, ","), fmt.Sprintf("RAFT_BOOTSTRAP_EXPECT=%d", len(c.nodes)),
		fmt.Sprintf("GRPC_PORT=%d", c.grpc(i)), "PERSISTENCE_DATA_PATH=" + c.data(i),
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true", "AUTOSCHEMA_ENABLED=false", "DEFAULT_VECTORIZER_MODULE=none",
		"DISABLE_TELEMETRY=true", "GO_PROFILING_DISABLE=true", "GOMEMLIMIT=1GiB", "LOG_LEVEL=warning",
	}
	if i > 0 {
		command.Env = append(command.Env, fmt.Sprintf("CLUSTER_JOIN=127.0.0.1:%d", c.gossip(0)))
	}
	command.Stdout, command.Stderr = log, log
	if _, err := command.StdinPipe(); err != nil {
		c.t.Fatal(err)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		c.t.Fatalf("start node%d: %v", i+1, err)
	}
	c.nodes[i] = command
}

// Kill ends a node at once, as a crash does. It keeps its data.
func (c *Cluster) Kill(i int) {
	c.t.Helper()
	if c.nodes[i] == nil {
		return
	}
	if err := syscall.Kill(-c.nodes[i].Process.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		c.t.Errorf("kill node%d: %v", i+1, err)
	}
	_ = c.nodes[i].Wait() // killed
	c.nodes[i] = nil
}

// Restart starts a node that was killed and waits until it is ready.
func (c *Cluster) Restart(i int) {
	c.t.Helper()
	c.start(i)
	c.waitReady(i)
}

func (c *Cluster) waitReady(i int) {
	c.t.Helper()
	exited := func() bool { return syscall.Kill(c.nodes[i].Process.Pid, 0) != nil }
	testkit.WaitWithin(c.t, startTimeout, fmt.Sprintf("node%d", i+1), func() bool {
		if exited() {
			c.t.Fatalf("node%d exited:\n%s", i+1, tail(c.log(i)))
		}
		return c.get(i, "/v1/.well-known/ready", nil) == nil
	})
}

// healthy returns how many nodes the first one calls healthy.
func (c *Cluster) healthy() int {
	var reply struct {
		Nodes []struct {
			Status string `json:"status"`
		} `json:"nodes"`
	}
	if c.get(0, "/v1/nodes", &reply) != nil {
		return 0
	}
	n := 0
	for _, node := range reply.Nodes {
		if node.Status == "HEALTHY" {
			n++
		}
	}
	return n
}

var errStatus = errors.New("the node answers with a status")

// get makes a request to a node.
func (c *Cluster) get(i int, path string, out any) error {
	request, err := http.NewRequestWithContext(context.WithoutCancel(c.t.Context()), http.MethodGet, c.address(i)+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("%w: %d %s", errStatus, response.StatusCode, text)
	case out == nil:
		return nil
	}
	return json.Unmarshal(text, out)
}

// Lose ends every node, removes what they have stored, and starts them again.
func (c *Cluster) Lose() {
	c.t.Helper()
	for i := range c.nodes {
		c.Kill(i)
		if err := os.RemoveAll(c.data(i)); err != nil {
			c.t.Fatal(err)
		}
	}
	for i := range c.nodes {
		c.start(i)
	}
	c.settle()
}

// settle waits until every node is ready and knows the others.
func (c *Cluster) settle() {
	c.t.Helper()
	for i := range c.nodes {
		c.waitReady(i)
	}
	testkit.WaitWithin(c.t, startTimeout, "all nodes to know each other", func() bool { return c.healthy() == len(c.nodes) })
}

func tail(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // a log of this package
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}
