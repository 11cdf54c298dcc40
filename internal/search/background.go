package search

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// backgrounds are the background distributions of embedding models: the similarities of
// questions to unrelated passages. They differ widely between models; some models give all
// texts a similarity of 0.7. A model is measured at its first use.
type backgrounds struct {
	mutex    sync.Mutex
	measured map[string]rank.Background
	pending  map[string]*measurement
	closed   bool
	work     sync.WaitGroup
}

// A measurement of a model runs in the background.
type measurement struct {
	done     chan struct{}
	cancel   context.CancelFunc
	deadline time.Time // of searches that wait for it
	err      error
}

const (
	// measureTimeout bounds a measurement, which sends two requests of a dozen short texts.
	measureTimeout = 10 * time.Second
	// measureWait bounds the time that searches wait for a measurement.
	measureWait = time.Second
)

var errMeasuring = errors.New("the embedding model is being measured")

// get returns the background of a model. An external model, for which questions is not nil,
// is measured in the background; errMeasuring is returned if that takes too long.
func (b *backgrounds) get(ctx context.Context, model embed.Embedder, questions *embed.Questions) (rank.Background, error) {
	name := model.Model()
	b.mutex.Lock()
	background, ok := b.measured[name]
	if ok {
		b.mutex.Unlock()
		return background, nil
	}
	if questions == nil {
		b.mutex.Unlock()
		// Concurrent searches may measure the model several times, which is harmless.
		background, err := measureBackground(ctx, model)
		if err == nil {
			b.set(name, background)
		}
		return background, err
	}
	m := b.pending[name]
	if m == nil && !b.closed {
		m = b.start(ctx, model, questions)
	}
	b.mutex.Unlock()
	if m == nil {
		return rank.Background{}, errMeasuring
	}
	timeout := time.NewTimer(time.Until(m.deadline))
	defer timeout.Stop()
	select {
	case <-m.done:
		b.mutex.Lock()
		defer b.mutex.Unlock()
		return b.measured[name], m.err
	case <-timeout.C:
		return rank.Background{}, errMeasuring
	case <-ctx.Done():
		return rank.Background{}, ctx.Err()
	}
}

// start starts to measure a model. The caller holds the mutex.
func (b *backgrounds) start(ctx context.Context, model embed.Embedder, questions *embed.Questions) *measurement {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &measurement{done: make(chan struct{}), cancel: cancel, deadline: time.Now().Add(measureWait)}
	if b.pending == nil {
		b.pending = make(map[string]*measurement)
	}
	b.pending[model.Model()] = m
	b.work.Go(func() {
		defer cancel()
		var background rank.Background
		err := questions.Call(ctx, measureTimeout, func(ctx context.Context) (err error) {
			background, err = measureBackground(ctx, model)
			return err
		})
		if err == nil {
			b.set(model.Model(), background)
		}
		b.mutex.Lock()
		defer b.mutex.Unlock()
		delete(b.pending, model.Model())
		m.err = err
		close(m.done)
	})
	return m
}

func (b *backgrounds) set(model string, background rank.Background) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.measured == nil {
		b.measured = make(map[string]rank.Background)
	}
	b.measured[model] = background
}

// close cancels the measurements and waits for their end.
func (b *backgrounds) close() {
	b.mutex.Lock()
	b.closed = true
	for _, m := range b.pending {
		m.cancel()
	}
	b.mutex.Unlock()
	b.work.Wait()
}

// minStdDev keeps a model that gives all unrelated texts nearly the same similarity from
// turning noise into confidence.
const minStdDev = 0.01

// measureBackground compares every question with every passage of another topic.
func measureBackground(ctx context.Context, model embed.Embedder) (rank.Background, error) {
	topics := unrelatedTopics()
	questions, passages := make([]string, len(topics)), make([]string, len(topics))
	for i, t := range topics {
		questions[i], passages[i] = t.question, t.passage
	}
	q, err := model.Embed(ctx, questions, embed.Query)
	if err != nil {
		return rank.Background{}, fmt.Errorf("measure a model: %w", err)
	}
	p, err := model.Embed(ctx, passages, embed.Passage)
	if err != nil {
		return rank.Background{}, fmt.Errorf("measure a model: %w", err)
	}
	if len(q) != len(topics) || len(p) != len(topics) {
		return rank.Background{}, fmt.Errorf("measure a model: %d and %d vectors for %d texts", len(q), len(p), len(topics))
	}
	var sum, squares, n float64
	for i := range q {
		for j := range p {
			if i == j || len(q[i]) != len(p[j]) {
				continue
			}
			s := dot(q[i], p[j])
			sum, squares, n = sum+s, squares+s*s, n+1
		}
	}
	if n == 0 {
		return rank.Background{}, errors.New("measure a model: its vectors have different lengths")
	}
	mean := sum / n
	return rank.Background{Mean: mean, StdDev: max(math.Sqrt(max(squares/n-mean*mean, 0)), minStdDev), SampleSize: int(n)}, nil
}

func dot(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

type topic struct{ question, passage string }

// unrelatedTopics returns questions on different subjects, each with a passage that might
// answer it.
func unrelatedTopics() []topic {
	return []topic{
		{"how long does bread dough need to rise", "Cover the dough and leave it in a warm place until it has doubled in size, which takes an hour or two, depending on the yeast and on the temperature of the kitchen."},
		{"change the default port of the server", "The server listens on port 8080. To use another port, set it in the configuration file and restart the process; clients need the new address as well."},
		{"who may sign contracts on behalf of the company", "Contracts are signed by two members of the board. Below a value of ten thousand euros, the head of a department may sign alone."},
		{"symptoms of a vitamin deficiency", "Tiredness, pale skin and brittle nails may be signs that the body lacks iron or vitamins. A blood test gives certainty."},
		{"restore a database from last night's backup", "Stop the application, create an empty database, and load the dump into it. Replay the archived logs if changes since the backup are to be kept."},
		{"rules for taking luggage on a plane", "One bag of up to eight kilograms may be taken into the cabin. Liquids go into a transparent pouch; batteries must not be checked in."},
		{"why do leaves turn red in autumn", "When days grow short, trees stop making chlorophyll. The green fades, and other pigments that were there all along become visible."},
		{"apply for parental leave", "Tell your manager and the personnel office in writing, seven weeks ahead. The form asks for the dates and for how many hours you want to work meanwhile."},
		{"the app crashes when I open the camera", "On some phones the camera cannot be opened while another program uses it. Close the other program, grant the permission again, and update to the newest release."},
		{"history of the printing press", "Movable type made of metal came to Europe in the middle of the fifteenth century. Within fifty years, presses were at work in more than two hundred towns."},
		{"calculate interest on a savings account", "Interest is credited at the end of the year. It is the mean balance times the rate, less the tax that the bank passes on."},
		{"tune a guitar by ear", "Start with the lowest string. Press it at the fifth fret and turn the next string's peg until both sound the same, then go on from string to string."},
	}
}
