package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/request/body"
)

// maxFileVariables is the maximum number of variables that the map of a form assigns
// files to. The transport opens a file for each.
const maxFileVariables = 1000

// checkForm checks the size and depth of the JSON parts of a form, which precede its
// files, and restores the body. The transport would accept JSON of any size up to the
// limit of uploads. It reports all other errors of a form.
func checkForm(r *http.Request) error {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || parameters["boundary"] == "" {
		return nil
	}
	var read bytes.Buffer
	defer func() {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&read, r.Body), r.Body}
	}()
	// The limit is for the headers; each part has another limit.
	const headers = 64 << 10
	limited := &io.LimitedReader{R: r.Body, N: 2*body.MaxBytes + headers}
	parts := multipart.NewReader(io.TeeReader(limited, &read), parameters["boundary"])
	for _, name := range []string{"operations", "map"} {
		part, err := parts.NextPart()
		if limited.N <= 0 {
			return apierr.New(apierr.TooLarge, "The form is too large before its files")
		}
		if err != nil || part.FormName() != name {
			return nil
		}
		text, err := io.ReadAll(io.LimitReader(part, body.MaxBytes+1))
		switch {
		case len(text) > body.MaxBytes:
			return apierr.New(apierr.TooLarge, fmt.Sprintf("The part %s is larger than %s", name, body.FormatLimit(body.MaxBytes)))
		case err != nil:
			return nil // the transport reports it
		case body.CheckDepth(text) != nil:
			return tooDeep()
		case name == "map":
			return checkMap(text)
		}
	}
	return nil
}

// checkMap checks the number of variables in the map of a form.
func checkMap(text []byte) error {
	var variables map[string][]string
	if json.Unmarshal(text, &variables) != nil {
		return nil // the transport reports it
	}
	n := 0
	for _, list := range variables {
		n += len(list)
	}
	if n > maxFileVariables {
		return apierr.New(apierr.InvalidRequest, fmt.Sprintf("map: has more than %d variables", maxFileVariables))
	}
	return nil
}
