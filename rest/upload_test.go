package rest_test

import (
	"bytes"
	"fmt"
)

// formPart is a part of a multipart body. Without a file name it is a field.
type formPart struct{ name, file, content string }

// multipartBody returns a form with a constant boundary.
func multipartBody(parts []formPart) (body, contentType string) {
	var out bytes.Buffer
	for _, p := range parts {
		disposition := fmt.Sprintf("form-data; name=%q", p.name)
		kind := ""
		if p.file != "" {
			disposition += fmt.Sprintf("; filename=\"%s\"", p.file)
			kind = "Content-Type: text/markdown\r\n"
		}
		fmt.Fprintf(&out, "--frontier\r\nContent-Disposition: %s\r\n%s\r\n%s\r\n", disposition, kind, p.content)
	}
	out.WriteString("--frontier--\r\n")
	return out.String(), "multipart/form-data; boundary=frontier"
}
