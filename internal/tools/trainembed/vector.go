package main

import (
	"math"
	"math/rand/v2"
)

// A matrix is a dense matrix in row order.
type matrix struct {
	rows, columns int
	values        []float32
}

func newMatrix(rows, columns int) *matrix {
	return &matrix{rows: rows, columns: columns, values: make([]float32, rows*columns)}
}

func (m *matrix) row(i int) []float32 {
	return m.values[i*m.columns : (i+1)*m.columns : (i+1)*m.columns]
}

// fillNormal fills a matrix with normally distributed numbers.
func (m *matrix) fillNormal(random *rand.Rand) {
	for i := range m.values {
		m.values[i] = float32(random.NormFloat64())
	}
}

func length(a []float32) float32 { return float32(math.Sqrt(float64(dot(a, a)))) }

func scaleBy(a []float32, by float32) {
	for i := range a {
		a[i] *= by
	}
}

// orthonormalize makes the columns of a tall matrix orthonormal (Gram-Schmidt, twice). Its argument is the transpose.
func orthonormalize(transposed *matrix) {
	for i := range transposed.rows {
		a := transposed.row(i)
		for range 2 {
			for j := range i {
				axpy(a, -dot(a, transposed.row(j)), transposed.row(j))
			}
		}
		if l := length(a); l > 0 {
			scaleBy(a, 1/l)
		}
	}
}

func (m *matrix) transposed() *matrix {
	t := newMatrix(m.columns, m.rows)
	for i := range m.rows {
		for j, value := range m.row(i) {
			t.values[j*m.rows+i] = value
		}
	}
	return t
}

// eigen returns the eigenvalues and eigenvectors (rows) of a symmetric matrix by Jacobi's method, largest first.
func eigen(m [][]float64) (values []float64, vectors [][]float64) {
	n := len(m)
	vectors = make([][]float64, n)
	for i := range vectors {
		vectors[i] = make([]float64, n)
		vectors[i][i] = 1
	}
	for range 12 {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if math.Abs(m[p][q]) < 1e-12*math.Sqrt(math.Abs(m[p][p]*m[q][q])) {
					continue
				}
				theta := (m[q][q] - m[p][p]) / (2 * m[p][q])
				t := 1 / (math.Abs(theta) + math.Sqrt(theta*theta+1))
				if theta < 0 {
					t = -t
				}
				c := 1 / math.Sqrt(t*t+1)
				s := t * c
				for k := range n {
					m[k][p], m[k][q] = c*m[k][p]-s*m[k][q], s*m[k][p]+c*m[k][q]
				}
				mp, mq, vp, vq := m[p], m[q], vectors[p], vectors[q]
				for k := range n {
					mp[k], mq[k] = c*mp[k]-s*mq[k], s*mp[k]+c*mq[k]
					vp[k], vq[k] = c*vp[k]-s*vq[k], s*vp[k]+c*vq[k]
				}
			}
		}
	}
	values = make([]float64, n)
	for i := range n {
		values[i] = m[i][i]
	}
	for i := range n {
		best := i
		for j := i + 1; j < n; j++ {
			if values[j] > values[best] {
				best = j
			}
		}
		values[i], values[best] = values[best], values[i]
		vectors[i], vectors[best] = vectors[best], vectors[i]
	}
	return values, vectors
}
