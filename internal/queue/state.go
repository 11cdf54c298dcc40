package queue

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A WorkerState is a running worker. It beats every few seconds and is gone soon
// after its last beat.
type WorkerState struct {
	ID          string // random; it names no machine
	StartedAt   time.Time
	Status      string // active, or closed while it stops
	Concurrency int    // tasks at once
	Running     []*RunningTask
}

// A RunningTask is a task that a worker runs.
type RunningTask struct {
	Name      string
	StartedAt time.Time
}

// Workers returns the workers that are alive, the oldest first.
func (a *Asynq) Workers() ([]*WorkerState, error) {
	servers, err := a.inspector.Servers()
	if err != nil {
		return nil, fmt.Errorf("list the workers: %w", err)
	}
	out := make([]*WorkerState, len(servers))
	for i, s := range servers {
		out[i] = &WorkerState{ID: s.ID, StartedAt: s.Started.UTC(), Status: s.Status, Concurrency: s.Concurrency, Running: make([]*RunningTask, len(s.ActiveWorkers))}
		for j, w := range s.ActiveWorkers {
			out[i].Running[j] = &RunningTask{Name: w.TaskType, StartedAt: w.Started.UTC()}
		}
	}
	slices.SortFunc(out, func(x, y *WorkerState) int { return cmp.Or(x.StartedAt.Compare(y.StartedAt), cmp.Compare(x.ID, y.ID)) })
	return out, nil
}

// A State has the numbers of tasks of a queue.
type State struct {
	Name                                        string
	Pending, Active, Scheduled, Retry, Archived int
	// OldestSeconds is how long the oldest pending task waits; 0 for none.
	OldestSeconds float64
}

// States returns the states of the two queues. One that was never used is empty.
func (a *Asynq) States() ([]*State, error) {
	used, err := a.inspector.Queues()
	if err != nil {
		return nil, fmt.Errorf("list the queues: %w", err)
	}
	out := []*State{{Name: Queue}, {Name: Upkeep}}
	for _, s := range out {
		if !slices.Contains(used, s.Name) {
			continue
		}
		info, err := a.inspector.GetQueueInfo(s.Name)
		if err != nil {
			return nil, fmt.Errorf("read the state of the queue %s: %w", s.Name, err)
		}
		s.Pending, s.Active, s.Scheduled, s.Retry, s.Archived = info.Pending, info.Active, info.Scheduled, info.Retry, info.Archived
		s.OldestSeconds = info.Latency.Seconds()
	}
	return out, nil
}
