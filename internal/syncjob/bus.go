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

// RedisBus is the bus over Redis: one connection of a process listens for all
// of its subscribers. Close it once.
type RedisBus struct {
	redis  redis.UniversalClient
	pubsub *redis.PubSub
	log    *slog.Logger
	done   sync.WaitGroup

	mu          sync.Mutex
	subscribers map[uuid.UUID]map[*subscription]struct{}
	taps        map[*func(Snapshot)]struct{}
}

var _ Bus = (*RedisBus)(nil)

// NewRedisBus starts listening until Close (the end of ctx changes nothing).
// Redis may be away, now or later: the connection is made again by itself.
func NewRedisBus(ctx context.Context, client redis.UniversalClient, log *slog.Logger) *RedisBus {
	b := &RedisBus{
		redis: client, log: log,
		subscribers: make(map[uuid.UUID]map[*subscription]struct{}),
		taps:        make(map[*func(Snapshot)]struct{}),
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

// Close stops listening and waits until that has ended.
func (b *RedisBus) Close() error {
	err := b.pubsub.Close()
	b.done.Wait()
	if err != nil {
		return fmt.Errorf("close the job news: %w", err)
	}
	return nil
}

// Publish implements [Bus].
func (b *RedisBus) Publish(ctx context.Context, e Event) error {
	payload, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the news of a job: %w", err)
	}
	if err := b.redis.Publish(ctx, busChannel, payload).Err(); err != nil {
		return fmt.Errorf("publish the news of a job: %w", err)
	}
	return nil
}

// Subscribe implements [Bus].
func (b *RedisBus) Subscribe(job uuid.UUID) Subscription {
	s := &subscription{bus: b, job: job, news: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subscribers[job] == nil {
		b.subscribers[job] = make(map[*subscription]struct{})
	}
	b.subscribers[job][s] = struct{}{}
	return s
}

// Tap implements [Bus].
func (b *RedisBus) Tap(hear func(Snapshot)) (untap func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tap := &hear
	b.taps[tap] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.taps, tap)
	}
}

func (b *RedisBus) deliver(payload string) {
	var e Event
	if err := json.Unmarshal([]byte(payload), &e); err != nil {
		b.log.Warn("news of a job cannot be read; is another version of Magpie running?", "error", err)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subscribers[e.Snapshot.Job] {
		s.put(e.Snapshot)
	}
	for tap := range b.taps {
		(*tap)(e.Snapshot)
	}
}

// subscription keeps the newest snapshot only, so that a slow reader neither
// blocks the others nor reads old counters.
type subscription struct {
	bus  *RedisBus
	job  uuid.UUID
	news chan struct{}

	mu     sync.Mutex
	latest Snapshot
	seen   bool
}

func (s *subscription) put(news Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	canceling := s.latest.Canceling || news.Canceling
	pausing := s.latest.Pausing || news.Pausing
	if !s.seen || news.newer(s.latest) {
		s.latest, s.seen = news, true
	}
	s.latest.Canceling, s.latest.Pausing = canceling && Open(s.latest.Status), pausing && Open(s.latest.Status)
	select {
	case s.news <- struct{}{}:
	default:
	}
}

func (s *subscription) News() <-chan struct{} { return s.news }

func (s *subscription) Latest() (Snapshot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest, s.seen
}

func (s *subscription) Close() {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	delete(s.bus.subscribers[s.job], s)
	if len(s.bus.subscribers[s.job]) == 0 {
		delete(s.bus.subscribers, s.job)
	}
}
