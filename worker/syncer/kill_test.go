package syncer_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// go test ./worker/syncer -run TestKills -kill.items 10000 -kill.times 20 -kill.seed 7
var (
	killItems = flag.Int("kill.items", 1500, "items of the sync whose workers are killed")
	killTimes = flag.Int("kill.times", 5, "how many times a worker is killed in each of two syncs; 20 times at least in that of a feed")
	killSeed  = flag.Uint64("kill.seed", 1, "where and when")
)

// Two processes work on a sync. One after the other dies, at a step of its own or
// by a signal, while connections to PostgreSQL are cut and Redis is flushed. The
// ledger is exact after a first sync, and after a sync that changes a tenth and
// deletes a tenth.
func TestKillsLoseNothingAndRepeatNothing(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	redisURL := testkit.Redis(t)
	f := newFixtureOn(t, spared(t, database.AppURL), redisURL)
	f.embedder = embed.NewBuiltin()
	f.row = f.connector("scripted", nil)
	items, tenth := *killItems, *killItems/10
	k := &killing{
		fixture: f, admin: database.AdminURL, dice: rand.New(rand.NewPCG(*killSeed, 1)),
		times: *killTimes, within: 2500 * time.Millisecond, last: []string{"walked"},
		plan: plan{Database: database.AppURL, Redis: redisURL, Items: items},
	}
	job := k.runSync(items, stepWalk, stepFetch, stepStore, stepStored, "moment")
	f.expect(f.job(job), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items})
	k.exact(items, map[syncitem.Status]int{syncitem.StatusIndexed: items})

	k.plan.Source = sourceChanged
	job = k.runSync(tenth, stepWalk, stepStore, stepStored, stepDelete, stepDeleted, "moment")
	f.expect(f.job(job), entjob.StatusCompleted, syncjob.Counters{Collected: items - tenth, Modified: tenth, Deleted: tenth, Unchanged: items - 2*tenth})
	k.exact(items-tenth, map[syncitem.Status]int{
		syncitem.StatusIndexed: tenth, syncitem.StatusUnchanged: items - 2*tenth, syncitem.StatusDeleted: tenth,
	})
}

// feedKills is how many times a worker is killed while a sync reads changes.
const feedKills = 20

// The same on a feed: workers die while a sync reads changes.
func TestKillsLoseNothingOfAFeed(t *testing.T) {
	t.Parallel()
	database := testkit.Database(t)
	redisURL := testkit.Redis(t)
	f := newFixtureOn(t, spared(t, database.AppURL), redisURL)
	f.embedder = embed.NewBuiltin()
	f.row = f.connector("feeding", nil)
	items, tenth := *killItems, *killItems/10
	f.script = newWorld(items, sourceWhole)
	stop := f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: items, Added: items})
	stop()
	k := &killing{
		fixture: f, admin: database.AdminURL, dice: rand.New(rand.NewPCG(*killSeed, 2)),
		times: max(*killTimes, feedKills), within: 400 * time.Millisecond, last: []string{stepDelete, stepDeleted},
		plan: plan{Database: database.AppURL, Redis: redisURL, Items: items, Source: sourceChanged, Stale: 700 * time.Millisecond},
	}
	token := f.reread().FeedToken

	job := k.runSync(tenth, stepChanges, stepFetch, stepStore, stepStored, "moment")
	f.expect(f.job(job), entjob.StatusCompleted, syncjob.Counters{Collected: tenth, Modified: tenth, Deleted: tenth})
	k.exact(items-tenth, map[syncitem.Status]int{syncitem.StatusIndexed: items - tenth, syncitem.StatusDeleted: tenth})
	if k.killed < k.times {
		t.Errorf("workers were killed %d times, want %d", k.killed, k.times)
	}
	if after := f.reread().FeedToken; after == token || after == "" {
		t.Errorf("the token went from %q to %q", token, after)
	}
	f.script = newWorld(items, sourceChanged)
	f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})
}

// A killing runs worker processes and kills them.
type killing struct {
	*fixture

	admin  string
	dice   *rand.Rand
	plan   plan
	times  int           // of kills in a sync
	within time.Duration // after which a process dies at a random moment
	last   []string      // the steps of the last kills
	killed int           // in the last sync
}

// runSync starts a sync and kills workers until it has ended. fetched is the
// approximate number of items that it fetches.
func (k *killing) runSync(fetched int, steps ...string) uuid.UUID {
	k.Helper()
	began, job := time.Now(), k.start(auto()).ID
	k.killed = 0
	killed := map[string]int{}
	var standby *victim
	for n := range k.times {
		step := steps[n%len(steps)]
		if n >= k.times-len(k.last) {
			step = k.last[n-(k.times-len(k.last))]
			if standby != nil {
				standby.kill() // at another step it would end the sync
				standby = nil
			}
		}
		p := k.plan
		switch step {
		case "moment", "walked":
		case stepWalk, stepChanges:
			p.Step, p.At = step, 1+k.dice.Int64N(3)
		case stepDelete, stepDeleted:
			p.Step, p.At = step, 1
		default:
			p.Step, p.At = step, 1+k.dice.Int64N(int64(max(fetched/k.times, 2)))
		}
		w := k.begin(p)
		if standby == nil {
			standby = k.begin(p) // both may die
		}
		switch n % 4 {
		case 1:
			k.must(k.redis.FlushAll(k.Context()).Err())
		case 3:
			k.cut()
		}
		died := k.death(job, step, w, standby)
		if died == "" {
			w.kill() // it knows the source of this sync only
			break    // the sync ended first
		}
		killed[died]++
		k.killed++
		if w.exited() {
			w = nil
		}
		if standby.exited() {
			standby = w
		} else if w != nil {
			w.kill() // there are never three processes
			w = nil
		}
	}
	if standby != nil {
		standby.kill()
	}
	last := k.begin(k.plan)
	k.wait(job)
	last.end()
	k.Logf("%d items, killed %v, done in %s with %d turns", k.plan.Items, killed, time.Since(began).Round(time.Millisecond), k.job(job).Turns)
	if done := k.job(job); k.times > 1 && done.Turns < 2 {
		k.Errorf("no worker was killed: %+v", done)
	}
	return job
}

// death waits until one of the processes has died at its step, or kills one, and
// returns where. It returns "" when the sync has ended before.
func (k *killing) death(job uuid.UUID, step string, processes ...*victim) string {
	k.Helper()
	moment := time.Now().Add(time.Duration(k.dice.Int64N(int64(k.within))))
	patience := time.Now().Add(30 * time.Second)
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for ; ; <-ticker.C {
		for _, w := range processes {
			if w.exited() {
				return step
			}
		}
		row := k.job(job)
		if !syncjob.Open(row.Status) {
			return ""
		}
		late := time.Now().After(patience) // it did not reach its step
		if step == "walked" && row.Walked || (step == "moment" || step == "walked" && late || late) && time.Now().After(moment) {
			for _, w := range processes {
				w.kill()
			}
			if late && step != "moment" {
				step = "moment"
			}
			return step
		}
	}
}

// cut ends every connection to the database except those named sparedName.
func (k *killing) cut() {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 20*time.Second)
	defer cancel()
	connection, err := pgx.Connect(ctx, k.admin)
	k.must(err)
	defer func() { _ = connection.Close(ctx) }()
	_, err = connection.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name <> $1`, sparedName)
	k.must(err)
}

// sparedName is the application name of the connections of the test itself.
const sparedName = "spared"

func spared(t *testing.T, database string) string {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("application_name", sparedName)
	address.RawQuery = query.Encode()
	return address.String()
}

// exact compares the documents and the ledger with the source.
func (k *killing) exact(live int, ledger map[syncitem.Status]int) {
	k.Helper()
	if n := k.live(); n != live {
		k.Errorf("%d documents, want %d", n, live)
	}
	source := newWorld(k.plan.Items, k.plan.Source)
	for path, d := range k.documents() {
		source.Lock()
		want := source.item(path).Version
		source.Unlock()
		if d.Status == document.StatusIndexed && (d.SourceVersion != want || d.PassageCount == 0) {
			k.Errorf("%s has version %q and %d passages, want %q", path, d.SourceVersion, d.PassageCount, want)
		}
	}
	got := map[syncitem.Status]int{}
	for _, line := range k.ledger() {
		got[line.Status]++
	}
	if fmt.Sprint(got) != fmt.Sprint(ledger) {
		k.Errorf("the ledger has %v, want %v", got, ledger)
	}
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	connection, err := pgx.Connect(ctx, k.admin)
	k.must(err)
	defer func() { _ = connection.Close(ctx) }()
	for what, statement := range map[string]string{
		"documents of a path twice": `select count(*) - count(distinct (connector_id, source_id)) from documents`,
		"documents without the passages they say": `select count(*) from documents d where d.status = 'INDEXED'
			and passage_count <> (select count(*) from passages p where p.document_id = d.id)`,
		"passages twice":                `select count(*) - count(distinct (document_id, body)) from passages`,
		"passages that are not indexed": `select (select count(*) from passages) - (select count(*) from passage_index)`,
		"jobs that are open":            `select count(*) from sync_jobs where status in ('QUEUED', 'RUNNING')`,
	} {
		var n int
		k.must(connection.QueryRow(ctx, statement).Scan(&n))
		if n != 0 {
			k.Errorf("%s: %d", what, n)
		}
	}
}

// A victim is a worker process.
type victim struct {
	command *exec.Cmd
	input   interface{ Close() error }
	ended   chan struct{}
}

func (k *killing) begin(p plan) *victim {
	k.Helper()
	text, err := json.Marshal(p)
	k.must(err)
	path, err := os.Executable()
	k.must(err)
	w := &victim{command: exec.Command(path, "-victim", string(text)), ended: make(chan struct{})} // this program
	w.command.Stderr = k.output()
	input, err := w.command.StdinPipe()
	k.must(err)
	w.input = input
	k.must(w.command.Start())
	go func() {
		defer close(w.ended)
		_ = w.command.Wait()
	}()
	k.Cleanup(w.kill)
	return w
}

// output returns the file for the output of the processes, which is logged when the
// test fails.
func (k *killing) output() *os.File {
	k.Helper()
	file, err := os.CreateTemp(k.TempDir(), "worker")
	k.must(err)
	k.Cleanup(func() {
		_ = file.Close()
		if !k.Failed() {
			return
		}
		content, _ := os.ReadFile(file.Name())
		lines := strings.Split(string(content), "\n")
		k.Logf("a worker wrote:\n%s", strings.Join(lines[max(0, len(lines)-15):], "\n"))
	})
	return file
}

func (w *victim) exited() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

func (w *victim) kill() {
	_ = w.command.Process.Signal(syscall.SIGKILL)
	_ = w.input.Close()
	<-w.ended
}

// end lets the process finish.
func (w *victim) end() {
	_ = w.command.Process.Signal(syscall.SIGTERM)
	_ = w.input.Close()
	<-w.ended
}
