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

// RedisBus is the bus over Redis. Redis may be away, now or later: the connection is made again by itself.
type RedisBus struct {
	redis redis.UniversalClient
	log   *slog.Logger
}

var _ Bus = (*RedisBus)(nil)

// NewRedisBus makes a bus; the client stays the caller's to close.
func NewRedisBus(client redis.UniversalClient, log *slog.Logger) *RedisBus {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &RedisBus{redis: client, log: log}
}

// Publish implements Bus.
func (b *RedisBus) Publish(ctx context.Context, news News) error {
	payload, err := json.Marshal(news)
	if err != nil {
		return fmt.Errorf("encode the news of a run: %w", err)
	}
	if err := b.redis.Publish(ctx, busChannel, payload).Err(); err != nil {
		return fmt.Errorf("publish the news of a run: %w", err)
	}
	return nil
}

// Listen implements Bus.
func (b *RedisBus) Listen(ctx context.Context, deliver func(News)) (stop func()) {
	pubsub := b.redis.Subscribe(context.WithoutCancel(ctx), busChannel)
	messages := pubsub.Channel()
	var done sync.WaitGroup
	done.Go(func() {
		for m := range messages {
			var news News
			if err := json.Unmarshal([]byte(m.Payload), &news); err != nil {
				b.log.Warn("news of a run cannot be read; is another version of Magpie running?", slog.Any("error", err))
				continue
			}
			deliver(news)
		}
	})
	return func() {
		_ = pubsub.Close() // nobody listens any more
		done.Wait()
	}
}
