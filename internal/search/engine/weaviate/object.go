package weaviate

import (
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// properties collects the properties of an object.
type properties struct {
	values message // google.protobuf.Struct
	lists  message // fields of BatchObject.Properties
}

// value adds a property; set writes the value.
func (p *properties) value(name string, set func(*message)) {
	var value, entry message
	set(&value)
	entry.text(entryKey, name)
	entry.bytes(entryValue, value)
	p.values.bytes(structFields, entry)
}

func (p *properties) text(name, s string) {
	p.value(name, func(m *message) { m.text(structString, s) })
}
func (p *properties) boolean(name string, v bool) {
	p.value(name, func(m *message) { m.boolean(structBool, v) })
}
func (p *properties) integer(name string, n int64) {
	p.value(name, func(m *message) { m.double(structNumber, float64(n)) })
}

// list adds a list of texts. An object without the property has none.
func (p *properties) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	var array message
	for _, v := range values {
		array.text(arrayValues, v)
	}
	array.text(arrayName, name)
	p.lists.bytes(objectTexts, array)
}

// encodeObject returns an object as a BatchObject.
func encodeObject(class string, info classInfo, o *engine.Object) (message, error) {
	if err := engine.CheckVector(o.Vector, info.dimensions); err != nil {
		return nil, fmt.Errorf("passage %s: %w", o.Passage, err)
	}
	if o.Passage == uuid.Nil || o.Document == uuid.Nil || o.Change != limited(o.Change) {
		return nil, fmt.Errorf("passage %s of document %s with change %d is not one that can be stored", o.Passage, o.Document, o.Change)
	}
	var p properties
	for f, terms := range o.Fields {
		if text := join(terms); text != "" {
			p.text(textProperties[f], text)
		}
	}
	p.text(propertyDocument, o.Document.String())
	p.integer(propertyChange, o.Change)
	if !o.Time.IsZero() {
		p.integer(propertyTime, micros(o.Time))
	}
	p.boolean(propertyEveryone, o.Readers == nil)
	p.boolean(propertyUnrestricted, o.Restriction == nil)
	p.list(propertyReaders, encodePrincipals(o.Readers))
	p.list(propertyRestriction, encodePrincipals(o.Restriction))
	for f := range rank.FacetCount {
		switch values := encodeAll(o.Values[f]); {
		case f == rank.FacetTag:
			p.list(propertyOf(f), values)
		case len(values) > 1:
			return nil, fmt.Errorf("passage %s: %s has %d values, only tags may have several", o.Passage, propertyOf(f), len(values))
		case len(values) == 1:
			p.text(propertyOf(f), values[0])
		}
	}
	var all, out message
	all.bytes(objectStruct, p.values)
	all = append(all, p.lists...)
	out.text(objectUUID, o.Passage.String())
	out.bytes(objectProperties, all)
	out.text(objectCollection, class)
	out.text(objectTenant, shardName(shardOf(o.Passage, info.shards)))
	if len(o.Vector) > 0 {
		out.bytes(objectVector, vectorBytes(o.Vector))
	}
	return out, nil
}

// batch is what one request stores.
type batch struct {
	objects  []message
	passages []uuid.UUID
}

// request returns the batch as a BatchObjectsRequest.
func (b *batch) request() message {
	var m message
	for _, o := range b.objects {
		m.bytes(batchObjects, o)
	}
	m.integer(batchConsistency, consistencyAll)
	return m
}

// halves splits a batch of two objects or more.
func (b *batch) halves() (first, second batch) {
	n := len(b.objects) / 2
	return batch{b.objects[:n], b.passages[:n]}, batch{b.objects[n:], b.passages[n:]}
}

// The size of a batch. A node stores one in a fraction of putTimeout, so that a batch that
// takes longer waits for a node that has died.
const (
	maxBatchObjects = 100
	maxBatchBytes   = 1 << 20
)

// batches encodes objects as batches of bounded size. Of several forms of a passage it takes
// the last. It leaves out what cannot be stored, and notes why in refused.
func batches(class string, info classInfo, objects []engine.Object, refused *refusals) []batch {
	last := make(map[uuid.UUID]int, len(objects))
	for i := range objects {
		last[objects[i].Passage] = i
	}
	var out []batch
	var open batch
	size := 0
	flush := func() {
		if len(open.objects) > 0 {
			out = append(out, open)
			open, size = batch{}, 0
		}
	}
	for i := range objects {
		o := &objects[i]
		if last[o.Passage] != i {
			continue
		}
		m, err := encodeObject(class, info, o)
		if err != nil {
			refused.add(o.Passage, err.Error())
			continue
		}
		if len(open.objects) == maxBatchObjects || size+len(m) > maxBatchBytes {
			flush()
		}
		open.objects, open.passages = append(open.objects, m), append(open.passages, o.Passage)
		size += len(m)
	}
	flush()
	return out
}

// refusals collects what is refused.
type refusals struct {
	mu      sync.Mutex
	reasons map[uuid.UUID]string
}

func (r *refusals) add(passage uuid.UUID, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reasons == nil {
		r.reasons = make(map[uuid.UUID]string)
	}
	r.reasons[passage] = reason
}

// err returns an engine.RefusedError, or nil if nothing is refused.
func (r *refusals) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.reasons) == 0 {
		return nil
	}
	return &engine.RefusedError{Reasons: r.reasons}
}

// textOf returns the query of words for BM25.
func textOf(terms []string) string { return join(distinct(terms)) }

func distinct(terms []string) []string {
	out, seen := make([]string, 0, len(terms)), make(map[string]bool, len(terms))
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}
