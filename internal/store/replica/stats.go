package replica

import "sync"

// Stats are the counts of Readers.
type Stats struct {
	// OnReplicas is the number of reads that began on replicas, OnPrimary that of reads
	// that the primary answered, by the reason: behind, conflict, busy, unavailable or
	// error.
	// Reads are not counted where there are no replicas.
	OnReplicas int64
	OnPrimary  map[string]int64
	Replicas   []State
}

// A State is the state of a replica at its last check.
type State struct {
	Name string
	// Used says that the replica is not left out.
	Used bool
	Lag  Lag
}

// counts are numbers of reads by the reason why the primary answered, "" for a replica.
type counts struct {
	mutex sync.Mutex
	reads map[string]int64
}

func (c *counts) add(reason string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.reads == nil {
		c.reads = make(map[string]int64)
	}
	c.reads[reason]++
}

// Stats returns the present counts.
func (r *Readers) Stats() Stats {
	out := Stats{OnPrimary: map[string]int64{reasonBehind: 0, reasonConflict: 0, reasonBusy: 0, reasonUnavailable: 0, reasonError: 0}}
	r.counts.mutex.Lock()
	for reason, n := range r.counts.reads {
		if reason == "" {
			out.OnReplicas = n
		} else {
			out.OnPrimary[reason] = n
		}
	}
	r.counts.mutex.Unlock()
	for _, s := range r.replicas {
		s.mutex.Lock()
		out.Replicas = append(out.Replicas, State{s.Name, !s.out, s.lag})
		s.mutex.Unlock()
	}
	return out
}
