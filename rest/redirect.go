package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/magpie-search/magpie/internal/apierr"
)

// namePattern is what a name in a path looks like.
const namePattern = "^[a-z][a-z0-9_-]{0,63}$"

var nameForm = regexp.MustCompile(namePattern)

// once refuses to look ahead where looking has an effect.
func (x *exchange) once() error {
	if x.route.redirect == "" {
		return nil
	}
	x.w.Header().Set("Referrer-Policy", "no-referrer") // what the request's address holds goes nowhere with the browser
	if x.r.Method != http.MethodHead {
		return nil
	}
	x.w.Header().Set("Allow", http.MethodGet)
	return apierr.New(apierr.MethodNotAllowed, "Method not allowed; this path takes GET")
}

// leave sends the browser to where the answer says, if it does.
func (x *exchange) leave(data json.RawMessage) (bool, error) {
	at := data
	for key := range strings.SplitSeq(x.route.redirect, ".") {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(at, &fields); err != nil {
			return false, fmt.Errorf("read where to go: %w", err)
		}
		at = fields[key]
	}
	var place *string
	if err := json.Unmarshal(at, &place); err != nil {
		return false, fmt.Errorf("read where to go: %w", err)
	}
	if place == nil {
		return false, nil
	}
	x.w.Header().Set("Location", *place)
	x.send(http.StatusSeeOther, nil)
	return true, nil
}
