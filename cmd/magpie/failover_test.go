package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

const (
	// channels of the processes that must listen again after a failover
	newsOfSyncs   = "magpie:syncjobs"
	newsOfRuns    = "magpie:agentruns"
	newsOfAnswers = "magpie:answers"

	// lateFiles is the number of files of the sync that starts while Redis has no master.
	lateFiles = 40
)

// A server and a worker live through the failure of the master that has the queue, and in a
// Cluster also of the one that carries the news of syncs: searches go on, the running sync
// and the one that cannot be queued complete, and what watches them is told. A master that
// hung comes back as a replica, which changes nothing.
func TestASyncAndSearchesSurviveTheFailureOfARedisMaster(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) *devstack.RedisGroup{"cluster": testkit.RedisCluster, "sentinels": testkit.RedisSentinels} {
		for _, failure := range []string{"killed", "hung"} {
			isCluster, isHung := name == "cluster", failure == "hung"
			t.Run(name+" "+failure, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && isCluster == isHung {
					t.Skip("a short run has each failure and each kind of servers once; the test of the clients has all")
				}
				surviveMaster(t, start(t), isCluster, isHung)
			})
		}
	}
}

func surviveMaster(t *testing.T, group *devstack.RedisGroup, isCluster, isHung bool) {
	fail := group.Kill
	if isHung {
		fail = group.Hang
	}
	database := testkit.Database(t)
	i := install(t, database.AdminURL, database.OwnerURL, database.AppURL, group.URL)
	connector := i.uploadFiles(manyFiles)
	i.mustRun("connectors", "create", "--name", "Late", "--type", "file_upload", "--collection", "Docs")
	i.mustRun("files", "upload", "Late", lateFolder(t))
	var keys struct{ SecretKey string }
	i.runJSON(&keys, "keys", "create", "--name", "Test", "--host", "*", "--all-collections", "--rate-per-minute", "100000")
	var admin struct{ Password string }
	i.runJSON(&admin, "users", "create", "second@example.com", "--role", "admin")
	_, address := i.serve()
	i.start("worker")
	data, _ := graphQL(t, address, "", `mutation($in: SignInInput!) { signIn(input: $in) { accessToken } }`,
		map[string]any{"in": map[string]any{"email": "second@example.com", "password": admin.Password}})
	token, _ := data["signIn"].(map[string]any)["accessToken"].(string)
	follow := func(j job) *eventStream {
		return openStream(t, address+"/graphql", fmt.Sprintf(`{"query":"subscription { syncProgress(jobId: \"%s\") { status } }"}`, j.ID),
			"Accept", "text/event-stream", "Authorization", "Bearer "+token)
	}
	listening := func(channel string) int {
		n, err := group.Subscribers(t.Context(), channel)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	channels := map[string]int{newsOfSyncs: 2, newsOfRuns: 2, newsOfAnswers: 2}
	allListen := func(when string) {
		t.Helper()
		for channel, n := range channels {
			testkit.WaitFor(t, fmt.Sprintf("%d processes that listen to %s %s", n, channel, when), func() bool { return listening(channel) == n })
		}
	}
	allListen("at first")

	searches := startSearches(t, address, keys.SecretKey)
	j := i.startSync(connector)
	running := follow(j)
	i.waitStored(someFiles)
	queueMaster := mustFindMaster(t, group, "asynq:{magpie}:pending")
	failed := []string{queueMaster}
	began := time.Now()
	if err := fail(t.Context(), queueMaster); err != nil {
		t.Fatal(err)
	}
	var before int
	i.query(`select count(*) from documents where status = 'INDEXED'`, &before)
	if before >= manyFiles {
		t.Fatalf("all %d documents were stored when the master failed", before)
	}
	late := i.startSync("Late")
	if late.Status != "QUEUED" {
		t.Errorf("a sync that cannot be queued in Redis: %+v", late)
	}
	waiting := follow(late)
	if isCluster {
		// The majority of the masters that a Cluster needs is there again.
		testkit.WaitFor(t, "a new master of the queue", func() bool { return mustFindMaster(t, group, "asynq:{magpie}:pending") != queueMaster })
		newsMaster := mustFindMaster(t, group, newsOfSyncs)
		if newsMaster == queueMaster {
			t.Fatal("the queue and the news have the same master")
		}
		failed = append(failed, newsMaster)
		if err := fail(t.Context(), newsMaster); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		job    job
		stream *eventStream
	}{{j, running}, {late, waiting}} {
		done := i.waitJob(one.job.ID, 2*time.Minute, finished)
		if done.Status != "COMPLETED" || done.Stats.Errors != 0 {
			t.Errorf("%+v", done)
		}
		t.Logf("a sync of %d files ended %s after the failure of the first master", done.Progress.Collected, time.Since(began).Round(100*time.Millisecond))
		testkit.Receive(t, "the end of the subscription", one.stream.ended)
		if text := one.stream.text.String(); one.stream.err != nil || !strings.Contains(text, `"COMPLETED"`) {
			t.Errorf("the subscription ended with %v: %s", one.stream.err, text)
		}
	}
	i.checkComplete(manyFiles + lateFiles)
	allListen("again")
	// With the new masters, a sync needs no sweeper.
	syncAgain := func(when string) {
		began := time.Now()
		if again := i.waitJob(i.startSync("Late").ID, time.Minute, finished); again.Status != "COMPLETED" || again.Stats.Unchanged != lateFiles {
			t.Errorf("%s: %+v", when, again)
		}
		t.Logf("a sync %s took %s", when, time.Since(began).Round(time.Millisecond))
	}
	syncAgain("with the new master")
	if isHung {
		for _, old := range failed {
			if err := group.Continue(t.Context(), old); err != nil {
				t.Fatal(err)
			}
			if err := group.AwaitReplica(t.Context(), old); err != nil {
				t.Fatal(err)
			}
		}
		allListen("after the old master came back")
		syncAgain("after the old master came back")
		i.checkComplete(manyFiles + lateFiles)
	}
	searches.check(t)
}

func mustFindMaster(t *testing.T, group *devstack.RedisGroup, key string) string {
	t.Helper()
	address, err := group.Master(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// lateFolder returns a folder of lateFiles files, whose names differ from those of uploadFiles.
func lateFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for n := range lateFiles {
		text := fmt.Sprintf("# Late %d\n\nLate page %d tells about topic%d.\n", n, n, n%7)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("late-%02d.md", n)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// searchLoad is one client that searches all the time.
type searchLoad struct {
	stop  context.CancelFunc
	ended chan struct{} // closed at the end; then the other fields are final

	count   int
	slowest time.Duration
	failed  []string
}

func startSearches(t *testing.T, address, key string) *searchLoad {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &searchLoad{stop: cancel, ended: make(chan struct{})}
	client := &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}
	go func() {
		defer close(l.ended)
		defer client.CloseIdleConnections()
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			began := time.Now()
			if err := search(ctx, client, address, key); err != nil && ctx.Err() == nil {
				l.failed = append(l.failed, err.Error())
			}
			l.count, l.slowest = l.count+1, max(l.slowest, time.Since(began))
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-l.ended })
	return l
}

func search(ctx context.Context, client *http.Client, address, key string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/docs/search?query=page&min_score=0", http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("X-Service-Key", key)
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, body)
	}
	return nil
}

// check ends the load and checks that every search was answered, without a long wait.
func (l *searchLoad) check(t *testing.T) {
	t.Helper()
	l.stop()
	<-l.ended
	t.Logf("%d searches, the slowest took %s", l.count, l.slowest.Round(time.Millisecond))
	if len(l.failed) > 0 {
		t.Errorf("%d of %d searches failed: %s", len(l.failed), l.count, l.failed[0])
	}
	checkFast(t, "the slowest search", l.slowest)
}
