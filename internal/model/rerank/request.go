package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// operation is the Op of errors.
const operation = "rerank"

// maxAnswer is the largest number of bytes of a response. It allows for services that return the passages.
const maxAnswer = 4 << 20

// A body is a request in any form.
type body struct {
	Model           string   `json:"model,omitempty"`
	Query           string   `json:"query"`
	Documents       []string `json:"documents,omitempty"`
	TopN            int      `json:"top_n,omitempty"`
	ReturnDocuments *bool    `json:"return_documents,omitempty"`
	Texts           []string `json:"texts,omitempty"`
	RawScores       *bool    `json:"raw_scores,omitempty"`
	Truncate        *bool    `json:"truncate,omitempty"`
	TopK            int      `json:"top_k,omitempty"`
	Truncation      *bool    `json:"truncation,omitempty"`
	APIVersion      int      `json:"api_version,omitempty"`
	Records         []record `json:"records,omitempty"`
	TopRecords      int      `json:"topN,omitempty"`
	OnlyScores      bool     `json:"ignoreRecordDetailsInResponse,omitempty"`
}

// A record is a passage of FormVertex. Its id is its index.
type record struct {
	ID      string `json:"id"`
	Content string `json:"content"`
}

func (c *Client) newBody(query string, texts []string) *body {
	yes, no := true, false
	switch c.cfg.Form {
	case FormTexts:
		return &body{Model: c.cfg.Model, Query: query, Texts: texts, RawScores: &no, Truncate: &yes}
	case FormCohere:
		return &body{Model: c.cfg.Model, Query: query, Documents: texts, TopN: len(texts)}
	case FormVoyage:
		return &body{Model: c.cfg.Model, Query: query, Documents: texts, TopK: len(texts), ReturnDocuments: &no, Truncation: &yes}
	case FormVertex:
		records := make([]record, len(texts))
		for i, text := range texts {
			records[i] = record{strconv.Itoa(i), text}
		}
		return &body{Model: c.cfg.Model, Query: query, Records: records, TopRecords: len(texts), OnlyScores: true}
	case FormBedrock:
		b := &body{Query: query, Documents: texts, TopN: len(texts)} // the address has the model
		if strings.Contains(c.cfg.Model, "cohere.") {
			b.APIVersion = 2
		}
		return b
	case FormDocuments:
	}
	return &body{Model: c.cfg.Model, Query: query, Documents: texts, TopN: len(texts), ReturnDocuments: &no}
}

// request makes one request and writes the scores of the texts to scores.
func (c *Client) request(ctx context.Context, query string, texts []string, scores []float64) error {
	if c.bedrock != nil {
		answer, err := c.bedrock.Invoke(ctx, operation, c.cfg.Model, c.newBody(query, texts))
		var refused *provider.Error
		if errors.As(err, &refused) && refused.Status != 0 { // the message of the service may contain passages
			refused.Message = http.StatusText(refused.Status)
		}
		if err != nil {
			return err
		}
		if err := read(answer, scores); err != nil {
			return failure(provider.KindInvalid, err.Error())
		}
		return nil
	}
	encoded, err := json.Marshal(c.newBody(query, texts))
	if err != nil {
		return failure(provider.KindInvalid, "the request cannot be written")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(encoded))
	if err != nil {
		return failure(provider.KindInvalid, "the request cannot be made")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if c.cfg.Key != "" {
		request.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	noted, note := provider.WithNote(ctx)
	response, err := c.cfg.HTTPClient.Do(request)
	if err != nil {
		return provider.Classify(noted, operation, err, note, c.cfg.Key)
	}
	defer func() { _ = response.Body.Close() }() // the response was read
	if response.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // so that the connection is reused
		return refusal(response)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return provider.Classify(noted, operation, err, note, c.cfg.Key)
	case len(answer) > maxAnswer:
		return failure(provider.KindInvalid, "the answer is too long")
	}
	if err := read(answer, scores); err != nil {
		return failure(provider.KindInvalid, err.Error())
	}
	return nil
}

// refusal returns the error of a failed response. It omits the message of the service, which may contain passages.
func refusal(response *http.Response) error {
	status := response.StatusCode
	if status < http.StatusBadRequest {
		return &provider.Error{Kind: provider.KindInvalid, Op: operation, Status: status, Message: "this is no answer"}
	}
	err := provider.FromStream(operation, float64(status), "", http.StatusText(status), "")
	var refused *provider.Error
	if errors.As(err, &refused) {
		refused.After = provider.RetryAfter(response.Header, time.Now())
	}
	return err
}

// A result is the score of one text with the field names of all services.
type result struct {
	Index          *int     `json:"index"`
	ID             *string  `json:"id"` // the index, in records
	RelevanceScore *float64 `json:"relevance_score"`
	Score          *float64 `json:"score"`
}

// read reads the scores of all texts from a response: {results: […]}, {data: […]}, {records: […]} or only the list. Its errors contain
// nothing of the response but numbers.
func read(answer []byte, scores []float64) error {
	var results []result
	if trimmed := bytes.TrimSpace(answer); len(trimmed) > 0 && trimmed[0] == '[' {
		if json.Unmarshal(trimmed, &results) != nil {
			return errors.New("the response is not a list of scores")
		}
	} else {
		var object struct {
			Results []result `json:"results"`
			Data    []result `json:"data"`
			Records []result `json:"records"`
		}
		if json.Unmarshal(trimmed, &object) != nil {
			return errors.New("the response is not a list of scores")
		}
		if results = object.Results; results == nil {
			results = object.Data
		}
		for i, r := range object.Records {
			if r.ID != nil && r.Index == nil {
				if index, err := strconv.Atoi(*r.ID); err == nil {
					object.Records[i].Index = &index
				}
			}
		}
		if results == nil {
			results = object.Records
		}
	}
	if len(results) != len(scores) {
		return fmt.Errorf("the service returned %d scores for %d passages", len(results), len(scores))
	}
	seen := make([]bool, len(scores))
	for _, r := range results {
		score := r.RelevanceScore
		if score == nil {
			score = r.Score
		}
		switch {
		case r.Index == nil || score == nil:
			return errors.New("the service returned a result without an index or a score")
		case *r.Index < 0 || *r.Index >= len(scores):
			return fmt.Errorf("the service returned index %d of %d passages", *r.Index, len(scores))
		case seen[*r.Index]:
			return fmt.Errorf("the service returned index %d twice", *r.Index)
		}
		seen[*r.Index] = true
		scores[*r.Index] = *score
	}
	return nil
}

// roundingError is how far outside 0 to 1 a probability may come by rounding.
const roundingError = 1e-3

// toShares brings scores into 0 to 1 without changing their order: probabilities stay, logits go through the logistic
// function that the models were trained with.
func (c *Client) toShares(scores []float64) {
	for _, score := range scores {
		if score < -roundingError || score > 1+roundingError {
			c.logits.Store(true)
		}
	}
	logits := c.logits.Load()
	for i, score := range scores {
		if logits {
			score = 1 / (1 + math.Exp(-score))
		}
		scores[i] = min(max(score, 0), 1)
	}
}
