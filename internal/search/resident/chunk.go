package resident

// chunkBytes is how large the pieces of chunks are at least.
const chunkBytes = 1 << 20

// chunks keep many pieces of bytes without ever copying what is there already.
type chunks struct {
	list [][]byte
	used int64
}

// place is where a piece is: its chunk, where it starts, and its length.
type place struct{ chunk, at, size uint32 }

func (c *chunks) add(b []byte) place {
	last := len(c.list) - 1
	if last < 0 || len(c.list[last])+len(b) > cap(c.list[last]) {
		// Small builders, of one changed document, need no whole chunk.
		size := chunkBytes
		if last < 0 {
			size = chunkBytes >> 8
		} else if last < 8 {
			size = chunkBytes >> (8 - last)
		}
		c.list = append(c.list, make([]byte, 0, max(size, len(b))))
		last++
	}
	at := len(c.list[last])
	c.list[last] = append(c.list[last], b...)
	c.used += int64(len(b))
	return place{number(last), number(at), number(len(b))}
}

func (c *chunks) at(p place) []byte { return c.list[p.chunk][p.at : p.at+p.size] }

// drop says that pieces before this one are not asked for any more.
func (c *chunks) drop(p place) {
	if p.chunk > 0 {
		c.list[p.chunk-1] = nil
	}
}

func (c *chunks) bytes() int64 {
	n := int64(0)
	for _, l := range c.list {
		n += int64(cap(l))
	}
	return n
}
