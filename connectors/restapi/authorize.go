package restapi

import (
	"net/http"

	"github.com/magpie-search/magpie/connectors"
)

// Bearer returns an [Options].Authorize that sends the token of the connector's OAuth
// grant, or the credential if there is no grant. A refused token of a grant is renewed
// once.
func Bearer(s connectors.Settings, credential string) func(r *http.Request, refused bool) (retry bool, err error) {
	if s.Token == nil {
		return func(r *http.Request, refused bool) (bool, error) {
			r.Header.Set("Authorization", "Bearer "+credential)
			return !refused, nil
		}
	}
	return func(r *http.Request, refused bool) (bool, error) {
		rejected := ""
		if refused {
			current, _, err := s.Token(r.Context(), "")
			if err != nil {
				return false, err
			}
			rejected = current
		}
		token, _, err := s.Token(r.Context(), rejected)
		if err != nil || refused && token == rejected {
			return false, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		return true, nil
	}
}
