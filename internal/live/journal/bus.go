package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// Bus carries signals between processes. Lost signals are harmless,
// because the database holds the truth.
type Bus interface {
	Publish(ctx context.Context, s Signal) error
	// Subscribe passes all signals to deliver until stop is called, which
	// waits for the last one. The end of ctx has no effect.
	Subscribe(ctx context.Context, deliver func(Signal)) (stop func())
}

// Signal tells other processes about a stream.
type Signal struct {
	Stream uuid.UUID  `json:"stream"`
	Kind   SignalKind `json:"kind"`
}

// SignalKind is the kind of a signal.
type SignalKind string

// The kinds of signals.
const (
	SignalEvents  SignalKind = "events"  // the stream has new events
	SignalCancel  SignalKind = "cancel"  // the process of the stream should cancel it
	SignalWatched SignalKind = "watched" // another process has a reader of the stream
)

// RedisBus is a Bus over Redis. It reconnects after Redis was unavailable.
type RedisBus struct {
	redis   redis.UniversalClient
	channel string
	log     *slog.Logger
}

var _ Bus = (*RedisBus)(nil)

// NewRedisBus returns a bus over a channel of its own. The caller closes the client.
func NewRedisBus(client redis.UniversalClient, channel string, log *slog.Logger) *RedisBus {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &RedisBus{redis: client, channel: channel, log: log}
}

// Publish implements Bus.
func (b *RedisBus) Publish(ctx context.Context, s Signal) error {
	payload, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode a signal: %w", err)
	}
	if err := b.redis.Publish(ctx, b.channel, payload).Err(); err != nil {
		return fmt.Errorf("publish a signal: %w", err)
	}
	return nil
}

// Subscribe implements Bus.
func (b *RedisBus) Subscribe(ctx context.Context, deliver func(Signal)) (stop func()) {
	pubsub := b.redis.Subscribe(context.WithoutCancel(ctx), b.channel)
	messages := pubsub.Channel()
	var done sync.WaitGroup
	done.Go(func() {
		for m := range messages {
			var s Signal
			if err := json.Unmarshal([]byte(m.Payload), &s); err != nil {
				b.log.Warn("signal not readable", slog.String("channel", b.channel), slog.Any("error", err))
				continue
			}
			deliver(s)
		}
	})
	return func() {
		_ = pubsub.Close() // also ends the loop over messages
		done.Wait()
	}
}
