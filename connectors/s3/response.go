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

// An unexpectedResponseError is a successful response that is not the
// service's, such as the page of a proxy. The vendor's library reads any such
// XML as an empty listing, and any such body as an object.
type unexpectedResponseError struct{ got string }

func (e *unexpectedResponseError) Error() string {
	return "the service answered with " + e.got + "; check config." + optionEndpoint + ", and whether a proxy or a login stands between"
}

// checkResponse checks a response before the library reads it. It reads the
// body of a listing, or of a bucket's region, completely.
func checkResponse(response *http.Response) error {
	request := response.Request
	query := request.URL.Query()
	root, fields := "", []string(nil)
	switch {
	case response.StatusCode == http.StatusNotFound:
		return checkNotFound(response)
	case response.StatusCode/100 != 2: // an error, which the library reads
		return nil
	case query.Has("location"):
		root = "LocationConstraint"
	case query.Has("list-type"):
		root, fields = "ListBucketResult", []string{"IsTruncated"}
	default:
		return checkObject(response)
	}
	if response.StatusCode != http.StatusOK {
		return &unexpectedResponseError{fmt.Sprintf("the status %d in place of a listing", response.StatusCode)}
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	found, err := parseOutline(body)
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return &unexpectedResponseError{"nothing in place of a listing"}
	case errors.Is(err, errTruncated) || found.root == root && err != nil:
		return &unexpectedResponseError{"a listing that is cut off"}
	case err != nil || found.root != root:
		return &unexpectedResponseError{"something that is no listing (" + printable(describeRoot(found.root)) + ")"}
	}
	for _, name := range fields {
		if found.values[name] == "" {
			return &unexpectedResponseError{"a listing without " + name}
		}
	}
	if token := found.values["NextContinuationToken"]; token != "" && token == query.Get("continuation-token") {
		return &unexpectedResponseError{fmt.Sprintf("a listing that goes round in circles: it is followed by %q, as it was itself", printable(token))}
	}
	if count := found.values["KeyCount"]; count != "" && count != fmt.Sprint(found.entries) {
		return &unexpectedResponseError{fmt.Sprintf("a listing of %d keys that says it has %s", found.entries, printable(count))}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// checkNotFound checks a response with status 404, which the library accepts
// from anybody.
func checkNotFound(response *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	_ = response.Body.Close()
	if err != nil {
		return err
	}
	if found, _ := parseOutline(body); found.root != "Error" || found.values["Code"] == "" {
		return &unexpectedResponseError{"the status 404 and without the error that the protocol has for it"}
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func describeRoot(root string) string {
	if root == "" {
		return "it is not XML"
	}
	return "its root is " + root
}

// checkObject checks the response to a request for an object.
func checkObject(response *http.Response) error {
	switch {
	case response.StatusCode != http.StatusOK:
		return &unexpectedResponseError{fmt.Sprintf("the status %d in place of an object", response.StatusCode)}
	case response.Header.Get("Etag") == "" || response.Header.Get("Last-Modified") == "":
		return &unexpectedResponseError{"something that is no object: it has no ETag or no Last-Modified"}
	}
	return nil
}

// An outline of an XML response is the name of its root, the text of the root's
// children, and the number of entries.
type outline struct {
	root    string
	values  map[string]string
	entries int
}

var errTruncated = errors.New("the answer is cut off")

// parseOutline parses as much of a response as is needed to check it.
func parseOutline(body []byte) (outline, error) {
	decoder := xml.NewDecoder(bytes.NewReader(body))
	found := outline{values: map[string]string{}}
	var open []string
	var text strings.Builder
	for {
		token, err := decoder.RawToken()
		switch {
		case errors.Is(err, io.EOF):
			return found, errTruncated
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
