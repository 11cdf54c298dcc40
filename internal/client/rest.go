package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

// api calls the public REST interface the way a customer's program does.
type api struct {
	baseURL, key string
	client       http.Client
}

// publicHit is a search result on the public surface.
type publicHit struct {
	ID          uuid.UUID  `json:"id"`
	DocumentID  uuid.UUID  `json:"document_id"`
	Title       string     `json:"title"`
	URL         *string    `json:"url"`
	Snippet     string     `json:"snippet"`
	Score       float64    `json:"score"`
	Version     *string    `json:"version"`
	Language    *string    `json:"language"`
	HeadingPath []string   `json:"heading_path"`
	UpdatedAt   *time.Time `json:"updated_at"`
}

type publicSearch struct {
	Results []publicHit `json:"results"`
	Total   int         `json:"total"`
	Limit   int         `json:"limit"`
	Offset  int         `json:"offset"`
	TookMs  float64     `json:"took_ms"`
}

func (a *api) post(ctx context.Context, path string, body any, accept string) (*http.Response, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.baseURL+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	request.Header.Set("X-Service-Key", a.key)
	response, err := a.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // was read as far as it is of use
	var failed struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&failed) // the status says enough
	return nil, fmt.Errorf("%s answered %d %s: %s", path, response.StatusCode, failed.Error.Code, failed.Error.Message)
}

// search asks POST /v1/docs/search.
func (a *api) search(ctx context.Context, query map[string]any) (publicSearch, error) {
	response, err := a.post(ctx, "/v1/docs/search", query, "application/json")
	if err != nil {
		return publicSearch{}, err
	}
	defer func() { _ = response.Body.Close() }() // was read
	var answer struct {
		Data publicSearch `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return publicSearch{}, fmt.Errorf("read the search's answer: %w", err)
	}
	return answer.Data, nil
}

// chat asks POST /v1/chat/stream and calls each with every event's name and data.
func (a *api) chat(ctx context.Context, message string, each func(event string, data []byte) error) error {
	response, err := a.post(ctx, "/v1/chat/stream", map[string]any{"message": message}, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // was read
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	event := ""
	for lines.Scan() {
		line := lines.Text()
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "event":
			event = strings.TrimSpace(value)
		case "data":
			if err := each(event, []byte(strings.TrimPrefix(value, " "))); err != nil {
				return err
			}
			if event == "done" || event == "error" {
				return nil
			}
		}
	}
	return errors.Join(lines.Err(), errors.New("the answer broke off"))
}

// hits are the results in the form that is printed.
func (p publicSearch) hits() searchAnswer {
	out := searchAnswer{Total: p.Total, Limit: p.Limit, Offset: p.Offset, TookMs: p.TookMs}
	for _, hit := range p.Results {
		out.Results = append(out.Results, hitRow{
			ID: hit.ID, DocumentID: hit.DocumentID, Title: hit.Title, URL: hit.URL, Snippet: hit.Snippet, Score: hit.Score,
			Version: hit.Version, Language: hit.Language, HeadingPath: hit.HeadingPath, UpdatedAt: hit.UpdatedAt,
		})
	}
	return out
}
