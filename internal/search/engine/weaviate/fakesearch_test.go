package weaviate_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

const maxResults = 10_000

// fields is a message that was read, by the numbers of its fields.
type fields map[protowire.Number][]any

func parse(b []byte) fields {
	out := fields{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		b = b[n:]
		var value any
		switch kind {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		default:
			panic(fmt.Sprint("kind ", kind))
		}
		if n < 0 {
			panic(protowire.ParseError(n))
		}
		out[number], b = append(out[number], value), b[n:]
	}
	return out
}

func (f fields) number(n protowire.Number) uint64 {
	if len(f[n]) == 0 {
		return 0
	}
	return f[n][0].(uint64)
}

func (f fields) texts(n protowire.Number) []string {
	out := []string{}
	for _, v := range f[n] {
		out = append(out, string(v.([]byte)))
	}
	return out
}

func (f fields) text(n protowire.Number) string { return strings.Join(f.texts(n), "\x00") }

func (f fields) messages(n protowire.Number) []fields {
	var out []fields
	for _, v := range f[n] {
		out = append(out, parse(v.([]byte)))
	}
	return out
}

func appendMessage(b []byte, n protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), m)
}

func appendText(b []byte, n protowire.Number, s string) []byte { return appendMessage(b, n, []byte(s)) }

func appendNumber(b []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v)
}

func appendFloat(b []byte, n protowire.Number, v float32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), math.Float32bits(v))
}

// stored is an object of the fake.
type stored struct {
	shard   string
	vector  []float32
	texts   map[string][]string
	numbers map[string]float64
	bools   map[string]bool
	tokens  map[string][]string // of texts
}

func read(m fields) *stored {
	o := &stored{texts: map[string][]string{}, numbers: map[string]float64{}, bools: map[string]bool{}, tokens: map[string][]string{}}
	for _, p := range m.messages(3) {
		for _, entry := range p.messages(1)[0].messages(1) {
			name, value := entry.text(1), entry.messages(2)[0]
			switch {
			case value[2] != nil:
				o.numbers[name] = math.Float64frombits(value.number(2))
			case value[3] != nil:
				o.texts[name] = value.texts(3)
			case value[4] != nil:
				o.bools[name] = value.number(4) == 1
			}
		}
		for _, list := range p.messages(6) {
			o.texts[list.text(2)] = list.texts(1)
		}
	}
	o.vector = floats(m.text(6))
	return o
}

func floats(b string) []float32 {
	var out []float32
	for i := 0; i < len(b); i += 4 {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32([]byte(b[i:]))))
	}
	return out
}

// property returns how a class describes a property.
func (f *fake) property(class, name string) map[string]any {
	list, _ := f.classes[class]["properties"].([]any)
	for _, p := range list {
		if p := p.(map[string]any); p["name"] == name {
			return p
		}
	}
	panic("no property " + name)
}

// split splits texts as the tokenization of the property says.
func (f *fake) split(class, property string, texts []string) []string {
	if property == "_id" || property == "doc" {
		return texts
	}
	var out []string
	for _, text := range texts {
		switch f.property(class, property)["tokenization"] {
		case "whitespace":
			out = append(out, strings.FieldsFunc(text, unicode.IsSpace)...)
		case "field":
			out = append(out, strings.TrimFunc(text, unicode.IsSpace))
		default:
			panic("the tokenization of " + property)
		}
	}
	return out
}

// compile returns the objects that a condition selects.
func (f *fake) compile(class string, m fields) func(uuid.UUID, *stored) bool {
	property := ""
	for _, target := range m.messages(20) {
		property = target.text(1)
	}
	var parts []func(uuid.UUID, *stored) bool
	for _, part := range m.messages(3) {
		parts = append(parts, f.compile(class, part))
	}
	bound, truth, operator := float64(int64(m.number(5))), m.number(6) == 1, m.number(1)
	number := func(compare func(n float64) bool) func(uuid.UUID, *stored) bool {
		return func(_ uuid.UUID, o *stored) bool {
			n, ok := o.numbers[property]
			return ok && compare(n)
		}
	}
	switch operator {
	case 1:
		return func(_ uuid.UUID, o *stored) bool {
			value, ok := o.bools[property]
			return ok && value == truth
		}
	case 4:
		return number(func(n float64) bool { return n >= bound })
	case 5:
		return number(func(n float64) bool { return n < bound })
	case 6:
		return number(func(n float64) bool { return n <= bound })
	case 7, 8:
		return func(id uuid.UUID, o *stored) bool {
			// All, or any.
			return slices.ContainsFunc(parts, func(f func(uuid.UUID, *stored) bool) bool { return f(id, o) == (operator == 8) }) == (operator == 8)
		}
	case 12, 14:
		wanted := map[string]bool{}
		for _, list := range m.messages(9) {
			for _, token := range f.split(class, property, list.texts(1)) {
				wanted[token] = true
			}
		}
		return func(id uuid.UUID, o *stored) bool {
			have := []string{id.String()}
			if property != "_id" {
				have = o.tokens[property]
			}
			return slices.ContainsFunc(have, func(s string) bool { return wanted[s] }) == (operator == 12)
		}
	default:
		panic(fmt.Sprint("operator ", operator))
	}
}

type candidate struct {
	id    uuid.UUID
	score float64
}

// shards returns the names of the shards of a class: its tenants, or as many as it asked
// for.
func (f *fake) shards(class string) []string {
	if f.hasTenants(class) {
		return f.tenants[class]
	}
	config, _ := f.classes[class]["shardingConfig"].(map[string]any)
	count, _ := config["desiredCount"].(float64)
	out := make([]string, int(count))
	for i := range out {
		out[i] = fmt.Sprint("p", i)
	}
	return out
}

// placed returns the nodes that have a replica of a shard.
func (f *fake) placed(class, shard string) []*fakeNode {
	if f.replicas == 0 {
		return f.nodes
	}
	first := slices.Index(f.shards(class), shard)
	var out []*fakeNode
	for i := range f.replicas {
		out = append(out, f.nodes[(first+i)%len(f.nodes)])
	}
	return out
}

// visible returns what an answer of the node is made of, as the real one does it: its own
// replica of a shard, else that of another node that it has heard of. A tenant without
// either is an error, but another shard is left out.
func (n *fakeNode) visible(class, tenant string) (map[uuid.UUID]*stored, error) {
	f := n.fake
	if f.classes[class] == nil || n.unaware {
		return nil, errNoClass
	}
	shards := f.shards(class)
	if f.hasTenants(class) {
		if !slices.Contains(shards, tenant) {
			return nil, fmt.Errorf("tenant not found: %q", tenant)
		}
		shards = []string{tenant}
	}
	out, answered := map[uuid.UUID]*stored{}, 0
	for _, shard := range shards {
		nodes := f.placed(class, shard)
		if slices.Contains(nodes, n) {
			nodes = []*fakeNode{n}
		} else if n.alone {
			continue
		}
		answered++
		for id, o := range nodes[0].objects[class] {
			if o.shard == shard {
				out[id] = o
			}
		}
	}
	if answered == 0 {
		return nil, errors.New("no read replica found")
	}
	return out, nil
}

func (n *fakeNode) search(m fields) ([]byte, error) {
	class := m.text(1)
	objects, err := n.visible(class, m.text(10))
	if err != nil {
		return nil, err
	}
	if m.number(30) > maxResults || m.number(11) != 1 {
		return nil, errors.New("query maximum results exceeded, or consistency")
	}
	found := []candidate{}
	selects := func(uuid.UUID, *stored) bool { return true }
	for _, condition := range m.messages(40) {
		selects = n.fake.compile(class, condition)
	}
	near := m.messages(43)
	for id, o := range objects {
		if !selects(id, o) {
			continue
		}
		c := candidate{id: id}
		if len(near) > 0 {
			vector := floats(near[0].text(4))
			if len(o.vector) != len(vector) {
				continue
			}
			for i, x := range vector {
				c.score += float64(x) * float64(o.vector[i])
			}
		}
		found = append(found, c)
	}
	if words := m.messages(42); len(words) > 0 {
		found = n.rank(class, objects, found, words[0])
	}
	slices.SortFunc(found, func(x, y candidate) int {
		if x.score != y.score {
			return int(math.Copysign(1, y.score-x.score))
		}
		return strings.Compare(x.id.String(), y.id.String())
	})
	var out []byte
	for _, c := range found[:min(len(found), int(m.number(30)))] {
		metadata := appendText(nil, 1, c.id.String())
		switch wanted := m.messages(21)[0]; {
		case wanted.number(5) == 1 && len(near) > 0:
			metadata = appendFloat(metadata, 7, float32(-c.score))
		case wanted.number(7) == 1 && len(near) == 0:
			metadata = appendFloat(metadata, 11, float32(c.score))
		}
		out = appendMessage(out, 2, appendMessage(n.result(objects[c.id], m.messages(20)[0].texts(1)), 2, metadata))
	}
	return out, nil
}

// result encodes an object with some of its properties.
func (n *fakeNode) result(o *stored, properties []string) []byte {
	var values []byte
	for _, name := range properties {
		value := appendText(nil, 7, strings.Join(o.texts[name], ""))
		if number, ok := o.numbers[name]; ok {
			value = appendNumber(nil, 8, uint64(int64(number)))
		}
		values = appendMessage(values, 1, appendMessage(appendText(nil, 1, name), 2, value))
	}
	return appendMessage(nil, 1, appendMessage(nil, 11, values))
}

// rank scores by BM25 for each property, and leaves what has no word.
func (n *fakeNode) rank(class string, objects map[uuid.UUID]*stored, found []candidate, words fields) []candidate {
	config := n.fake.classes[class]["invertedIndexConfig"].(map[string]any)["bm25"].(map[string]any)
	k1, b := config["k1"].(float64), config["b"].(float64)
	scores := map[uuid.UUID]float64{}
	for _, weighted := range words.texts(2) {
		property, text, boosted := strings.Cut(weighted, "^")
		boost := 1.0
		if boosted {
			boost, _ = strconv.ParseFloat(text, 64)
		}
		wanted := map[string]bool{}
		for _, term := range strings.FieldsFunc(words.text(1), unicode.IsSpace) {
			wanted[term] = true
		}
		total, have := 0.0, map[string]float64{}
		lengths, counts := map[uuid.UUID]float64{}, map[uuid.UUID]map[string]float64{}
		for id, o := range objects {
			list, of := o.tokens[property], map[string]float64{}
			for _, t := range list {
				if wanted[t] {
					of[t]++
				}
			}
			for t := range of {
				have[t]++
			}
			if len(list) > 0 {
				lengths[id], counts[id] = float64(len(list)), of
				total += float64(len(list))
			}
		}
		average, all := total/float64(len(lengths)), float64(len(objects))
		for id, of := range counts {
			for t, tf := range of {
				idf := math.Log1p((all - have[t] + 0.5) / (have[t] + 0.5))
				scores[id] += boost * idf * tf * (k1 + 1) / (tf + k1*(1-b+b*lengths[id]/average))
			}
		}
	}
	var out []candidate
	for _, c := range found {
		if score, ok := scores[c.id]; ok {
			out = append(out, candidate{c.id, score})
		}
	}
	return out
}
