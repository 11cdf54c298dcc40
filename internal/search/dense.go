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

// chances says how similar models take a question and a passage to be that have
// nothing to do with each other: they differ widely, and some call every two
// texts 0.7 alike. It measures models at their first use and remembers what it found.
type chances struct {
	mutex  sync.Mutex
	known  map[string]rank.Chance
	flying map[string]*measuring
	closed bool
	work   sync.WaitGroup
}

// measuring is a measurement of a model that is another system.
type measuring struct {
	done   chan struct{}
	cancel context.CancelFunc
	late   time.Time // nobody waits for it any more
	err    error
}

const (
	// measureTimeout is how long a measurement may take, two requests of a dozen
	// short texts each.
	measureTimeout = 10 * time.Second
	// measurePatience is how long searches wait for one.
	measurePatience = time.Second
)

var errMeasuring = errors.New("the embedding model is being measured")

// of is the chance of a model. One that is another system is measured in the
// background: searches wait for it a moment, and go on without vectors then.
func (c *chances) of(ctx context.Context, model embed.Embedder, asked *embed.Questions) (rank.Chance, error) {
	name := model.Model()
	c.mutex.Lock()
	found, ok := c.known[name]
	if ok {
		c.mutex.Unlock()
		return found, nil
	}
	if asked == nil {
		c.mutex.Unlock()
		// Searches that come at the same moment measure, too: that is harmless.
		found, err := measure(ctx, model)
		if err == nil {
			c.set(name, found)
		}
		return found, err
	}
	m := c.flying[name]
	if m == nil && !c.closed {
		m = c.start(ctx, model, asked)
	}
	c.mutex.Unlock()
	if m == nil {
		return rank.Chance{}, errMeasuring
	}
	patience := time.NewTimer(time.Until(m.late))
	defer patience.Stop()
	select {
	case <-m.done:
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return c.known[name], m.err
	case <-patience.C:
		return rank.Chance{}, errMeasuring
	case <-ctx.Done():
		return rank.Chance{}, ctx.Err()
	}
}

// start measures a model in the background. The lock is held.
func (c *chances) start(ctx context.Context, model embed.Embedder, asked *embed.Questions) *measuring {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &measuring{done: make(chan struct{}), cancel: cancel, late: time.Now().Add(measurePatience)}
	if c.flying == nil {
		c.flying = make(map[string]*measuring)
	}
	c.flying[model.Model()] = m
	c.work.Go(func() {
		defer cancel()
		var found rank.Chance
		err := asked.Call(ctx, measureTimeout, func(ctx context.Context) (err error) {
			found, err = measure(ctx, model)
			return err
		})
		if err == nil {
			c.set(model.Model(), found)
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		delete(c.flying, model.Model())
		m.err = err
		close(m.done)
	})
	return m
}

func (c *chances) set(model string, found rank.Chance) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.known == nil {
		c.known = make(map[string]rank.Chance)
	}
	c.known[model] = found
}

// close ends the measurements and waits for their end.
func (c *chances) close() {
	c.mutex.Lock()
	c.closed = true
	for _, m := range c.flying {
		m.cancel()
	}
	c.mutex.Unlock()
	c.work.Wait()
}

// leastDeviation keeps a model that calls all unrelated texts equally alike
// from turning noise into certainty.
const leastDeviation = 0.01

// measure compares every question with every passage of another topic.
func measure(ctx context.Context, model embed.Embedder) (rank.Chance, error) {
	topics := unrelated()
	questions, passages := make([]string, len(topics)), make([]string, len(topics))
	for i, t := range topics {
		questions[i], passages[i] = t.question, t.passage
	}
	q, err := model.Embed(ctx, questions, embed.Query)
	if err != nil {
		return rank.Chance{}, fmt.Errorf("measure a model: %w", err)
	}
	p, err := model.Embed(ctx, passages, embed.Passage)
	if err != nil {
		return rank.Chance{}, fmt.Errorf("measure a model: %w", err)
	}
	if len(q) != len(topics) || len(p) != len(topics) {
		return rank.Chance{}, fmt.Errorf("measure a model: %d and %d vectors for %d texts", len(q), len(p), len(topics))
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
		return rank.Chance{}, fmt.Errorf("measure a model: its vectors have different lengths")
	}
	mean := sum / n
	return rank.Chance{Mean: mean, Deviation: max(math.Sqrt(max(squares/n-mean*mean, 0)), leastDeviation), Sample: int(n)}, nil
}

func dot(a, b []float32) float64 {
	s := 0.0
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

type topic struct{ question, passage string }

// unrelated are questions, each with a passage that might answer it, no two of
// which share a subject.
func unrelated() []topic {
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
