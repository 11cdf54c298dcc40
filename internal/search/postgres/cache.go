package postgres

import "sync"

// A cache holds up to size recently used values in two generations. When the young
// generation is full, the old one is dropped.
type cache[K comparable, V any] struct {
	mutex      sync.Mutex
	size       int
	young, old map[K]V
}

func newCache[K comparable, V any](size int) *cache[K, V] {
	return &cache[K, V]{size: size, young: make(map[K]V)}
}

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	v, ok := c.young[k]
	if !ok {
		if v, ok = c.old[k]; ok {
			c.add(k, v)
		}
	}
	return v, ok
}

func (c *cache[K, V]) put(k K, v V) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.add(k, v)
}

func (c *cache[K, V]) add(k K, v V) {
	if len(c.young) >= c.size/2 {
		c.young, c.old = make(map[K]V), c.young
	}
	c.young[k] = v
}
