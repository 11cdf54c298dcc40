package pdf

// memory is the memory of an instance. Its buffer is Go memory, so that it exists as long as machine code may use it.
type memory struct {
	buffer    []byte
	limit     uint64
	isRefused bool // a request exceeded the limit
}

// Reallocate sets the size of the memory. It returns nil if the size exceeds the limit.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.isRefused = true
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

// Free does nothing: the garbage collector frees the buffer.
func (m *memory) Free() {}
