package main

import (
	"math"
	"slices"
	"sync"
)

// contexts is the number of context terms, which are the most frequent ones.
const contexts = 32_000

// Neighbours within window terms are counted; nearer ones have a higher weight. Terms with a share above frequent are
// subsampled (Mikolov et al., 2013).
const (
	window   = 6
	frequent = 2e-4
)

// A sparse is a sparse matrix in row order.
type sparse struct {
	starts  []int
	columns []uint32
	values  []float32
	width   int
}

// counts has the co-occurrences of some rows in an open hash table.
type counts struct {
	keys   []uint64 // row<<32 | column, plus 1
	values []float32
	used   int
}

func (c *counts) add(row, column uint32, value float32) {
	if 3*c.used >= 2*len(c.keys) {
		c.grow()
	}
	key := uint64(row)<<32 | uint64(column) + 1
	slot := c.find(key)
	if c.keys[slot] == 0 {
		c.keys[slot] = key
		c.used++
	}
	c.values[slot] += value
}

func (c *counts) find(key uint64) uint64 {
	mask := uint64(len(c.keys) - 1) //nolint:gosec // a table is never empty
	slot := key * 0x9E3779B97F4A7C15
	slot = (slot ^ slot>>32) & mask
	for c.keys[slot] != 0 && c.keys[slot] != key {
		slot = (slot + 1) & mask
	}
	return slot
}

func (c *counts) grow() {
	keys, values := c.keys, c.values
	c.keys, c.values = make([]uint64, max(1<<20, 2*len(keys))), make([]float32, max(1<<20, 2*len(keys)))
	for i, key := range keys {
		if key != 0 {
			slot := c.find(key)
			c.keys[slot], c.values[slot] = key, values[i]
		}
	}
}

// coOccurrences counts terms near context terms, in texts and across the two texts of a pair.
func coOccurrences(c *corpus, workers int) *sparse {
	keep := make([]float32, len(c.Terms))
	for i, share := range c.Shares {
		keep[i] = float32(min(1, math.Sqrt(frequent/float64(share))))
	}
	shards := make([]counts, workers)
	var group sync.WaitGroup
	for shard := range shards {
		group.Go(func() { shards[shard].count(c, keep, shard, workers) })
	}
	group.Wait()
	return collect(shards, len(c.Terms))
}

// count adds the rows of one shard. Every worker reads all texts and counts only its own rows.
func (c *counts) count(corpus *corpus, keep []float32, shard, shards int) {
	for _, text := range corpus.Texts {
		for i, row := range text {
			if int(row)%shards != shard {
				continue
			}
			for j := max(0, i-window); j < min(len(text), i+window+1); j++ {
				if column := text[j]; column < contexts && j != i {
					distance := max(i-j, j-i)
					if value := keep[row] * keep[column] * float32(window+1-distance) / window; value > 0.02 {
						c.add(row, column, value)
					}
				}
			}
		}
	}
	for _, pair := range corpus.Pairs {
		if pair.Held || pair.Kind > kindMessage || len(pair.Left)+len(pair.Right) > 80 {
			continue
		}
		weight := 3 / float32(max(len(pair.Left), len(pair.Right)))
		for _, left := range pair.Left {
			for _, right := range pair.Right {
				value := weight * keep[left] * keep[right]
				if int(left)%shards == shard && right < contexts {
					c.add(left, right, value)
				}
				if int(right)%shards == shard && left < contexts {
					c.add(right, left, value)
				}
			}
		}
	}
}

// collect returns the positive pointwise mutual information, with the probabilities of contexts raised to 0.75
// (Levy, Goldberg and Dagan, 2015).
func collect(shards []counts, rows int) *sparse {
	rowSums, columnSums := make([]float64, rows), make([]float64, contexts)
	sizes := make([]int, rows+1)
	total := 0.0
	for _, shard := range shards {
		for i, key := range shard.keys {
			if key == 0 {
				continue
			}
			row, column := (key-1)>>32, (key-1)&math.MaxUint32
			rowSums[row] += float64(shard.values[i])
			columnSums[column] += float64(shard.values[i])
			total += float64(shard.values[i])
		}
	}
	smoothed := 0.0
	for i, sum := range columnSums {
		columnSums[i] = math.Pow(sum, 0.75)
		smoothed += columnSums[i]
	}
	each := func(f func(row, column uint64, value float32)) {
		for _, shard := range shards {
			for i, key := range shard.keys {
				if key == 0 || shard.values[i] < 0.3 {
					continue
				}
				row, column := (key-1)>>32, (key-1)&math.MaxUint32
				value := math.Log(float64(shard.values[i]) / rowSums[row] * smoothed / columnSums[column])
				if value > 0 {
					f(row, column, float32(value))
				}
			}
		}
	}
	each(func(row, _ uint64, _ float32) { sizes[row+1]++ })
	for i := range rows {
		sizes[i+1] += sizes[i]
	}
	m := &sparse{starts: sizes, columns: make([]uint32, sizes[rows]), values: make([]float32, sizes[rows]), width: contexts}
	next := slices.Clone(sizes[:rows])
	each(func(row, column uint64, value float32) {
		m.columns[next[row]], m.values[next[row]] = uint32(column), value //nolint:gosec // a column
		next[row]++
	})
	return m
}

// times returns the product with a dense matrix.
func (m *sparse) times(right *matrix, workers int) *matrix {
	product := newMatrix(len(m.starts)-1, right.columns)
	inParallel(workers, product.rows, func(_, i int) {
		row := product.row(i)
		for k := m.starts[i]; k < m.starts[i+1]; k++ {
			axpy(row, m.values[k], right.row(int(m.columns[k])))
		}
	})
	return product
}

// transposedTimes returns the product of the transpose with a dense matrix. Each worker computes some columns.
func (m *sparse) transposedTimes(right *matrix, workers int) *matrix {
	product := newMatrix(m.width, right.columns)
	part := right.columns / workers
	inParallel(workers, workers, func(_, w int) {
		from, to := w*part, (w+1)*part
		if w == workers-1 {
			to = right.columns
		}
		for i := range right.rows {
			row := right.row(i)[from:to]
			for k := m.starts[i]; k < m.starts[i+1]; k++ {
				axpy(product.row(int(m.columns[k]))[from:to], m.values[k], row)
			}
		}
	})
	return product
}
