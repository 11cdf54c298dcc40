package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// WriterOptions configure a Writer. All are required.
type WriterOptions struct {
	BatchInterval time.Duration         // between two events with pieces of the text
	StoreTimeout  time.Duration         // of a write with its retries
	Stored        func(context.Context) // is called after a write
}

// A Writer stores the events of a stream in order. Events that arrive during a write form
// the next batch, in which pieces of the text are joined, so that a long text does not need
// a row for each token. It is safe for concurrent use.
type Writer struct {
	table  Table
	db     Execer
	stream Stream
	opt    WriterOptions

	mu      sync.Mutex
	pending []Entry
	seq     int64 // of the last stored event
	err     error
	closed  bool
	wake    chan struct{}
}

// NewWriter returns a Writer that continues after the event of number seq.
func NewWriter(t Table, db Execer, s Stream, seq int64, o WriterOptions) *Writer {
	return &Writer{table: t, db: db, stream: s, opt: o, seq: seq, wake: make(chan struct{}, 1)}
}

// Add appends an event.
func (w *Writer) Add(kind string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	return w.append(Entry{Type: kind, Data: data})
}

// AddText appends a piece of the text.
func (w *Writer) AddText(text string) error {
	return w.append(Entry{Type: w.table.Text, text: text})
}

func (w *Writer) append(e Entry) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if last := len(w.pending) - 1; e.Data == nil && last >= 0 && w.pending[last].Data == nil {
		w.pending[last].text += e.text
	} else {
		w.pending = append(w.pending, e)
	}
	w.wakeWriter()
	return nil
}

func (w *Writer) wakeWriter() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close ends Write. Pending events are left to Unstored.
func (w *Writer) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.wakeWriter()
}

// Failure returns the error of Write.
func (w *Writer) Failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Unstored returns the number of the last stored event and the events after it.
func (w *Writer) Unstored() (seq int64, entries []Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.pending {
		w.table.encode(&w.pending[i])
	}
	return w.seq, w.pending
}

// Write stores events until Close. It is called once. After an error the stream must end.
func (w *Writer) Write(ctx context.Context) error {
	var last time.Time
	for {
		<-w.wake
		if wait := w.delay(last); wait > 0 {
			pause := time.NewTimer(wait)
			for waiting := true; waiting; {
				select {
				case <-pause.C:
					waiting = false
				case <-w.wake:
					waiting = w.delay(last) > 0 // another piece of the text
				}
			}
			pause.Stop()
		}
		w.mu.Lock()
		batch, seq, closed := w.pending, w.seq, w.closed
		if !closed {
			w.pending = nil
		}
		w.mu.Unlock()
		if closed {
			return nil
		}
		if len(batch) == 0 {
			continue
		}
		last = time.Now()
		if err := w.store(ctx, seq, batch); err != nil {
			w.mu.Lock()
			w.err = err
			w.pending = append(batch, w.pending...) // who ends the stream stores them, if it can
			w.mu.Unlock()
			return err
		}
		w.mu.Lock()
		w.seq = seq + int64(len(batch))
		w.mu.Unlock()
		w.opt.Stored(ctx)
	}
}

// delay returns how long the pending events may wait: only a single piece of
// the text waits for the next one.
func (w *Writer) delay(last time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.pending) != 1 || w.pending[0].Data != nil {
		return 0
	}
	return w.opt.BatchInterval - time.Since(last)
}

// Retries of a failed write.
const (
	storeTries = 4
	storePause = 250 * time.Millisecond
)

func (w *Writer) store(ctx context.Context, seq int64, batch []Entry) (err error) {
	// A canceled write might still be committed; then it would be unknown which
	// numbers are used. Therefore the write does not end with ctx.
	storeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.opt.StoreTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if err = w.table.Insert(storeCtx, w.db, w.stream, seq+1, batch); err == nil || errors.Is(err, ErrEnded) || try == storeTries {
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
