package run

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

const busChannel = "magpie:agentruns"

// RedisBus is a Bus over Redis. It reconnects after Redis was unavailable.
type RedisBus struct {
	redis redis.UniversalClient
	log   *slog.Logger
}

var _ Bus = (*RedisBus)(nil)

// NewRedisBus returns a bus. The caller closes the client.
func NewRedisBus(client redis.UniversalClient, log *slog.Logger) *RedisBus {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &RedisBus{redis: client, log: log}
}

// Publish implements Bus.
func (b *RedisBus) Publish(ctx context.Context, s Signal) error {
	payload, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode a signal: %w", err)
	}
	if err := b.redis.Publish(ctx, busChannel, payload).Err(); err != nil {
		return fmt.Errorf("publish a signal: %w", err)
	}
	return nil
}

// Subscribe implements Bus.
func (b *RedisBus) Subscribe(ctx context.Context, deliver func(Signal)) (stop func()) {
	pubsub := b.redis.Subscribe(context.WithoutCancel(ctx), busChannel)
	messages := pubsub.Channel()
	var done sync.WaitGroup
	done.Go(func() {
		for m := range messages {
			var s Signal
			if err := json.Unmarshal([]byte(m.Payload), &s); err != nil {
				b.log.Warn("run signal not readable", slog.Any("error", err))
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
