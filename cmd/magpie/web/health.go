package web

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"magpie/internal/apierr"
	"magpie/internal/config"
)

// checkTime bounds each readiness check.
const checkTime = 2 * time.Second

// alive says that the process answers; what it depends on is not asked.
func alive(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness asks everything that requests need: 503 names what does not answer,
// and why where that may be told.
func readiness(checks map[string]func(context.Context) error, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, parts, reasons := http.StatusOK, map[string]string{}, map[string]string{}
		for name, check := range checks {
			ctx, cancel := context.WithTimeout(r.Context(), checkTime)
			err := check(ctx)
			cancel()
			parts[name] = "ok"
			if err != nil {
				log.WarnContext(r.Context(), "not ready", slog.String("part", name), slog.Any("error", err))
				status, parts[name] = http.StatusServiceUnavailable, "unavailable"
				addReason(reasons, name, err)
			}
		}
		overall := "ok"
		if status != http.StatusOK {
			overall = "unavailable"
		}
		answer := map[string]any{"status": overall, "parts": parts}
		if len(reasons) > 0 {
			answer["reasons"] = reasons
		}
		writeJSON(w, status, answer)
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
