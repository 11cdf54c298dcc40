package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// Contrastive training with the other pairs of a batch as negatives (van den Oord, Li and Vinyals, 2018): each text must be
// nearer to its counterpart than to the other texts.
const (
	batchSize   = 256
	temperature = 0.05
	longest     = 160 // terms of a text that are used
)

// shares has the percentage of batches of each kind.
var shares = [kindCount]int{kindGloss: 14, kindSynonym: 5, kindTranslation: 10, kindMessage: 15, kindHeading: 24, kindNext: 8, kindCloze: 24}

// A bag is the terms of a text with their weights, which are divided by the length of the sum.
type bag struct {
	ids     []uint32
	weights []float32
	hash    uint64
	length  float32
}

func (b *bag) fill(ids []uint32) {
	ids = slices.Clone(ids[:min(len(ids), longest)])
	b.hash = 0
	for _, id := range ids {
		b.hash = (b.hash^uint64(id))*0x9E3779B97F4A7C15 + 1
	}
	slices.Sort(ids)
	b.ids, b.weights = b.ids[:0], b.weights[:0]
	for i := 0; i < len(ids); {
		n := 1
		for i+n < len(ids) && ids[i+n] == ids[i] {
			n++
		}
		b.ids, b.weights = append(b.ids, ids[i]), append(b.weights, float32(static.Damped(n)))
		i += n
	}
}

// sum writes the unit vector of a bag to vector.
func (b *bag) sum(vector []float32, table *matrix) {
	clear(vector)
	for i, id := range b.ids {
		axpy(vector, b.weights[i], table.row(int(id)))
	}
	b.length = max(length(vector), 1e-9)
	scaleBy(vector, 1/b.length)
}

// A trainer trains a table end to end. Except for rounding, the result does not depend on the number of workers.
type trainer struct {
	table   *matrix
	squares []float32 // sum of squared gradients of each row (Adagrad)
	rate    float32
	workers int

	bags      [2][batchSize]bag
	sums      [2]*matrix
	gradients [2]*matrix
	scores    *matrix
	ahead     *matrix
	loss      []float64
}

func newTrainer(table *matrix, rate float32, workers int) *trainer {
	t := &trainer{table: table, squares: make([]float32, table.rows), rate: rate, workers: workers}
	for i := range t.squares {
		t.squares[i] = 1e-5
	}
	for side := range 2 {
		t.sums[side], t.gradients[side] = newMatrix(batchSize, table.columns), newMatrix(batchSize, table.columns)
	}
	t.scores, t.ahead = newMatrix(batchSize, batchSize), newMatrix(batchSize, batchSize)
	t.loss = make([]float64, batchSize)
	return t
}

// step trains with one batch and returns the mean loss. factor decays the learning rate.
func (t *trainer) step(batch []*example, factor float32) float64 {
	inParallel(t.workers, 2*batchSize, func(_, i int) {
		side, n := i/batchSize, i%batchSize
		ids := batch[n].Left
		if side == 1 {
			ids = batch[n].Right
		}
		t.bags[side][n].fill(ids)
		t.bags[side][n].sum(t.sums[side].row(n), t.table)
	})
	left, right := &t.bags[0], &t.bags[1]
	inParallel(t.workers, batchSize, func(_, i int) {
		row := t.scores.row(i)
		for j := range row {
			row[j] = dot(t.sums[0].row(i), t.sums[1].row(j)) / temperature
			if i != j && (left[i].hash == left[j].hash || right[i].hash == right[j].hash) {
				row[j] = -1e9
			}
		}
	})
	// The gradient of the loss with respect to the scores, in both directions.
	inParallel(t.workers, batchSize, func(_, i int) {
		softmax(t.ahead.row(i), t.scores.row(i))
		t.loss[i] = -math.Log(float64(t.ahead.row(i)[i]) + 1e-12)
		t.ahead.row(i)[i]--
	})
	back := t.scores.transposed()
	inParallel(t.workers, batchSize, func(_, i int) {
		softmax(back.row(i), back.row(i))
		back.row(i)[i]--
	})
	behind := back.transposed()
	axpy(t.ahead.values, 1, behind.values)
	behind = t.ahead.transposed()
	inParallel(t.workers, 2*batchSize, func(_, i int) {
		side, n := i/batchSize, i%batchSize
		gradient, scores := t.gradients[side].row(n), t.ahead.row(n)
		if side == 1 {
			scores = behind.row(n)
		}
		clear(gradient)
		for j, score := range scores {
			if score > 1e-5 || score < -1e-5 {
				axpy(gradient, score, t.sums[1-side].row(j))
			}
		}
		own := t.sums[side].row(n)
		axpy(gradient, -dot(gradient, own), own)
		scaleBy(gradient, 1/(t.bags[side][n].length*2*temperature*batchSize))
	})
	inParallel(t.workers, t.workers, func(_, w int) { t.update(w, factor) })
	total := 0.0
	for _, loss := range t.loss {
		total += loss
	}
	return total / batchSize
}

// update changes the rows of one worker.
func (t *trainer) update(worker int, factor float32) {
	for side := range 2 {
		for n := range t.bags[side] {
			b, gradient := &t.bags[side][n], t.gradients[side].row(n)
			square := dot(gradient, gradient) / float32(len(gradient))
			for i, id := range b.ids {
				if int(id)%t.workers != worker {
					continue
				}
				t.squares[id] += b.weights[i] * b.weights[i] * square * batchSize
				step := -factor * t.rate * b.weights[i] / float32(math.Sqrt(float64(t.squares[id])))
				axpy(t.table.row(int(id)), step, gradient)
			}
		}
	}
}

func softmax(to, from []float32) {
	largest := slices.Max(from)
	sum := float32(0)
	for i, value := range from {
		to[i] = float32(math.Exp(float64(value - largest)))
		sum += to[i]
	}
	scaleBy(to, 1/sum)
}

// train trains with a number of batches.
func (t *trainer) train(c *corpus, batches int, random *rand.Rand, progress func(batch int, loss float64)) {
	var byKind [kindCount][]*example
	for i := range c.Pairs {
		if e := &c.Pairs[i]; !e.Held {
			byKind[e.Kind] = append(byKind[e.Kind], e)
		}
	}
	batch := make([]*example, batchSize)
	loss := 0.0
	for n := range batches {
		examples := byKind[drawKind(random)]
		first, span := 0, len(examples)
		// Half of the batches are neighbours in the corpus, which are harder to distinguish.
		if kind := examples[0].Kind; random.IntN(2) == 0 && kind >= kindHeading {
			span = min(span, 4*batchSize)
			first = random.IntN(len(examples) - span + 1)
		}
		for i := range batch {
			batch[i] = examples[first+random.IntN(span)]
		}
		loss += t.step(batch, 1-0.9*float32(n)/float32(batches))
		if (n+1)%500 == 0 {
			progress(n+1, loss/500)
			loss = 0
		}
	}
}

func drawKind(random *rand.Rand) kind {
	draw := random.IntN(100)
	for k, share := range shares {
		if draw < share {
			return kind(k)
		}
		draw -= share
	}
	return kindCloze
}
