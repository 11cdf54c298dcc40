package weaviate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Each shard of a class is a tenant, which requests name. The engine searches a class that
// it shards itself in the shards of which it knows a node, and says nothing of the others:
// a node that has just come back, and has not heard of the other nodes yet, answers with
// what it has itself. For a tenant that it cannot reach, it answers with an error.

// shardName returns the name of a shard as a tenant.
func shardName(i int) string { return "s" + strconv.Itoa(i) }

// shardOf returns the shard of a passage, which is the same for ever.
func shardOf(passage uuid.UUID, shards int) int {
	h := fnv.New64a()
	_, _ = h.Write(passage[:])                     // documented never to fail
	return int(h.Sum64() % uint64(max(shards, 1))) //nolint:gosec // below the number of shards
}

// byShard returns the passages of each shard.
func byShard(passages []uuid.UUID, shards int) [][]uuid.UUID {
	out := make([][]uuid.UUID, shards)
	for _, id := range passages {
		i := shardOf(id, shards)
		out[i] = append(out[i], id)
	}
	return out
}

// best returns the best results of all shards.
func best(replies [][]result, limit int) []result {
	all := slices.Concat(replies...)
	slices.SortStableFunc(all, func(x, y result) int {
		return cmp.Or(cmp.Compare(y.score, x.score), bytes.Compare(x.passage[:], y.passage[:]))
	})
	return all[:min(len(all), max(limit, 0))]
}

// schemaTenant is a tenant in REST.
type schemaTenant struct {
	Name string `json:"name"`
}

func tenantsPath(class string) string { return "/v1/schema/" + class + "/tenants" }

// lacking returns the shards that a class has not, in a list of all of its tenants.
func lacking(tenants []schemaTenant, shards int) []schemaTenant {
	var out []schemaTenant
	for i := range shards {
		if t := (schemaTenant{shardName(i)}); !slices.Contains(tenants, t) {
			out = append(out, t)
		}
	}
	return out
}

// addShards adds the shards that a class lacks, and waits a moment until every node that
// answers knows them.
func (b *Backend) addShards(ctx context.Context, class string, shards int) error {
	var have []schemaTenant
	if err := b.rest(ctx, http.MethodGet, tenantsPath(class), nil, &have); err != nil {
		return fmt.Errorf("list the shards of class %s: %w", class, err)
	}
	missing := lacking(have, shards)
	if len(missing) == 0 {
		return nil
	}
	body, err := json.Marshal(missing)
	if err != nil {
		return fmt.Errorf("describe the shards of class %s: %w", class, err)
	}
	if err := b.rest(ctx, http.MethodPost, tenantsPath(class), body, nil); err != nil {
		// Another process may have added them.
		have = nil
		if b.rest(ctx, http.MethodGet, tenantsPath(class), nil, &have) != nil || len(lacking(have, shards)) > 0 {
			return fmt.Errorf("add shards to class %s: %w", class, err)
		}
	}
	return b.settle(ctx, func(ctx context.Context, n *node) bool {
		var have []schemaTenant
		// A node that does not answer agrees.
		return b.restAt(ctx, n, http.MethodGet, tenantsPath(class), nil, &have) != nil || len(lacking(have, shards)) == 0
	})
}
