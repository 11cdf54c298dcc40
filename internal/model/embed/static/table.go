package static

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Dimensions is the length of every vector.
const Dimensions = 256

// The layout of a table, little-endian:
//   - the magic text;
//   - the numbers of slots, of words and of rows for n-grams (32 bits each);
//   - the weight of the signs of unknown words (16 bits) and padding (16 bits);
//   - the slots of an open hash table: a check value and the number of a row from 1 (32 bits each);
//   - a scale for each row (16 bits);
//   - the rows: four bits for each dimension, offset by zero, even dimensions in the lower half of a byte.
const (
	magic      = "magpie static embedding 1\n\x00\x00\x00\x00\x00\x00"
	headerSize = len(magic) + 16
	slotSize   = 8
	rowSize    = Dimensions / 2
	zero       = 8 // the four bits of the value 0
	levels     = 7 // the largest value of four bits
)

// A Table is a table of vectors. It is immutable and safe for concurrent use.
type Table struct {
	slots  string
	scales string
	rows   string
	mask   uint32
	words  int
	grams  int
	sign   int32
}

// Open returns the table in data without a copy.
func Open(data string) (*Table, error) {
	if len(data) < headerSize || data[:len(magic)] != magic {
		return nil, errors.New("not a table of word vectors")
	}
	number := func(at int) int { return int(read32(data[len(magic):], at)) }
	slots, words, grams := number(0), number(1), number(2)
	if slots == 0 || slots&(slots-1) != 0 || grams == 0 || words*8 > slots*7 || words >= slots ||
		len(data) != headerSize+slots*slotSize+(words+grams)*(2+rowSize) {
		return nil, fmt.Errorf("a table of %d slots, %d words and %d sequences cannot have %d bytes", slots, words, grams, len(data))
	}
	t := &Table{mask: uint32(slots - 1), words: words, grams: grams, sign: int32(number(3) & math.MaxUint16)} //nolint:gosec // read from 32 bits
	rest := data[headerSize:]
	t.slots, rest = rest[:slots*slotSize], rest[slots*slotSize:]
	t.scales, t.rows = rest[:(words+grams)*2], rest[(words+grams)*2:]
	return t, nil
}

func read32(s string, i int) uint32 {
	s = s[4*i : 4*i+4]
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
}

// lookup returns the row of a word.
func (t *Table) lookup(hash uint64) (row int, ok bool) {
	check := uint32(hash >> 32)
	for slot := uint32(hash) & t.mask; ; slot = (slot + 1) & t.mask { //nolint:gosec // the lower half
		found := read32(t.slots, int(2*slot+1))
		if found == 0 {
			return 0, false
		}
		if read32(t.slots, int(2*slot)) == check && int(found) <= t.words {
			return int(found) - 1, true
		}
	}
}

func (t *Table) scale(row int) int32 {
	return int32(t.scales[2*row]) | int32(t.scales[2*row+1])<<8
}

func (t *Table) row(row int) string { return t.rows[row*rowSize : (row+1)*rowSize] }

// Words are the contents of a new table.
type Words struct {
	Terms []string
	// Vectors holds the rows of the terms, then those of the n-grams, Dimensions values each.
	Vectors []float32
	// Sign is the weight of the signs of unknown words.
	Sign float32
}

// Build returns the bytes of a table. The longest vector has the largest scale, since only relative lengths matter.
func Build(words Words) ([]byte, error) {
	rows := len(words.Vectors) / Dimensions
	if rows <= len(words.Terms) || len(words.Vectors)%Dimensions != 0 {
		return nil, fmt.Errorf("%d values for %d words and their n-grams", len(words.Vectors), len(words.Terms))
	}
	slots := 1
	for slots*7 < len(words.Terms)*8 || slots <= len(words.Terms) {
		slots *= 2
	}
	steps := make([]float64, rows)
	largest := 0.0
	for row := range rows {
		steps[row] = bestStep(words.Vectors[row*Dimensions : (row+1)*Dimensions])
		largest = max(largest, steps[row])
	}
	unit := largest / maxScale
	data := []byte(magic)
	for _, number := range []int{slots, len(words.Terms), rows - len(words.Terms), int(math.Round(float64(words.Sign) / unit))} {
		data = binary.LittleEndian.AppendUint32(data, uint32(number)) //nolint:gosec // sizes of a table
	}
	table := make([]uint32, 2*slots)
	for i, term := range words.Terms {
		hash := HashWord(term)
		slot := int(uint32(hash)) & (slots - 1) //nolint:gosec // the lower half
		for table[2*slot+1] != 0 {
			slot = (slot + 1) & (slots - 1)
		}
		table[2*slot], table[2*slot+1] = uint32(hash>>32), uint32(i+1)
	}
	for _, value := range table {
		data = binary.LittleEndian.AppendUint32(data, value)
	}
	scales := make([]float64, rows)
	for row := range rows {
		scales[row] = max(1, math.Round(steps[row]/unit))
		data = binary.LittleEndian.AppendUint16(data, uint16(scales[row]))
	}
	for row := range rows {
		values := words.Vectors[row*Dimensions : (row+1)*Dimensions]
		for i := 0; i < Dimensions; i += 2 {
			low, high := level(values[i], unit*scales[row]), level(values[i+1], unit*scales[row])
			data = append(data, byte(low+zero)|byte(high+zero)<<4) //nolint:gosec // four bits each
		}
	}
	return data, nil
}

// level returns the nearest multiple of a step.
func level(value float32, step float64) int {
	return int(max(-levels, min(levels, math.Round(float64(value)/step))))
}

// bestStep returns the quantization step with the smallest error of a row. Clipping the few large values allows finer
// steps for the others.
func bestStep(row []float32) float64 {
	peak := 0.0
	for _, value := range row {
		peak = max(peak, math.Abs(float64(value)))
	}
	best, least := peak/levels, math.Inf(1)
	for part := 10; part <= 20; part++ {
		step := peak / levels * float64(part) / 20
		lost := 0.0
		for _, value := range row {
			difference := float64(value) - float64(level(value, max(step, 1e-12)))*step
			lost += difference * difference
		}
		if lost < least {
			best, least = step, lost
		}
	}
	return best
}
