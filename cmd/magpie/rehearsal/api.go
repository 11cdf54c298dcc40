package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client sends requests to the Magpie, which is on this machine.
var client = &http.Client{Timeout: time.Minute}

// api is the REST API of the Magpie.
type api struct{ address, token string }

// call sends JSON and decodes the data of the answer, which may be nil.
func (a *api) call(ctx context.Context, method, url string, body, data any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		request.Header.Set("Authorization", "Bearer "+a.token)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, request.URL.Path, err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d %s", method, request.URL.Path, response.StatusCode, said)
	}
	if data == nil {
		return nil
	}
	if err := json.Unmarshal(said, &struct {
		Data any `json:"data"`
	}{data}); err != nil {
		return fmt.Errorf("%s %s: %w", method, request.URL.Path, err)
	}
	return nil
}

func (a *api) signIn(ctx context.Context, email, password string) error {
	var in struct {
		Token string `json:"access_token"`
	}
	if err := a.call(ctx, http.MethodPost, a.address+"/api/v1/auth/login", object{"email": email, "password": password}, &in); err != nil {
		return err
	}
	a.token = in.Token
	return nil
}

// create makes something and returns fields of it, by their paths.
func (a *api) create(ctx context.Context, path string, body object, fields ...string) ([]string, error) {
	var made object
	if err := a.call(ctx, http.MethodPost, a.address+path, body, &made); err != nil {
		return nil, err
	}
	out := make([]string, len(fields))
	for i, field := range fields {
		var value any = made
		for key := range strings.SplitSeq(field, ".") {
			inner, _ := value.(object)
			value = inner[key]
		}
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("POST %s: the answer has no %s", path, field)
		}
		out[i] = text
	}
	return out, nil
}

// deliver posts what a provider sends, to an address with a password.
func (a *api) deliver(ctx context.Context, address string, body object) error {
	return (&api{}).call(ctx, http.MethodPost, address, body, nil)
}

// status returns the status of the latest run of an automation, empty for none.
func (a *api) status(ctx context.Context, automation string) (string, error) {
	var runs []struct {
		Status string `json:"status"`
	}
	if err := a.call(ctx, http.MethodGet, a.address+"/api/v1/automations/"+automation+"/runs?limit=1", nil, &runs); err != nil || len(runs) == 0 {
		return "", err
	}
	return runs[0].Status, nil
}
