package pdf

// memory is the memory of one instance. Its buffer is memory of Go, so that it lives for as long as machine code may still
// look at it.
type memory struct {
	buffer  []byte
	limit   uint64
	refused bool // whether more was asked for than the limit
}

// Reallocate makes the memory size bytes long, nil when that is too much.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size > uint64(cap(m.buffer)) {
		grown := make([]byte, size, min(size+size/2, m.limit))
		copy(grown, m.buffer)
		m.buffer = grown
	}
	m.buffer = m.buffer[:size]
	return m.buffer
}

// Free does nothing: the garbage collector knows when nobody looks at the buffer any more.
func (m *memory) Free() {}
