package weaviate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/magpie-search/magpie/internal/search/engine"
)

const (
	// maxWriters is the number of batches of one Put that are under way.
	maxWriters = 4
	// documentsADelete is the number of documents that one request deletes.
	documentsADelete = 500
	// passagesARead is the number of passages that one request of Missing asks a node for.
	passagesARead = 1000
)

// Put implements engine.Backend. All replicas on nodes that the engine believes to be alive
// must have stored an object.
func (b *Backend) Put(ctx context.Context, class string, objects []engine.Object) error {
	info, err := b.known(ctx, class, classAge)
	if err != nil {
		return err
	}
	var refused refusals
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(maxWriters)
	for _, part := range batches(class, info, objects, &refused) {
		group.Go(func() error { return b.put(inner, part, &refused) })
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return fmt.Errorf("put %d objects: %w", len(objects), b.explain(ctx, class, err))
	}
	if err := refused.err(); err != nil {
		// Of a class that is gone the engine may refuse everything.
		if _, look := b.lookup(ctx, class); look != nil {
			err = look
		}
		return fmt.Errorf("put %d objects: %w", len(objects), err)
	}
	return nil
}

// put stores a batch, but for objects that the engine refuses. One that it refuses as a
// whole is split, until the object that is the reason is alone.
func (b *Backend) put(ctx context.Context, part batch, refused *refusals) error {
	reply, n, err := b.call(ctx, methodPut, part.request(), putTimeout)
	if err != nil {
		var a *answer
		switch {
		case !errors.As(err, &a) || !a.refused:
			return err
		case len(part.objects) == 1:
			refused.add(part.passages[0], a.text)
			return nil
		}
		first, second := part.halves()
		if err := b.put(ctx, first, refused); err != nil {
			return err
		}
		return b.put(ctx, second, refused)
	}
	complaints, err := readPut(reply)
	if err != nil {
		return err
	}
	for _, c := range complaints {
		if c.index < 0 || c.index >= len(part.passages) {
			return fmt.Errorf("%w: an error of object %d of %d", errMessage, c.index, len(part.passages))
		}
		if !isPermanent(c.text) {
			return &answer{
				node: n.address, temporary: true,
				text: fmt.Sprintf("%d of %d objects are not stored, one of them passage %s: %.300s", len(complaints), len(part.passages), part.passages[c.index], c.text),
			}
		}
		refused.add(part.passages[c.index], fmt.Sprintf("%.300s", c.text))
	}
	return nil
}

// isPermanent reports whether the engine refuses an object for what it is. Everything else
// that it says about objects is about replicas and nodes.
func isPermanent(text string) bool {
	return strings.Contains(text, "invalid") || strings.Contains(text, "vector lengths") || strings.Contains(text, "dimension")
}

// Delete implements engine.Backend.
func (b *Backend) Delete(ctx context.Context, class string, documents []uuid.UUID, before int64) error {
	info, err := b.known(ctx, class, classAge)
	if err != nil {
		return err
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(maxWriters)
	for part := range slices.Chunk(distinctIDs(documents), documentsADelete) {
		for shard := range info.shards {
			group.Go(func() error { return b.remove(inner, class, shard, part, before) })
		}
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return fmt.Errorf("delete the objects of %d documents: %w", len(documents), b.explain(ctx, class, err))
	}
	return nil
}

// remove deletes objects of documents from a shard.
func (b *Backend) remove(ctx context.Context, class string, shard int, documents []uuid.UUID, before int64) error {
	var m message
	m.text(deleteCollection, class)
	m.text(deleteTenant, shardName(shard))
	m.bytes(deleteFilters, all(identifiers(propertyDocument, documents), compare(propertyChange, operatorBelow, limited(before))))
	m.integer(deleteConsistency, consistencyAll)
	for { // one request deletes as many objects as a search finds
		reply, _, err := b.call(ctx, methodDelete, m, deleteTimeout)
		if err != nil {
			return err
		}
		done, err := readDelete(reply)
		if err != nil {
			return err
		}
		if done.failed > 0 || done.matches > 0 && done.successful == 0 {
			return fmt.Errorf("%d of %d objects are left: %w", done.failed, done.matches, engine.ErrUnavailable)
		}
		if done.successful >= done.matches && done.matches < maxResults {
			return nil
		}
	}
}

func distinctIDs(ids []uuid.UUID) []uuid.UUID {
	out, seen := make([]uuid.UUID, 0, len(ids)), make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// Missing implements engine.Backend. It asks every listed node for the passages by their
// ids: a node answers for the shards of which it has a replica from that replica, and for
// the others from one elsewhere. So what a replica lacks is missing in an answer. It fails
// if the engine has more nodes than are listed.
func (b *Backend) Missing(ctx context.Context, class string, passages []uuid.UUID, change int64) ([]uuid.UUID, error) {
	info, err := b.known(ctx, class, classAge)
	if err != nil {
		return nil, err
	}
	ids := distinctIDs(passages)
	if len(ids) == 0 {
		return nil, nil
	}
	if err := b.allListed(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	lacking := make(map[uuid.UUID]bool)
	group, inner := errgroup.WithContext(ctx)
	for _, n := range b.nodes {
		group.Go(func() error {
			for shard, own := range byShard(ids, info.shards) {
				for part := range slices.Chunk(own, passagesARead) {
					changes, err := b.changes(inner, n, class, shard, part)
					if err != nil {
						return err
					}
					mu.Lock()
					for _, id := range part {
						if at, ok := changes[id]; !ok || at < change {
							lacking[id] = true
						}
					}
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return nil, fmt.Errorf("ask every node for %d passages: %w", len(ids), b.explain(ctx, class, err))
	}
	return slices.DeleteFunc(ids, func(id uuid.UUID) bool { return !lacking[id] }), nil
}

// changes returns the changes of the passages that a node finds in a shard.
func (b *Backend) changes(ctx context.Context, n *node, class string, shard int, ids []uuid.UUID) (map[uuid.UUID]int64, error) {
	m := searchRequest(class, len(ids), propertyChange, metadataID)
	m.text(requestTenant, shardName(shard))
	m.bytes(requestFilters, identifiers(propertyID, ids))
	reply, err := b.callAt(ctx, n, methodSearch, m, readTimeout, true)
	if err != nil {
		return nil, err
	}
	results, err := readSearch(reply)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]int64, len(results))
	for _, r := range results {
		out[r.passage] = r.change
	}
	return out, nil
}

// allListed fails if the engine has nodes that are not listed, since they may have replicas.
func (b *Backend) allListed(ctx context.Context) error {
	nodes, err := b.Nodes(ctx)
	if err != nil {
		return err
	}
	if len(nodes) > len(b.nodes) {
		names := make([]string, len(nodes))
		for i, n := range nodes {
			names[i] = n.Name
		}
		return fmt.Errorf("the engine has the nodes %s, and %d addresses are listed: %w", strings.Join(names, ", "), len(b.nodes), engine.ErrUnavailable)
	}
	return nil
}

// searchRequest begins a request for objects with one property, and with what numbers of
// MetadataRequest name.
func searchRequest(class string, limit int, property string, metadata ...protowire.Number) message {
	var m, properties, wanted message
	properties.text(propertiesNames, property)
	for _, number := range metadata {
		wanted.boolean(number, true)
	}
	m.text(requestCollection, class)
	m.integer(requestConsistency, consistencyOne)
	m.bytes(requestProperties, properties)
	m.bytes(requestMetadata, wanted)
	m.integer(requestLimit, wholeLimit(limit))
	m.boolean(requestUses127, true)
	return m
}

// Search implements engine.Backend. It asks one node for each shard, and others if that
// fails.
func (b *Backend) Search(ctx context.Context, class string, q *engine.Query) ([]engine.Found, error) {
	info, err := b.known(ctx, class, 0)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckVector(q.Vector, info.dimensions); err != nil {
		return nil, fmt.Errorf("search class %s: %w", class, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, ended(ctx)
	}
	m := queryRequest(class, q)
	if m == nil {
		return nil, nil
	}
	replies := make([][]result, info.shards)
	group, inner := errgroup.WithContext(ctx)
	for shard := range info.shards {
		group.Go(func() error {
			request := slices.Clone(m)
			request.text(requestTenant, shardName(shard))
			reply, _, err := b.call(inner, methodSearch, request, searchTimeout)
			if err != nil {
				return err
			}
			replies[shard], err = readSearch(reply)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ended(ctx)
		}
		return nil, fmt.Errorf("search class %s: %w", class, b.explain(ctx, class, err))
	}
	results := best(replies, q.Limit)
	out := make([]engine.Found, len(results))
	for i, r := range results {
		out[i] = engine.Found{Passage: r.passage, Document: r.document}
	}
	return out, nil
}

// queryRequest returns the request of a query, without a shard. It is nil for a query that
// finds nothing.
func queryRequest(class string, q *engine.Query) message {
	where, some := conditionOf(q.Filter)
	if q.Limit <= 0 || !some {
		return nil
	}
	var m message
	switch text := textOf(q.Terms); {
	case len(q.Vector) > 0:
		m = searchRequest(class, q.Limit, propertyDocument, metadataID, metadataDistance)
		var near message
		near.bytes(nearVectorVector, vectorBytes(q.Vector))
		m.bytes(requestNearVector, near)
	case text != "" && q.Vector == nil:
		m = searchRequest(class, q.Limit, propertyDocument, metadataID, metadataScore)
		var words message
		words.text(bm25Query, text)
		for _, property := range weighted {
			words.text(bm25Properties, property)
		}
		m.bytes(requestBM25, words)
	default:
		return nil
	}
	if where != nil {
		m.bytes(requestFilters, where)
	}
	return m
}
