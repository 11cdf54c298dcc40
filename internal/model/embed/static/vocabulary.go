package static

// Knows returns the share of a text's features that the table has, 0 for a text
// without any.
func (p *Pool) Knows(text string) float64 {
	features := p.reader.Features(text)
	known := 0
	for _, f := range features {
		if _, ok := p.table.lookup(HashWord(f.Term)); ok {
			known++
		}
	}
	return float64(known) / float64(max(len(features), 1))
}
