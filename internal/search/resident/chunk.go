package resident

// chunkBytes is the size of a chunk after the first few.
const chunkBytes = 1 << 20

// chunks store byte slices one after another. Growing never copies stored bytes.
type chunks struct {
	list [][]byte
	used int64
}

// chunkRef is the place of a stored slice.
type chunkRef struct{ chunk, start, size uint32 }

func (c *chunks) add(b []byte) chunkRef {
	last := len(c.list) - 1
	if last < 0 || len(c.list[last])+len(b) > cap(c.list[last]) {
		// The builder of one changed document needs no whole chunk.
		size := chunkBytes
		if last < 0 {
			size = chunkBytes >> 8
		} else if last < 8 {
			size = chunkBytes >> (8 - last)
		}
		c.list = append(c.list, make([]byte, 0, max(size, len(b))))
		last++
	}
	start := len(c.list[last])
	c.list[last] = append(c.list[last], b...)
	c.used += int64(len(b))
	return chunkRef{u32(last), u32(start), u32(len(b))}
}

func (c *chunks) get(r chunkRef) []byte { return c.list[r.chunk][r.start : r.start+r.size] }

// freeBefore frees the chunk before the one that holds r. Callers read slices in
// the order in which they were added.
func (c *chunks) freeBefore(r chunkRef) {
	if r.chunk > 0 {
		c.list[r.chunk-1] = nil
	}
}

func (c *chunks) bytes() int64 {
	n := int64(0)
	for _, l := range c.list {
		n += int64(cap(l))
	}
	return n
}
