package main

import (
	"math"
	"strconv"

	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// finish improves the trained vectors for texts unlike the training texts. It reduces directions with a high variance, adds
// a random part to each word so that the word itself remains recognizable, and shortens frequent words again, because
// training also learns from style.
func finish(c *corpus, table, grams *matrix, workers int) {
	evenOut(c, table, grams, workers)
	spelling := newMatrix(grams.rows, grams.columns)
	for i := range spelling.rows {
		copy(spelling.row(i), static.Signs("\x00"+strconv.Itoa(i)))
		scaleBy(grams.row(i), unknownScale)
		axpy(grams.row(i), sign*spellingLength, spelling.row(i))
	}
	inParallel(workers, len(c.Terms), func(_, i int) {
		row := table.row(i)
		factor := identityLength * length(row) / 16
		axpy(row, factor, static.Signs(c.Terms[i]))
		if isSpelt(c.Terms[i]) {
			found := static.AppendGrams(nil, c.Terms[i], grams.rows)
			for _, gram := range found {
				axpy(row, factor*spellingLength/float32(len(found)), spelling.row(int(gram)))
			}
		}
		scaleBy(row, finalSmoothing/(finalSmoothing+c.Shares[i]))
	})
}

// evenOut divides the principal components of passages by the fourth root of their variance, which is half the way to equal
// variance. It is gentler than removing the largest components (Mu and Viswanath, 2018).
func evenOut(c *corpus, table, grams *matrix, workers int) {
	const passages = 20_000
	every := max(1, len(c.Texts)/passages)
	sums := newMatrix(len(c.Texts)/every, table.columns)
	inParallel(workers, sums.rows, func(_, i int) {
		var b bag
		b.fill(c.Texts[i*every])
		b.sum(sums.row(i), table)
	})
	across := sums.transposed()
	products := make([][]float64, table.columns)
	for i := range products {
		products[i] = make([]float64, table.columns)
		for j := range i + 1 {
			products[i][j] = float64(dot(across.row(i), across.row(j)))
			products[j][i] = products[i][j]
		}
	}
	values, vectors := eigen(products)
	basis := newMatrix(table.columns, table.columns)
	for d, vector := range vectors {
		for i, value := range vector {
			basis.row(d)[i] = float32(value)
		}
	}
	for _, m := range []*matrix{table, grams} {
		inParallel(workers, m.rows, func(_, i int) {
			row := m.row(i)
			evened := make([]float32, len(row))
			for d, value := range values {
				axpy(evened, dot(row, basis.row(d))*float32(math.Pow(values[len(values)/2]/value, 0.25)), basis.row(d))
			}
			copy(row, evened)
		})
	}
}
