package search

import (
	"math"

	"magpie/internal/index"
)

// BM25 over fields (Robertson and Zaragoza, The Probabilistic Relevance
// Framework: BM25 and Beyond, 2009): occurrences are weighted by field and added
// up before they are damped. Only the body is normalised by length; titles and
// headings are short, and how much of them a question covers is rated apart.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// fieldWeights are what one occurrence counts in each field.
var fieldWeights = [index.FieldCount]float64{
	index.FieldTitle: 2, index.FieldHeading: 2, index.FieldPath: 1, index.FieldBody: 1,
}

// background is how many passages without any word of the question are added
// to every collection when rarity is reckoned. It keeps a collection of a few
// passages from taking every word that it has for a common one.
const background = 1000

// rarity is BM25's inverse document frequency with the background added.
func rarity(passages, matching int) float64 {
	n, m := float64(passages+background), float64(matching)
	return math.Log(1 + (n-m+0.5)/(m+0.5))
}

// lexical is what the words of a question say about a passage, in shares of
// the question's whole rarity, so from 0 to 1.
type lexical struct {
	bm25     float64 // BM25, of its greatest possible value
	coverage float64 // rarity of the words that stand anywhere in the passage
	title    float64 // how far question and title are the same words
	heading  float64 // how far question and own heading are the same words
}

// rate scores a candidate. averageBody is the mean length of bodies in words.
func (q *question) rate(c *candidate, averageBody float64) lexical {
	var l lexical
	whole := 0.0
	for i := range q.words {
		whole += q.words[i].idf
	}
	if whole == 0 {
		return l
	}
	norm := 1.0
	if averageBody > 0 {
		norm = 1 - bm25B + bm25B*float64(c.bodyWords)/averageBody
	}
	var inTitle, inHeading, titleRarity, headingRarity float64
	for i := range c.hits {
		h := &c.hits[i]
		idf := q.words[h.word].idf
		tf := fieldWeights[index.FieldBody] * float64(h.counts[index.FieldBody]) / norm
		for _, f := range [...]index.Field{index.FieldTitle, index.FieldHeading, index.FieldPath} {
			tf += fieldWeights[f] * float64(h.counts[f])
		}
		l.bm25 += idf * tf / (bm25K1 + tf)
		l.coverage += idf
		if h.counts[index.FieldTitle] > 0 {
			inTitle++
			titleRarity += idf
		}
		if h.counts[index.FieldHeading] > 0 {
			inHeading++
			headingRarity += idf
		}
	}
	l.bm25 /= whole
	l.coverage /= whole
	l.title = sameness(inTitle, titleRarity/whole, c.titleWords)
	l.heading = sameness(inHeading, headingRarity/whole, c.headingWords)
	return l
}

// sameness is 1 when all words of the question stand in a heading that has no
// others, less as either has more.
func sameness(matched, share float64, words int32) float64 {
	if matched == 0 || words == 0 {
		return 0
	}
	if share > 1-1e-9 { // sums of shares are not exact
		share = 1
	}
	return share * min(matched/float64(words), 1)
}
