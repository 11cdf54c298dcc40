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

// maxPlaces is how many places of an operation's variables the files of a form
// may take. The transport opens a file for each.
const maxPlaces = 1000

// checkForm reads the parts of a form that are JSON, which come before its
// files, and puts them back: the transport would take in as much of them as an
// upload may have. What else is wrong with a form is the transport's to say.
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
	// The bound is for what stands around the parts; each has its own.
	const around = 64 << 10
	limited := &io.LimitedReader{R: r.Body, N: 2*body.MaxBytes + around}
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
			return nil // the transport says so
		case body.CheckDepth(text) != nil:
			return tooDeep()
		case name == "map":
			return checkPlaces(text)
		}
	}
	return nil
}

// checkPlaces bounds the places that a form's map names.
func checkPlaces(text []byte) error {
	var places map[string][]string
	if json.Unmarshal(text, &places) != nil {
		return nil // the transport says so
	}
	n := 0
	for _, list := range places {
		n += len(list)
	}
	if n > maxPlaces {
		return apierr.New(apierr.InvalidRequest, fmt.Sprintf("map: names more than %d places", maxPlaces))
	}
	return nil
}
