package rerank

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/internal/model/bedrock"
	"github.com/magpie-search/magpie/internal/model/google"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Form is the form of requests to a service. Responses are read in every form.
type Form uint8

const (
	// FormDocuments is the protocol of Cohere, Jina, vLLM and others: {model, query, documents, top_n, return_documents}.
	FormDocuments Form = iota + 1
	// FormTexts is the protocol of text-embeddings-inference, which serves one model without a name: {query, texts, raw_scores, truncate}.
	FormTexts
	// FormCohere is the second version of Cohere's protocol: {model, query, documents, top_n}.
	FormCohere
	// FormVoyage is the protocol of Voyage AI: {model, query, documents, top_k, return_documents, truncation}.
	FormVoyage
	// FormVertex is the ranking of Google's Vertex AI: {model, query, records, topN}. Requests have tokens of the default
	// credentials.
	FormVertex
	// FormBedrock is a model of Cohere or Amazon in Amazon Bedrock.
	FormBedrock
)

// The addresses of services, which replace an empty BaseURL.
const (
	JinaURL   = "https://api.jina.ai/v1"
	cohereURL = "https://api.cohere.com/v2"
	voyageURL = "https://api.voyageai.com/v1"
	vertexURL = "https://discoveryengine.googleapis.com"
)

// A Config describes a reranking service.
type Config struct {
	// BaseURL is the address without /rerank, such as https://api.jina.ai/v1. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the service's name of the model; empty for a service with only one.
	Model string
	// Form is FormDocuments when there is a Model and FormTexts when there is none.
	Form Form
	// Region is that of Bedrock, and Project that of Vertex AI.
	Region, Project string
	// Timeout limits a call of Rerank, including a retry (2 s).
	Timeout time.Duration
	// MaxPassages is the largest number of passages of a call (50), and Batch that of a request (FormDocuments: all,
	// FormTexts: 32, the default limit of that server).
	MaxPassages, Batch int
	// Passages and queries are cut to MaxRunes characters (2,000).
	MaxRunes int
	// HTTPClient replaces the client with the timeouts above.
	HTTPClient *http.Client
	// Sleep waits before a retry; provider.Sleep when nil. For tests.
	Sleep func(context.Context, time.Duration) error
}

// A Client is a client of a reranking service. It is safe for concurrent use.
type Client struct {
	cfg      Config
	endpoint string
	bedrock  *bedrock.Client // with FormBedrock
	// logits is set when the service has returned a score outside 0 to 1. From then on all scores are logits.
	logits atomic.Bool
}

var _ Reranker = (*Client)(nil)

// New returns a Client. The error names the invalid setting.
func New(cfg Config) (*Client, error) {
	own := cfg.BaseURL != ""
	if !own {
		cfg.BaseURL = map[Form]string{
			FormCohere: cohereURL, FormVoyage: voyageURL, FormVertex: vertexURL, FormBedrock: "https://bedrock-runtime." + cfg.Region + ".amazonaws.com",
		}[cfg.Form]
	}
	base, err := url.Parse(cfg.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("reranking model: the base URL must look like https://host/v1")
	}
	if cfg.Form == 0 {
		cfg.Form = FormDocuments
		if cfg.Model == "" {
			cfg.Form = FormTexts
		}
	}
	switch {
	case cfg.Model == "" && cfg.Form != FormTexts:
		return nil, errors.New("reranking model: the model's name is missing")
	case cfg.Form == FormVertex && cfg.Project == "":
		return nil, errors.New("reranking model: the project is missing")
	case cfg.Form == FormBedrock && cfg.Region == "":
		return nil, errors.New("reranking model: the region is missing")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 2 * time.Second
	}
	if cfg.MaxPassages <= 0 {
		cfg.MaxPassages = 50
	}
	if cfg.Batch <= 0 {
		cfg.Batch = cfg.MaxPassages
		if cfg.Form == FormTexts {
			cfg.Batch = 32
		}
	}
	if cfg.MaxRunes <= 0 {
		cfg.MaxRunes = 2000
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = provider.NewHTTPClient(cfg.Timeout, cfg.Timeout)
		cfg.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // passages are sent to the configured address only
		}
	}
	if cfg.Sleep == nil {
		cfg.Sleep = provider.Sleep
	}
	c := &Client{cfg: cfg, endpoint: strings.TrimRight(cfg.BaseURL, "/") + "/rerank"}
	switch cfg.Form {
	case FormVertex:
		c.endpoint = strings.TrimRight(cfg.BaseURL, "/") + "/v1/projects/" + url.PathEscape(cfg.Project) + "/locations/global/rankingConfigs/default_ranking_config:rank"
		c.cfg.HTTPClient = google.Client(cfg.HTTPClient)
	case FormBedrock:
		endpoint := ""
		if own {
			endpoint = strings.TrimRight(cfg.BaseURL, "/")
		}
		c.bedrock = bedrock.New(cfg.Region, endpoint, cfg.HTTPClient)
	}
	return c, nil
}

// Model implements Reranker.
func (c *Client) Model() string {
	if c.cfg.Model == "" {
		return "default"
	}
	return c.cfg.Model
}

// MaxPassages returns the largest number of passages of a call of Rerank.
func (c *Client) MaxPassages() int { return c.cfg.MaxPassages }

// Close ends idle connections.
func (c *Client) Close() {
	c.cfg.HTTPClient.CloseIdleConnections()
	if c.bedrock != nil {
		c.bedrock.Close() // those of another client
	}
}

// Rerank implements Reranker for up to MaxPassages passages. Errors are *provider.Error and contain nothing of the query,
// the passages or the key. A request with a temporary error (429, 5xx) is retried once, after the time that the service
// asks for, if the timeout allows it. Scores outside 0 to 1 are logits.
func (c *Client) Rerank(ctx context.Context, query string, passages []string) ([]float64, error) {
	if len(passages) == 0 {
		return []float64{}, nil
	}
	if len(passages) > c.cfg.MaxPassages {
		return nil, failure(provider.KindInvalid, fmt.Sprintf("%d passages, at most %d are allowed", len(passages), c.cfg.MaxPassages))
	}
	limited, cancel := context.WithTimeoutCause(ctx, c.cfg.Timeout, failure(provider.KindTimeout, "no answer within "+c.cfg.Timeout.String()))
	defer cancel()
	query = c.prepare(query)
	texts := make([]string, len(passages))
	for i, passage := range passages {
		texts[i] = c.prepare(passage)
	}
	batches := (len(texts) + c.cfg.Batch - 1) / c.cfg.Batch
	scores := make([]float64, len(texts))
	failures := make(chan error, batches)
	for start := 0; start < len(texts); start += c.cfg.Batch {
		end := min(start+c.cfg.Batch, len(texts))
		go func() {
			err := c.batch(limited, query, texts[start:end], scores[start:end])
			failures <- err // before the other requests fail
			if err != nil {
				cancel()
			}
		}()
	}
	var first error
	for range batches {
		if err := <-failures; err != nil && first == nil {
			first = err
		}
	}
	if first != nil {
		return nil, first
	}
	c.toShares(scores)
	return scores, nil
}

// prepare returns a text that services accept: valid UTF-8, not too long and not blank.
func (c *Client) prepare(text string) string {
	count := 0
	for i := range text {
		if count == c.cfg.MaxRunes {
			text = text[:i]
			break
		}
		count++
	}
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "."
	}
	return text
}

// batch makes one request and retries it after a temporary error.
func (c *Client) batch(ctx context.Context, query string, texts []string, scores []float64) error {
	err := c.request(ctx, query, texts, scores)
	var refused *provider.Error
	if err == nil || !errors.As(err, &refused) || !refused.Retryable() || refused.Status == 0 || ctx.Err() != nil {
		return err
	}
	pause := refused.RetryAfter()
	if pause == 0 {
		pause = min(100*time.Millisecond, c.cfg.Timeout/10)
	}
	if deadline, ok := ctx.Deadline(); ok && pause >= time.Until(deadline) {
		return err // the caller retries later
	}
	if c.cfg.Sleep(ctx, pause) != nil {
		return err
	}
	return c.request(ctx, query, texts, scores)
}

func failure(kind provider.Kind, message string) *provider.Error {
	return &provider.Error{Kind: kind, Op: operation, Message: message}
}
