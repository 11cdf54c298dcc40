package ratelimit

// Keys is how many keys are counted in this process.
func (l *Limiter) Keys() int {
	l.local.mu.Lock()
	defer l.local.mu.Unlock()
	return len(l.local.tat)
}
