package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strconv"
)

// encode encodes an operation as JSON or, with uploads, as a form of the specification
// github.com/jaydenseric/graphql-multipart-request-spec. The caller calls finish after the
// request; it returns the error of reading an upload.
func encode(document, operation string, variables Variables) (body io.Reader, kind string, finish func() error, err error) {
	plain := clone(variables)
	var uploads []Upload
	places := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		list, ok := variables[name].([]Upload)
		if !ok {
			continue
		}
		plain[name] = make([]any, len(list)) // null for each
		for i, upload := range list {
			places[strconv.Itoa(len(uploads))] = []string{fmt.Sprintf("variables.%s.%d", name, i)}
			uploads = append(uploads, upload)
		}
	}
	text, err := json.Marshal(map[string]any{"query": document, "operationName": operation, "variables": plain})
	if err != nil {
		return nil, "", nil, fmt.Errorf("as JSON: %w", err)
	}
	if len(uploads) == 0 {
		return bytes.NewReader(text), "application/json", func() error { return nil }, nil
	}
	where, err := json.Marshal(places)
	if err != nil {
		return nil, "", nil, fmt.Errorf("as JSON: %w", err)
	}
	reader, writer := io.Pipe()
	form := multipart.NewWriter(writer)
	done := make(chan error, 1)
	go func() {
		err := writeForm(form, text, where, uploads)
		_ = writer.CloseWithError(err) // never fails
		done <- err
	}()
	finish = func() error {
		_ = reader.Close() // never fails; ends the writer of a request that was refused
		if err := <-done; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			return err
		}
		return nil
	}
	return reader, form.FormDataContentType(), finish, nil
}

func writeForm(form *multipart.Writer, operation, places []byte, uploads []Upload) error {
	for _, field := range []struct {
		name  string
		value []byte
	}{{"operations", operation}, {"map", places}} {
		if err := form.WriteField(field.name, string(field.value)); err != nil {
			return fmt.Errorf("write the form: %w", err)
		}
	}
	for i, upload := range uploads {
		header := textproto.MIMEHeader{}
		header.Set("Content-Disposition", multipart.FileContentDisposition(strconv.Itoa(i), upload.Name))
		if upload.ContentType != "" {
			header.Set("Content-Type", upload.ContentType)
		}
		part, err := form.CreatePart(header)
		if err != nil {
			return fmt.Errorf("write the form: %w", err)
		}
		if _, err := io.Copy(part, upload.Content); err != nil {
			return fmt.Errorf("send %s: %w", upload.Name, err)
		}
	}
	if err := form.Close(); err != nil {
		return fmt.Errorf("write the form: %w", err)
	}
	return nil
}
