package stack

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/magpie-search/magpie/cmd/magpie/web"
	"github.com/magpie-search/magpie/internal/config"
)

// aside is what a process serves for its operators at an address of its own.
type aside struct {
	name    string // what is served, for the log
	setting string // the flag or setting with the address
	address string // empty for none
	handler http.Handler
}

// profiles are served at PPROF_ADDR.
func profiles(c *config.Config) aside {
	return aside{"profiles", "PPROF_ADDR", c.ProfilesAddress(), web.NewProfiles()}
}

// observe serves what is aside, if it has an address, until stop. Requests that run
// then, such as a profile of the next minute, are ended.
func observe(ctx context.Context, a aside, log *slog.Logger) (stop func(), err error) {
	if a.address == "" {
		return func() {}, nil
	}
	listener, err := web.ListenBy(ctx, a.address, a.setting)
	if err != nil {
		return nil, err
	}
	log.InfoContext(ctx, "listening", slog.String("address", listener.Addr().String()), slog.String("for", a.name))
	server := web.Serve(ctx, listener, a.handler, log)
	return func() {
		if err := server.Shutdown(context.WithoutCancel(ctx), time.Second); err != nil {
			log.WarnContext(ctx, a.name+" did not stop well", slog.Any("error", err))
		}
	}, nil
}
