package main

import (
	"math"
	"math/rand/v2"
)

// factor returns a vector for each row of a sparse matrix: the left singular vectors times the square roots of the singular
// values, by subspace iteration from a random start (Halko, Martinsson and Tropp, 2011).
func factor(m *sparse, dimensions, workers int, random *rand.Rand) *matrix {
	const spare, rounds = 32, 2
	start := newMatrix(m.width, dimensions+spare)
	start.fillNormal(random)
	basis := m.transposedTimes(m.times(start, workers), workers).transposed()
	orthonormalize(basis)
	for range rounds - 1 {
		basis = m.transposedTimes(m.times(basis.transposed(), workers), workers).transposed()
		orthonormalize(basis)
	}
	projected := m.times(basis.transposed(), workers)
	size := projected.columns
	gram := make([][]float64, size)
	for i := range gram {
		gram[i] = make([]float64, size)
	}
	partial := make([][][]float64, workers)
	inParallel(workers, workers, func(_, w int) {
		sums := make([][]float64, size)
		for i := range sums {
			sums[i] = make([]float64, size)
		}
		for r := w; r < projected.rows; r += workers {
			row := projected.row(r)
			for i, a := range row {
				for j := range i + 1 {
					sums[i][j] += float64(a) * float64(row[j])
				}
			}
		}
		partial[w] = sums
	})
	for _, sums := range partial {
		for i := range size {
			for j := range i + 1 {
				gram[i][j] += sums[i][j]
				if i != j {
					gram[j][i] += sums[i][j]
				}
			}
		}
	}
	values, vectors := eigen(gram)
	rotation := newMatrix(size, dimensions)
	for d := range dimensions {
		// The singular value is the root of the eigenvalue. A row of the product is the left vector times the singular value.
		scale := 1 / math.Pow(math.Max(values[d], 1e-12), 0.25)
		for i := range size {
			rotation.values[i*dimensions+d] = float32(vectors[d][i] * scale)
		}
	}
	result := newMatrix(projected.rows, dimensions)
	inParallel(workers, projected.rows, func(_, r int) {
		row := result.row(r)
		for i, a := range projected.row(r) {
			axpy(row, a, rotation.row(i))
		}
	})
	return result
}
