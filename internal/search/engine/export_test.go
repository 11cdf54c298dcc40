package engine

// Bases returns the number of collections whose overlay is known to begin somewhere.
func (t *Tier) Bases() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.bases)
}
