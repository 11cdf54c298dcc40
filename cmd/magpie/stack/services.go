package stack

import (
	"context"
	"errors"
	"log/slog"

	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/devstack"
)

// Services are the PostgreSQL and Redis that a local Magpie uses: private ones,
// or those that the settings name.
type Services struct {
	DatabaseURL, OwnerURL, RedisURL string
	// Private says that they belong to the data folder.
	Private bool

	stack *devstack.Stack
}

// OpenServices starts the private services of a folder, or takes the given ones.
func OpenServices(ctx context.Context, folder *local.Folder, c *config.Config, log *slog.Logger) (*Services, error) {
	switch {
	case c.DatabaseURL != "" && c.RedisURL != "":
		return &Services{DatabaseURL: c.DatabaseURL.Reveal(), OwnerURL: c.OwnerURL(), RedisURL: c.RedisURL.Reveal()}, nil
	case c.DatabaseURL != "":
		return nil, errors.New("DATABASE_URL is set and REDIS_URL is not; set both, or none to have both started here")
	case c.RedisURL != "":
		return nil, errors.New("REDIS_URL is set and DATABASE_URL is not; set both, or none to have both started here")
	}
	stack, err := devstack.Start(ctx, devstack.Options{Dir: folder.Services(), Log: log})
	if err != nil {
		return nil, err
	}
	return &Services{
		DatabaseURL: stack.DatabaseURL, OwnerURL: stack.OwnerURL, RedisURL: stack.RedisURL, Private: true, stack: stack,
	}, nil
}

// Stop gives private services back; they end with their last user.
func (s *Services) Stop(ctx context.Context) error {
	if s.stack == nil {
		return nil
	}
	return s.stack.Stop(ctx)
}
