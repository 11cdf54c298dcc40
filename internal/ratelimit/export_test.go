package ratelimit

// Keys returns the number of keys that this process counts.
func (l *Limiter) Keys() int {
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	return len(l.local.tat)
}
