package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
)

// REST calls the public REST API with an API key, as a customer's program does.
type REST struct {
	BaseURL string
	Key     string
	Client  http.Client
}

// A PublicHit is a search result of the public API.
type PublicHit struct {
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

// PublicResults is a page of search results of the public API.
type PublicResults struct {
	Results []PublicHit `json:"results"`
	Total   int         `json:"total"`
	Limit   int         `json:"limit"`
	Offset  int         `json:"offset"`
	TookMs  float64     `json:"took_ms"`
}

// post sends a JSON body. The caller closes the body of the response, whose
// status is 200 OK.
func (c *REST) post(ctx context.Context, path string, body any, accept string) (*http.Response, error) {
	content, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+path, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("create the request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", accept)
	request.Header.Set("X-Service-Key", c.Key)
	response, err := c.Client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", path, err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // only read
	var failed struct {
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&failed) // the status is enough
	return nil, fmt.Errorf("%s answered %d %s: %s", path, response.StatusCode, failed.Error.Code, failed.Error.Message)
}

const searchPath = "/v1/docs/search"

// Search asks POST /v1/docs/search.
func (c *REST) Search(ctx context.Context, query map[string]any) (PublicResults, error) {
	response, err := c.post(ctx, searchPath, query, "application/json")
	if err != nil {
		return PublicResults{}, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	var answer struct {
		Data PublicResults `json:"data"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return PublicResults{}, fmt.Errorf("read the search's answer: %w", err)
	}
	return answer.Data, nil
}

// SearchJSON is like Search with an encoded query and the encoded answer.
func (c *REST) SearchJSON(ctx context.Context, query json.RawMessage) ([]byte, error) {
	response, err := c.post(ctx, searchPath, query, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read the search's answer: %w", err)
	}
	return content, nil
}

// Chat asks POST /v1/chat/stream and calls each with the name and the data of
// every event.
func (c *REST) Chat(ctx context.Context, message string, each func(event string, data []byte) error) error {
	response, err := c.post(ctx, "/v1/chat/stream", map[string]any{"message": message}, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	ended := false
	broken, err := readEvents(response.Body, 1<<20, func() {}, func(event string, data []byte) (last bool, err error) {
		if len(data) == 0 {
			return false, nil
		}
		ended = event == "done" || event == "error"
		return ended, each(event, data)
	})
	if err != nil || ended {
		return err
	}
	return errors.Join(broken, errors.New("the answer broke off"))
}

// Convert returns the results as those of the GraphQL API.
func (p PublicResults) Convert() SearchResults {
	out := SearchResults{Total: p.Total, Limit: p.Limit, Offset: p.Offset, TookMs: p.TookMs}
	for _, hit := range p.Results {
		out.Results = append(out.Results, Hit{
			ID: hit.ID, DocumentID: hit.DocumentID, Title: hit.Title, URL: hit.URL, Snippet: hit.Snippet, Score: hit.Score,
			Version: hit.Version, Language: hit.Language, HeadingPath: hit.HeadingPath, UpdatedAt: hit.UpdatedAt,
		})
	}
	return out
}
