package platform

import (
	"fmt"
	"io"
	"net/http"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// An Answer is a successful response of any form. [API.Do] fills it in if it is its out.
type Answer struct {
	Status      int
	ContentType string
	Body        []byte // at most MaxBytes
}

func (a *Answer) read(response *http.Response) error {
	a.Status, a.ContentType = response.StatusCode, response.Header.Get("Content-Type")
	var err error
	a.Body, err = io.ReadAll(io.LimitReader(response.Body, MaxBytes+1))
	switch {
	case err != nil:
		return connectors.Retryable(fmt.Errorf("the answer was cut off"), 0)
	case len(a.Body) > MaxBytes:
		return connectors.Fatal(restapi.ErrTooLarge)
	}
	return nil
}
