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

// draft is an event that is not stored yet.
type draft struct {
	kind string
	data []byte
	text string // of content, which is encoded when it is stored
}

// journal writes the events of a run down in their order. What comes while a write is under way goes into the next one, and
// pieces of the answer become one event then; so a long answer is not one row a token.
type journal struct {
	runs *Runs
	row  *ent.AgentRun

	mu      sync.Mutex
	pending []draft
	seq     int64 // the last one that is stored
	err     error
	closed  bool
	wake    chan struct{}
}

func newJournal(r *Runs, row *ent.AgentRun) *journal {
	return &journal{runs: r, row: row, seq: 1, wake: make(chan struct{}, 1)}
}

// add takes an event.
func (j *journal) add(kind string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return j.put(draft{kind: kind, data: data})
}

// say takes more of the answer.
func (j *journal) say(text string) error { return j.put(draft{kind: TypeContent, text: text}) }

func (j *journal) put(d draft) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	if last := len(j.pending) - 1; d.kind == TypeContent && last >= 0 && j.pending[last].kind == TypeContent {
		j.pending[last].text += d.text
	} else {
		j.pending = append(j.pending, d)
	}
	j.poke()
	return nil
}

func (j *journal) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// close ends write. What is pending then stays for left.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.poke()
}

func (j *journal) failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// left is what was not stored, and the number of the last event that was.
func (j *journal) left() (seq int64, drafts []draft) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.pending {
		j.pending[i].encode()
	}
	return j.seq, j.pending
}

// write stores what comes until close. Its error ends the run. It is called once.
func (j *journal) write(ctx context.Context) error {
	var last time.Time
	for {
		<-j.wake
		if wait := j.due(last); wait > 0 {
			pause := time.NewTimer(wait)
			for waiting := true; waiting; {
				select {
				case <-pause.C:
					waiting = false
				case <-j.wake:
					waiting = j.due(last) > 0 // more of the answer only
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
			j.pending = append(batch, j.pending...) // for the end to store, if it can
			j.mu.Unlock()
			return err
		}
		j.mu.Lock()
		j.seq = seq + int64(len(batch))
		j.mu.Unlock()
		j.runs.tellAll(ctx, j.row.ID)
	}
}

// due is how long what is pending may wait: more of the answer right behind what was just stored.
func (j *journal) due(last time.Time) time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.pending) != 1 || j.pending[0].kind != TypeContent {
		return 0
	}
	return j.runs.opt.Batch - time.Since(last)
}

// Tries to store events while the database is away.
const (
	storeTries = 4
	storePause = 250 * time.Millisecond
)

func (j *journal) store(ctx context.Context, seq int64, batch []draft) (err error) {
	// A write that was given up may have come through: nobody would know which numbers are taken.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.runs.opt.Store)
	defer cancel()
	for try := 1; ; try++ {
		if err = insert(whole, j.runs.opt.Ent, j.row, seq+1, batch); err == nil || err == errElsewhere || try == storeTries { //nolint:errorlint // insert's own
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

func (d *draft) encode() []byte {
	if d.kind == TypeContent && d.data == nil {
		d.data, _ = json.Marshal(Content{Content: d.text}) // a string always can
	}
	return d.data
}

// insert stores events under the numbers from first on, while the run is running: errElsewhere once it has been ended by
// somebody else. The row is locked meanwhile, so that nothing follows a last event.
func insert(ctx context.Context, db execer, row *ent.AgentRun, first int64, batch []draft) error {
	var values strings.Builder
	args := []any{row.ID.String(), row.WorkspaceID.String()}
	for i := range batch {
		if i > 0 {
			values.WriteByte(',')
		}
		n := len(args)
		fmt.Fprintf(&values, "($%d::bigint, $%d::text, $%d::jsonb)", n+1, n+2, n+3)
		args = append(args, strconv.FormatInt(first+int64(i), 10), batch[i].kind, string(batch[i].encode()))
	}
	result, err := db.ExecContext(ctx, `with running as (
			select id, workspace_id from agent_runs where id = $1::uuid and workspace_id = $2::uuid and status = 'RUNNING' for no key update)
		insert into agent_run_events (workspace_id, run_id, seq, type, data)
		select running.workspace_id, running.id, e.seq, e.type, e.data from running, (values `+values.String()+`) e (seq, type, data)`, args...)
	if err != nil {
		return fmt.Errorf("store the events of a run: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errElsewhere
	}
	return nil
}
