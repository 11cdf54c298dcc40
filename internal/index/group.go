package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// New small documents of a job share transactions: those that come while others are being
// stored wait in a line, and the first of the line stores as many of them as fit into a
// group. Nobody waits for company: a document goes by itself, and at once, unless others
// are being stored. What keeps a document out of its group concerns no other one; it is
// stored by itself then, and has the outcome and the errors that it would have had.

const (
	// The bounds of a document that may share a transaction.
	sharedPassages = 64
	sharedBytes    = 256 << 10 // as storedBytes counts them
	// The bounds of a group.
	groupDocuments = 64
	groupPassages  = passagesAtOnce
	groupBytes     = 2 << 20
	// groupsAtOnce bounds the groups of a line that are stored at a time: one is prepared
	// and sent while the database works on the other.
	groupsAtOnce = 2
)

// MayShare reports whether Put may store the record together with others, under a fence.
func (r *Record) MayShare() bool {
	return r.IsNew && r.Document == uuid.Nil && len(r.Passages) <= sharedPassages && r.storedBytes() <= sharedBytes
}

func (p *put) mayShare() bool {
	// A list of readers is one text in a group.
	breaks := func(reader string) bool { return reader == "" || strings.Contains(reader, headingBreak) }
	return p.fence.Job != uuid.Nil && p.record.MayShare() && !slices.ContainsFunc(p.row.readers, breaks)
}

// A groupKey has the fields that the documents of a group have in common.
type groupKey struct {
	workspace, collection, connector uuid.UUID
	fence                            Fence
	model                            string
	ledger                           uuid.UUID // the job of the ledger's entries
}

func (p *put) key() groupKey {
	r := p.record
	return groupKey{
		workspace: p.workspace, collection: r.Collection, connector: r.Connector,
		fence: p.fence, model: r.Model, ledger: r.Ledger.JobID,
	}
}

// A member is a put that shares a transaction or waits to do so.
type member struct {
	*put

	gone <-chan struct{} // is closed when the caller gives up
	// turn ends the wait: it brings the group that the member is to store, the member
	// first, or nil after another one has done so. It never blocks the sender.
	turn    chan []*member
	verdict verdict
}

// A verdict is the outcome of a member's turn. One that is not final leaves the document to
// be stored by itself.
type verdict struct {
	isFinal bool
	outcome Outcome
	err     error
}

// groups are the lines of all jobs that store documents now.
type groups struct {
	mu    sync.Mutex
	lines map[groupKey]*line
}

// A line is the documents that wait while groups are being stored, of which there are
// groupsAtOnce then.
type line struct {
	storing int // groups
	waiting []*member
}

func newGroups() *groups { return &groups{lines: map[groupKey]*line{}} }

// join lets a member store its document at once, or puts it at the end of the line,
// which it reports.
func (g *groups) join(ctx context.Context, key groupKey, m *member) (waits bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[key]
	if l == nil {
		l = &line{}
		g.lines[key] = l
	}
	if l.storing < groupsAtOnce {
		l.storing++
		return false
	}
	l.waiting = append(l.waiting, m)
	m.gone = ctx.Done()
	return true
}

// leave takes a member out of the line. It reports false if the member is in a group
// already.
func (g *groups) leave(key groupKey, m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[key]
	if l == nil {
		return false
	}
	i := slices.Index(l.waiting, m)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// next ends the turn of a group: that of the next one begins, if anybody waits.
func (g *groups) next(key groupKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[key]
	if group := l.take(); len(group) > 0 {
		group[0].turn <- group
		return
	}
	if l.storing--; l.storing == 0 {
		delete(g.lines, key)
	}
}

// take takes the next group out of the line.
func (l *line) take() []*member {
	n, passages, bytes := 0, 0, int64(0)
	for _, m := range l.waiting[:min(len(l.waiting), groupDocuments)] {
		passages += len(m.record.Passages)
		bytes += m.record.storedBytes()
		if n > 0 && (passages > groupPassages || bytes > groupBytes) {
			break
		}
		n++
	}
	group := slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return group
}

// putTogether stores a document at its turn, with others if others wait.
func (s *Store) putTogether(ctx context.Context, p *put) verdict {
	key := p.key()
	m := &member{put: p, turn: make(chan []*member, 1)}
	group := []*member{m}
	if s.groups.join(ctx, key, m) {
		select {
		case group = <-m.turn:
		case <-ctx.Done():
			if s.groups.leave(key, m) {
				return verdict{isFinal: true, err: fmt.Errorf("wait to store a document: %w", ctx.Err())}
			}
			group = <-m.turn // the others of the group do not depend on this context
		}
	}
	if group != nil {
		s.lead(ctx, key, group)
	}
	return m.verdict
}

// lead stores a group and lets the next one begin, whatever happens.
func (s *Store) lead(ctx context.Context, key groupKey, group []*member) {
	defer func() {
		s.groups.next(key)
		for _, m := range group[1:] {
			m.turn <- nil
		}
	}()
	if len(group) == 1 {
		v := &group[0].verdict
		v.outcome, v.err = s.putAlone(ctx, group[0].put)
		v.isFinal = true
		return
	}
	ctx, release := untilAllAreGone(ctx, group)
	defer release()
	s.putGroup(ctx, key, group)
}

// untilAllAreGone returns a context with the values of ctx that ends when all members
// have given up. The caller calls release when it is done.
func untilAllAreGone(ctx context.Context, group []*member) (shared context.Context, release func()) {
	shared, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watch sync.WaitGroup
	watch.Go(func() {
		defer cancel()
		for _, m := range group {
			select {
			case <-m.gone:
			case <-shared.Done():
				return
			}
		}
	})
	return shared, func() {
		cancel()
		watch.Wait()
	}
}
