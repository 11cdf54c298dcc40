package main

import (
	"math/rand/v2"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// fitGrams returns a vector for each row of n-grams, so that the mean over the n-grams of a word approximates the vector of
// the word.
func fitGrams(terms []string, table *matrix, rows int, random *rand.Rand) *matrix {
	const epochs, rate = 6, 0.3
	fitted := newMatrix(rows, table.columns)
	var grams []uint32
	missing := make([]float32, table.columns)
	order := make([]int, 0, len(terms))
	for i, term := range terms {
		if isSpelt(term) {
			order = append(order, i)
		}
	}
	for epoch := range epochs {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			grams = static.AppendGrams(grams[:0], terms[i], rows)
			copy(missing, table.row(i))
			share := 1 / float32(len(grams))
			for _, gram := range grams {
				axpy(missing, -share, fitted.row(int(gram)))
			}
			for _, gram := range grams {
				axpy(fitted.row(int(gram)), rate/float32(epoch+1), missing)
			}
		}
	}
	return fitted
}

// isSpelt reports whether n-grams are fitted to a word.
func isSpelt(term string) bool {
	for _, r := range term {
		if !unicode.IsLetter(r) && !unicode.IsMark(r) || r >= 0x2E80 {
			return false
		}
	}
	return utf8.RuneCountInString(term) >= 3
}

// asUnknown returns the vectors with those from first on replaced by the vectors of unknown words.
func asUnknown(terms []string, table, grams *matrix, first int, sign float32) *matrix {
	result := newMatrix(table.rows, table.columns)
	copy(result.values, table.values)
	for i := first; i < table.rows; i++ {
		row := result.row(i)
		clear(row)
		found := static.AppendGrams(nil, terms[i], grams.rows)
		for _, gram := range found {
			axpy(row, 1/float32(len(found)), grams.row(int(gram)))
		}
		axpy(row, sign, static.Signs(terms[i]))
	}
	return result
}
