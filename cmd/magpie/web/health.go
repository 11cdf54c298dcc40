package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/config"
)

// checkTimeout is the timeout of each readiness check.
const checkTimeout = 2 * time.Second

// alive answers 200 without checking dependencies.
func alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": available})
}

// Values of the status and of its parts.
const (
	available   = "ok"
	unavailable = "unavailable"
)

// readiness runs all checks concurrently. It answers 503 with the failed parts and
// their public reasons if a check fails. Parts in ?exclude= are not checked. A
// draining process is not ready.
func readiness(checks map[string]func(context.Context) error, drain *Drain, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if drain.Draining() {
			writeReadiness(w, "draining", map[string]string{}, nil)
			return
		}
		var mu sync.Mutex
		var running sync.WaitGroup
		overall, parts, reasons := available, map[string]string{}, map[string]string{}
		excluded := r.URL.Query()["exclude"]
		for name, check := range checks {
			if slices.Contains(excluded, name) {
				continue
			}
			running.Go(func() {
				ctx, cancel := context.WithTimeout(r.Context(), checkTimeout)
				defer cancel()
				err := check(ctx)
				mu.Lock()
				defer mu.Unlock()
				parts[name] = available
				if err != nil {
					log.WarnContext(r.Context(), "not ready", slog.String("part", name), slog.Any("error", err))
					overall, parts[name] = unavailable, unavailable
					addReason(reasons, name, err)
				}
			})
		}
		running.Wait()
		writeReadiness(w, overall, parts, reasons)
	})
}

// addReason adds the public reason of an error, if it has one. Other errors may
// contain addresses and are only logged.
func addReason(reasons map[string]string, part string, err error) {
	var public interface{ Reason() string }
	if errors.As(err, &public) {
		reasons[part] = public.Reason()
	}
}

// writeReadiness answers 200 if the status is ok, or 503.
func writeReadiness(w http.ResponseWriter, overall string, parts, reasons map[string]string) {
	status := http.StatusOK
	if overall != available {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	answer := map[string]any{"status": overall, "parts": parts}
	if len(reasons) > 0 {
		answer["reasons"] = reasons
	}
	writeJSON(w, status, answer)
}

// onlyFrom allows callers of the networks only, by the address of the connection.
// Forwarded requests are rejected, since a proxy on this machine would make all
// callers local.
func onlyFrom(networks config.Networks, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		address, addressErr := netip.ParseAddr(host)
		forwarded := r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != ""
		if err != nil || addressErr != nil || forwarded || !networks.Contain(address) {
			writeError(w, apierr.New(apierr.Forbidden, "Metrics are not available from this network"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
