package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/magpie-search/magpie/ent"
)

// pendingEvent is an event that is not stored yet.
type pendingEvent struct {
	eventType string
	data      []byte
	text      string // of a content event, which is encoded when it is stored
}

// journal stores the events of a run in order. Events that arrive during a
// write form the next batch, in which pieces of the answer are joined, so that
// a long answer does not need a row for each token.
type journal struct {
	runs *Runs
	row  *ent.AgentRun

	mu      sync.Mutex
	pending []pendingEvent
	seq     int64 // of the last stored event
	err     error
	closed  bool
	wake    chan struct{}
}

// newJournal returns a journal that continues after the event of number seq.
func newJournal(r *Runs, row *ent.AgentRun, seq int64) *journal {
	return &journal{runs: r, row: row, seq: seq, wake: make(chan struct{}, 1)}
}

// add appends an event.
func (j *journal) add(kind string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return j.append(pendingEvent{eventType: kind, data: data})
}

// addContent appends a piece of the answer.
func (j *journal) addContent(text string) error {
	return j.append(pendingEvent{eventType: TypeContent, text: text})
}

func (j *journal) append(e pendingEvent) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if last := len(j.pending) - 1; e.eventType == TypeContent && last >= 0 && j.pending[last].eventType == TypeContent {
		j.pending[last].text += e.text
	} else {
		j.pending = append(j.pending, e)
	}
	j.wakeWriter()
	return nil
}

func (j *journal) wakeWriter() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// close ends write. Pending events are left to unstored.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.wakeWriter()
}

func (j *journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// unstored returns the number of the last stored event and the events after it.
func (j *journal) unstored() (seq int64, events []pendingEvent) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.pending {
		j.pending[i].encode()
	}
	return j.seq, j.pending
}

// write stores events until close. It is called once. Its error ends the run.
func (j *journal) write(ctx context.Context) error {
	var last time.Time
	for {
		<-j.wake
		if wait := j.delay(last); wait > 0 {
			pause := time.NewTimer(wait)
			for waiting := true; waiting; {
				select {
				case <-pause.C:
					waiting = false
				case <-j.wake:
					waiting = j.delay(last) > 0 // another piece of the answer
				}
			}
			pause.Stop()
		}
		j.mu.Lock()
		batch, seq, closed := j.pending, j.seq, j.closed
		if !closed {
			j.pending = nil
		}
		j.mu.Unlock()
		if closed {
			return nil
		}
		if len(batch) == 0 {
			continue
		}
		last = time.Now()
		if err := j.store(ctx, seq, batch); err != nil {
			j.mu.Lock()
			j.err = err
			j.pending = append(batch, j.pending...) // finish stores them, if it can
			j.mu.Unlock()
			return err
		}
		j.mu.Lock()
		j.seq = seq + int64(len(batch))
		j.mu.Unlock()
		j.runs.notifyFollowers(ctx, j.row.ID)
	}
}

// delay returns how long the pending events may wait: only a single piece of
// the answer waits for the next one.
func (j *journal) delay(last time.Time) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.pending) != 1 || j.pending[0].eventType != TypeContent {
		return 0
	}
	return j.runs.opt.BatchInterval - time.Since(last)
}

// Retries of a failed write.
const (
	storeTries = 4
	storePause = 250 * time.Millisecond
)

func (j *journal) store(ctx context.Context, seq int64, batch []pendingEvent) (err error) {
	// A canceled write might still be committed; then it would be unknown which
	// numbers are used. Therefore the write does not end with ctx.
	storeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.runs.opt.StoreTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if err = insert(storeCtx, j.runs.opt.Ent, j.row, seq+1, batch); err == nil || err == errEndedElsewhere || try == storeTries { //nolint:errorlint // insert's own
			return err
		}
		pause := time.NewTimer(storePause << try)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

func (e *pendingEvent) encode() []byte {
	if e.eventType == TypeContent && e.data == nil {
		e.data, _ = json.Marshal(Content{Content: e.text}) // a string always encodes
	}
	return e.data
}

// insert stores events under the numbers from first on. It returns
// errEndedElsewhere if the run is no longer running in this attempt. It locks the row of the
// run, so that no event can follow the final one.
func insert(ctx context.Context, db execer, row *ent.AgentRun, first int64, batch []pendingEvent) error {
	var values strings.Builder
	args := []any{row.ID.String(), row.WorkspaceID.String(), row.Attempt}
	for i := range batch {
		if i > 0 {
			values.WriteByte(',')
		}
		n := len(args)
		fmt.Fprintf(&values, "($%d::bigint, $%d::text, $%d::jsonb)", n+1, n+2, n+3)
		args = append(args, strconv.FormatInt(first+int64(i), 10), batch[i].eventType, string(batch[i].encode()))
	}
	result, err := db.ExecContext(ctx, `with running as (
			select id, workspace_id from agent_runs where id = $1::uuid and workspace_id = $2::uuid and attempt = $3::bigint and status = 'RUNNING' for no key update)
		insert into agent_run_events (workspace_id, run_id, seq, type, data)
		select running.workspace_id, running.id, e.seq, e.type, e.data from running, (values `+values.String()+`) e (seq, type, data)`, args...)
	if err != nil {
		return fmt.Errorf("store events: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errEndedElsewhere
	}
	return nil
}
