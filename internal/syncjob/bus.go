package syncjob

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

const busChannel = "magpie:syncjobs"

// RedisBus is the Bus over Redis. One connection of the process listens for all
// subscribers. Close it once.
type RedisBus struct {
	redis  redis.UniversalClient
	pubsub *redis.PubSub
	log    *slog.Logger
	done   sync.WaitGroup

	mu          sync.Mutex
	subscribers map[uuid.UUID]map[*subscription]struct{}
	listeners   map[*func(Snapshot)]struct{}
}

var _ Bus = (*RedisBus)(nil)

// NewRedisBus starts to listen, until Close. It ignores the end of ctx. While Redis
// cannot be reached, it keeps reconnecting.
func NewRedisBus(ctx context.Context, client redis.UniversalClient, log *slog.Logger) *RedisBus {
	b := &RedisBus{
		redis: client, log: log,
		subscribers: make(map[uuid.UUID]map[*subscription]struct{}),
		listeners:   make(map[*func(Snapshot)]struct{}),
	}
	b.pubsub = client.Subscribe(context.WithoutCancel(ctx), busChannel)
	messages := b.pubsub.Channel()
	b.done.Go(func() {
		for m := range messages {
			b.deliver(m.Payload)
		}
	})
	return b
}

// Close stops listening and waits for the end of it.
func (b *RedisBus) Close() error {
	err := b.pubsub.Close()
	b.done.Wait()
	if err != nil {
		return fmt.Errorf("close the job updates: %w", err)
	}
	return nil
}

// Publish implements [Bus].
func (b *RedisBus) Publish(ctx context.Context, e Event) error {
	payload, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode a job update: %w", err)
	}
	if err := b.redis.Publish(ctx, busChannel, payload).Err(); err != nil {
		return fmt.Errorf("publish a job update: %w", err)
	}
	return nil
}

// Subscribe implements [Bus].
func (b *RedisBus) Subscribe(job uuid.UUID) Subscription {
	s := &subscription{bus: b, job: job, updates: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers[job] == nil {
		b.subscribers[job] = make(map[*subscription]struct{})
	}
	b.subscribers[job][s] = struct{}{}
	return s
}

// Listen implements [Bus].
func (b *RedisBus) Listen(listener func(Snapshot)) (stopListening func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	registered := &listener
	b.listeners[registered] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, registered)
	}
}

func (b *RedisBus) deliver(payload string) {
	var e Event
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		b.log.Warn("job update not readable; another version of Magpie may be running", slog.Any("error", err))
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subscribers[e.Snapshot.Job] {
		s.put(e.Snapshot)
	}
	for registered := range b.listeners {
		(*registered)(e.Snapshot)
	}
}

// A subscription holds only the newest snapshot, so that a slow reader does not
// block others and does not read old counters.
type subscription struct {
	bus     *RedisBus
	job     uuid.UUID
	updates chan struct{}

	mu        sync.Mutex
	latest    Snapshot
	hasLatest bool
}

func (s *subscription) put(update Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	canceling := s.latest.Canceling || update.Canceling
	pausing := s.latest.Pausing || update.Pausing
	if !s.hasLatest || update.newer(s.latest) {
		s.latest, s.hasLatest = update, true
	}
	s.latest.Canceling, s.latest.Pausing = canceling && Open(s.latest.Status), pausing && Open(s.latest.Status)
	select {
	case s.updates <- struct{}{}:
	default:
	}
}

func (s *subscription) Updates() <-chan struct{} { return s.updates }

func (s *subscription) Latest() (Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest, s.hasLatest
}

func (s *subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.subscribers[s.job], s)
	if len(s.bus.subscribers[s.job]) == 0 {
		delete(s.bus.subscribers, s.job)
	}
}
