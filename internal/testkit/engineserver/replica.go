package engineserver

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/testkit"
)

// replicasTimeout bounds the time in which the engine removes what a node has kept of objects
// that were deleted while it was away.
const replicasTimeout = 3 * time.Minute

// Holds waits until the nodes have exactly some objects of a class, each in so many replicas
// and in none with a lower change number than it has here, by passage. It lists what
// every node has, without the client that is tested.
func (c *Cluster) Holds(t testing.TB, class string, replicas int, objects map[string]int64) {
	t.Helper()
	began, told := time.Now(), ""
	defer func() {
		if t.Failed() {
			t.Log("the replicas of the engine are not exact: ", told)
		}
	}()
	testkit.WaitWithin(t, replicasTimeout, "exact replicas", func() bool {
		if told != "" {
			_ = testkit.Delay(t.Context(), time.Second)
		}
		found, err := c.replicas(class)
		if err != nil {
			told = err.Error()
			return false
		}
		missing, old, more := 0, 0, 0
		for passage, change := range objects {
			if len(found[passage]) != replicas {
				missing++
			} else if slices.Min(found[passage]) < change {
				old++
			}
		}
		for passage := range found {
			if _, ok := objects[passage]; !ok {
				more++
			}
		}
		if missing+old+more > 0 {
			told = fmt.Sprintf("%d of %d objects are not in %d replicas, %d are older in one, and %d others are there", missing, len(objects), replicas, old, more)
			return false
		}
		return true
	})
	t.Logf("%d objects are in %d replicas each, and no others, after %s; before: %s", len(objects), replicas, time.Since(began).Round(time.Millisecond), cmp.Or(told, "-"))
}

// listed is the number of objects that a node is asked for at once.
const listed = 1000

// replicas returns the change numbers of the objects of a class in each replica, by passage.
func (c *Cluster) replicas(class string) (map[string][]int64, error) {
	out := map[string][]int64{}
	for node := range c.nodes {
		objects, err := c.Objects(node, class)
		if err != nil {
			return nil, err
		}
		for passage, change := range objects {
			out[passage] = append(out[passage], change)
		}
	}
	return out, nil
}

// Objects returns the change numbers of the objects of a class that a node has, by passage.
func (c *Cluster) Objects(node int, class string) (map[string]int64, error) {
	shards, err := c.shards(node, class)
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, shard := range shards {
		after := "00000000-0000-0000-0000-000000000000"
		for {
			var page struct {
				Objects []struct {
					ID         string `json:"id"`
					Properties struct {
						Change int64 `json:"change"`
					} `json:"properties"`
				} `json:"objects"`
			}
			// A node that has a replica of the shard lists that.
			if err := c.get(node, fmt.Sprintf("/v1/objects?class=%s&tenant=%s&limit=%d&after=%s", class, shard, listed, after), &page); err != nil {
				return nil, err
			}
			for _, o := range page.Objects {
				out[o.ID], after = o.Properties.Change, o.ID
			}
			if len(page.Objects) < listed {
				break
			}
		}
	}
	return out, nil
}

// shards returns the names of the shards of which a node has a replica.
func (c *Cluster) shards(node int, class string) (names []string, err error) {
	var reply struct {
		Nodes []struct {
			Name   string                  `json:"name"`
			Shards []struct{ Name string } `json:"shards"`
		} `json:"nodes"`
	}
	if err := c.get(node, fmt.Sprintf("/v1/nodes/%s?output=verbose", class), &reply); err != nil {
		return nil, err
	}
	for _, n := range reply.Nodes {
		if n.Name == fmt.Sprintf("node%d", node+1) {
			for _, s := range n.Shards {
				names = append(names, s.Name)
			}
		}
	}
	return names, nil
}
