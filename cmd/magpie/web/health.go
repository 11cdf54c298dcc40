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

// checkTime bounds each readiness check.
const checkTime = 2 * time.Second

// alive says that the process answers; what it depends on is not asked.
func alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": wellSaid})
}

// What a part that is asked is, and all of them together.
const (
	wellSaid    = "ok"
	unavailable = "unavailable"
)

// readiness asks everything that requests need, all at once: 503 names what does
// not answer, and why where that may be told. A part that ?exclude= names is not asked. While the process drains
// nothing is asked: it is not ready.
func readiness(checks map[string]func(context.Context) error, drain *Drain, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if drain.Begun() {
			writeReadiness(w, "draining", map[string]string{}, nil)
			return
		}
		var mu sync.Mutex
		var asked sync.WaitGroup
		overall, parts, reasons := wellSaid, map[string]string{}, map[string]string{}
		excluded := r.URL.Query()["exclude"]
		for name, check := range checks {
			if slices.Contains(excluded, name) {
				continue
			}
			asked.Go(func() {
				ctx, cancel := context.WithTimeout(r.Context(), checkTime)
				defer cancel()
				err := check(ctx)
				mu.Lock()
				defer mu.Unlock()
				parts[name] = wellSaid
				if err != nil {
					log.WarnContext(r.Context(), "not ready", slog.String("part", name), slog.Any("error", err))
					overall, parts[name] = unavailable, unavailable
					addReason(reasons, name, err)
				}
			})
		}
		asked.Wait()
		writeReadiness(w, overall, parts, reasons)
	})
}

// addReason notes why a part is not ready, if its error has a reason that
// everybody may read. Others may name addresses, and only the log has them.
func addReason(reasons map[string]string, part string, err error) {
	var open interface{ Reason() string }
	if errors.As(err, &open) {
		reasons[part] = open.Reason()
	}
}

// writeReadiness answers 200 where all is well, else 503.
func writeReadiness(w http.ResponseWriter, overall string, parts, reasons map[string]string) {
	status := http.StatusOK
	if overall != wellSaid {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	answer := map[string]any{"status": overall, "parts": parts}
	if len(reasons) > 0 {
		answer["reasons"] = reasons
	}
	writeJSON(w, status, answer)
}

// onlyFrom answers callers of the given networks. The address is that of the
// connection: a forwarding header could be anybody's. What a proxy passes on is
// refused, since a proxy on this machine would let everybody in.
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
