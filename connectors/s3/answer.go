package s3

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// mismatchError is an answer with a status of success that is not the service's,
// such as the page of a proxy. The vendor's library takes any such XML for an
// empty listing, and any such body for an object's.
type mismatchError struct{ got string }

func (e *mismatchError) Error() string {
	return "the service answered with " + e.got + "; check config." + optionEndpoint + ", and whether a proxy or a login stands between"
}

// checked looks at an answer of the service before the library does. The body of
// a listing, or of a bucket's region, is read whole; that of an object is left.
func checked(response *http.Response) error {
	request := response.Request
	query := request.URL.Query()
	root, fields := "", []string(nil)
	switch {
	case response.StatusCode == http.StatusNotFound:
		return checkedMissing(response)
	case response.StatusCode/100 != 2: // an error, which the library reads
		return nil
	case query.Has("location"):
		root = "LocationConstraint"
	case query.Has("list-type"):
		root, fields = "ListBucketResult", []string{"IsTruncated"}
	default:
		return checkedObject(response)
	}
	if response.StatusCode != http.StatusOK {
		return &mismatchError{fmt.Sprintf("the status %d in place of a listing", response.StatusCode)}
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	found, err := outline(body)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return &mismatchError{"nothing in place of a listing"}
	case errors.Is(err, errCut) || found.root == root && err != nil:
		return &mismatchError{"a listing that is cut off"}
	case err != nil || found.root != root:
		return &mismatchError{"something that is no listing (" + clean(described(found.root)) + ")"}
	}
	for _, name := range fields {
		if found.values[name] == "" {
			return &mismatchError{"a listing without " + name}
		}
	}
	if token := found.values["NextContinuationToken"]; token != "" && token == query.Get("continuation-token") {
		return &mismatchError{fmt.Sprintf("a listing that goes round in circles: it is followed by %q, as it was itself", clean(token))}
	}
	if count := found.values["KeyCount"]; count != "" && count != fmt.Sprint(found.entries) {
		return &mismatchError{fmt.Sprintf("a listing of %d keys that says it has %s", found.entries, clean(count))}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// checkedMissing looks at an answer that something is not there: the library
// takes any such status for the service's word.
func checkedMissing(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	if found, _ := outline(body); found.root != "Error" || found.values["Code"] == "" {
		return &mismatchError{"the status 404 and without the error that the protocol has for it"}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func described(root string) string {
	if root == "" {
		return "it is not XML"
	}
	return "its root is " + root
}

// checkedObject looks at the answer to a request for an object.
func checkedObject(response *http.Response) error {
	switch {
	case response.StatusCode != http.StatusOK:
		return &mismatchError{fmt.Sprintf("the status %d in place of an object", response.StatusCode)}
	case response.Header.Get("Etag") == "" || response.Header.Get("Last-Modified") == "":
		return &mismatchError{"something that is no object: it has no ETag or no Last-Modified"}
	}
	return nil
}

// layout is what the root of an answer is called, what its fields say, and how
// many entries it has.
type layout struct {
	root    string
	values  map[string]string
	entries int
}

var errCut = errors.New("the answer is cut off")

// outline reads as much of an answer as tells whether it is one.
func outline(body []byte) (layout, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	found := layout{values: map[string]string{}}
	var open []string
	var text strings.Builder
	for {
		token, err := decoder.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return found, errCut
		case err != nil:
			return found, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			name := t.Name.Local
			open = append(open, name)
			text.Reset()
			switch len(open) {
			case 1:
				found.root = name
			case 2:
				if name == "Contents" || name == "CommonPrefixes" {
					found.entries++
				}
			}
		case xml.CharData:
			if len(open) == 2 {
				text.Write(t)
			}
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != t.Name.Local {
				return found, errors.New("an element ends that did not begin")
			}
			if len(open) == 2 {
				found.values[t.Name.Local] = strings.TrimSpace(text.String())
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return found, nil
			}
		}
	}
}
