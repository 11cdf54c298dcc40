package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// namePattern is the pattern of names in paths.
const namePattern = "^[a-z][a-z0-9_-]{0,63}$"

var nameRegexp = regexp.MustCompile(namePattern)

// rejectHead rejects HEAD for routes with redirects, since GET has an effect.
func (x *exchange) rejectHead() error {
	if x.route.redirect == "" {
		return nil
	}
	x.w.Header().Set("Referrer-Policy", "no-referrer") // the URL of the request has secrets
	if x.r.Method != http.MethodHead {
		return nil
	}
	x.w.Header().Set("Allow", http.MethodGet)
	return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path allows GET")
}

// redirect sends a redirect to the URL in the result, and reports whether the
// result has one.
func (x *exchange) redirect(data json.RawMessage) (bool, error) {
	value := data
	for key := range strings.SplitSeq(x.route.redirect, ".") {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(value, &fields); err != nil {
			return false, fmt.Errorf("read the redirect URL: %w", err)
		}
		value = fields[key]
	}
	var target *string
	if err := json.Unmarshal(value, &target); err != nil {
		return false, fmt.Errorf("read the redirect URL: %w", err)
	}
	if target == nil {
		return false, nil
	}
	x.w.Header().Set("Location", *target)
	x.send(http.StatusSeeOther, nil)
	return true, nil
}
