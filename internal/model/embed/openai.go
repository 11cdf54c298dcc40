package embed

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// An OpenAIConfig describes a model of the OpenAI embeddings protocol, which many services and local servers have.
type OpenAIConfig struct {
	// Name is the name of the model in settings and collections; Model when empty.
	Name string
	// BaseURL ends in the API version, such as https://api.openai.com/v1. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the provider's name of the model.
	Model string
	// Dimensions is the length of the model's vectors. Every response is checked against it.
	Dimensions int
	// SendDimensions asks the service for vectors of that length. Only some models accept it.
	SendDimensions bool
	// QueryPrefix and PassagePrefix are prepended to texts; some models are trained with "query: " and "passage: ".
	QueryPrefix, PassagePrefix string
	// Batch is the largest number of texts of a request (64). Texts are cut to MaxRunes characters (8,000).
	Batch, MaxRunes int
	// Timeout limits one request (60 s). Tries is how often a request with temporary errors is made (4). MaxRetryWait is
	// the longest delay of a retry (30 s).
	Timeout      time.Duration
	Tries        int
	MaxRetryWait time.Duration
	// HTTPClient replaces the client with the timeouts above.
	HTTPClient *http.Client
	// Sleep waits before a retry; provider.Sleep when nil. For tests.
	Sleep func(context.Context, time.Duration) error
}

// An OpenAI is an Embedder of the OpenAI embeddings protocol. It is safe for concurrent use.
type OpenAI struct {
	cfg    OpenAIConfig
	client *openai.Client
}

var _ Embedder = (*OpenAI)(nil)

// NewOpenAI returns an embedder. The error names the invalid setting.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	base, err := url.Parse(cfg.BaseURL)
	switch {
	case cfg.Model == "":
		return nil, errors.New("embedding model: the model's name is missing")
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("embedding model %s: the base URL must look like https://host/v1", cfg.Model)
	case cfg.Dimensions < 1 || cfg.Dimensions > 16000:
		return nil, fmt.Errorf("embedding model %s: the number of dimensions must be from 1 to 16000", cfg.Model)
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Model
	}
	for _, setting := range []struct {
		value    *int
		standard int
	}{{&cfg.Batch, 64}, {&cfg.MaxRunes, 8000}, {&cfg.Tries, 4}} {
		if *setting.value <= 0 {
			*setting.value = setting.standard
		}
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.MaxRetryWait <= 0 {
		cfg.MaxRetryWait = 30 * time.Second
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = provider.NewHTTPClient(10*time.Second, cfg.Timeout)
	}
	if cfg.Sleep == nil {
		cfg.Sleep = provider.Sleep
	}
	settings := openai.DefaultConfig(cfg.Key)
	settings.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	settings.HTTPClient = &provider.Doer{Client: cfg.HTTPClient}
	return &OpenAI{cfg: cfg, client: openai.NewClientWithConfig(settings)}, nil
}

// Model implements Embedder.
func (m *OpenAI) Model() string { return m.cfg.Name }

// Dimensions implements Embedder.
func (m *OpenAI) Dimensions() int { return m.cfg.Dimensions }

// Close ends idle connections.
func (m *OpenAI) Close() { m.cfg.HTTPClient.CloseIdleConnections() }

// Embed implements Embedder. Errors of the service are *provider.Error. Texts are cut to MaxRunes. A blank text, which
// services refuse, is embedded as a full stop.
func (m *OpenAI) Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for start := 0; start < len(texts); start += m.cfg.Batch {
		batch := make([]string, 0, m.cfg.Batch)
		for _, text := range texts[start:min(start+m.cfg.Batch, len(texts))] {
			batch = append(batch, m.prepare(text, purpose))
		}
		embedded, err := m.batch(ctx, batch)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, embedded...)
	}
	return vectors, nil
}

func (m *OpenAI) prepare(text string, purpose Purpose) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		text = "."
	}
	prefix := m.cfg.PassagePrefix
	if purpose == Query {
		prefix = m.cfg.QueryPrefix
	}
	count := 0
	for i := range text {
		if count == m.cfg.MaxRunes {
			text = text[:i]
			break
		}
		count++
	}
	return prefix + text
}

// batch makes one request and retries it after temporary errors.
func (m *OpenAI) batch(ctx context.Context, texts []string) ([][]float32, error) {
	wait := 500 * time.Millisecond
	for try := 1; ; try++ {
		vectors, err := m.request(ctx, texts)
		if err == nil {
			return vectors, nil
		}
		var failure *provider.Error
		if try >= m.cfg.Tries || ctx.Err() != nil || !errors.As(err, &failure) || !failure.Retryable() {
			return nil, err
		}
		pause := max(failure.RetryAfter(), wait)
		if pause > m.cfg.MaxRetryWait {
			if failure.RetryAfter() > m.cfg.MaxRetryWait {
				return nil, err // the caller retries later
			}
			pause = m.cfg.MaxRetryWait
		}
		if deadline, ok := ctx.Deadline(); ok && pause >= time.Until(deadline) {
			return nil, err // a retry would be too late
		}
		if err := m.cfg.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("embeddings: wait for retry: %w", err)
		}
		wait *= 2
	}
}

func (m *OpenAI) request(ctx context.Context, texts []string) ([][]float32, error) {
	limited, cancel := context.WithTimeoutCause(ctx, m.cfg.Timeout,
		&provider.Error{Kind: provider.KindTimeout, Op: "embeddings", Message: "no answer within " + m.cfg.Timeout.String()})
	defer cancel()
	limited, note := provider.WithNote(limited)
	body := openai.EmbeddingRequestStrings{
		Input: texts, Model: openai.EmbeddingModel(m.cfg.Model), EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	}
	if m.cfg.SendDimensions {
		body.Dimensions = m.cfg.Dimensions
	}
	response, err := m.client.CreateEmbeddings(limited, body)
	if err != nil {
		return nil, provider.Classify(limited, "embeddings", err, note, m.cfg.Key)
	}
	return m.check(response.Data, len(texts))
}

// check returns the vectors in the order of the texts and at unit length. It returns an error for an invalid response.
func (m *OpenAI) check(data []openai.Embedding, count int) ([][]float32, error) {
	wrong := func(format string, args ...any) error {
		return &provider.Error{Kind: provider.KindInvalid, Op: "embeddings", Message: fmt.Sprintf(format, args...)}
	}
	if len(data) != count {
		return nil, wrong("the service gave %d vectors for %d texts", len(data), count)
	}
	vectors := make([][]float32, count)
	ordered := hasOrder(data)
	for i := range data {
		at := i
		if ordered {
			at = data[i].Index
		}
		vector := data[i].Embedding
		if len(vector) != m.cfg.Dimensions {
			return nil, wrong("the service gave vectors of %d dimensions, the setting says %d", len(vector), m.cfg.Dimensions)
		}
		if !toUnit(vector) {
			return nil, wrong("the service gave a vector without a direction")
		}
		vectors[at] = vector
	}
	return vectors, nil
}

// hasOrder reports whether each index of the texts occurs once. Some servers set all indexes to zero.
func hasOrder(data []openai.Embedding) bool {
	seen := make([]bool, len(data))
	for i := range data {
		if data[i].Index < 0 || data[i].Index >= len(data) || seen[data[i].Index] {
			return false
		}
		seen[data[i].Index] = true
	}
	return true
}

// toUnit scales a vector to unit length. It returns false for a vector without length.
func toUnit(vector []float32) bool {
	square := 0.0
	for _, value := range vector {
		square += float64(value) * float64(value)
	}
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		return false
	}
	scale := 1 / math.Sqrt(square)
	for i := range vector {
		vector[i] = float32(float64(vector[i]) * scale)
	}
	return true
}
