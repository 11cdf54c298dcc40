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

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// operation is the Op of errors.
const operation = "embeddings"

// MaxDimensions is the greatest length of vectors.
const MaxDimensions = 16000

// A Config describes a model of a service, for every protocol.
type Config struct {
	// Name is the name of the model in settings and collections; Model when empty.
	Name string
	// BaseURL is the address of the service; each constructor says which part of it. Key may be empty for local servers.
	BaseURL, Key string
	// Model is the provider's name of the model.
	Model string
	// Dimensions is the length of the model's vectors. Every response is checked against it.
	Dimensions int
	// SendDimensions says whether to ask the service for vectors of that length, which only some models accept. Nil sends it
	// to models that are known to.
	SendDimensions *bool
	// QueryPrefix and PassagePrefix are prepended to texts; some models are trained with "query: " and "passage: ".
	QueryPrefix, PassagePrefix string
	// Batch is the largest number of texts of a request, and Parallel that of requests at a time (1). Texts are cut to
	// MaxRunes characters (8,000). The default of Batch is that of the provider, 64 for most.
	Batch, Parallel, MaxRunes int
	// Timeout limits one request (60 s), and ConnectTimeout connecting (10 s). Tries is how often a request with temporary
	// errors is made (4). MaxRetryWait is the longest delay of a retry (30 s).
	Timeout, ConnectTimeout time.Duration
	Tries                   int
	MaxRetryWait            time.Duration
	// HTTPClient replaces the client with the timeouts above.
	HTTPClient *http.Client
	// Sleep waits before a retry; provider.Sleep when nil. For tests.
	Sleep func(context.Context, time.Duration) error
}

// sends reports whether the service is asked for vectors of a length. known says whether the model takes it.
func (c *Config) sends(known bool) bool {
	if c.SendDimensions != nil {
		return *c.SendDimensions
	}
	return known
}

// limit returns an error if a request may have more texts than the provider takes.
func (c *Config) limit(most int) error {
	if c.Batch > most {
		return fmt.Errorf("embedding model %s: batch is %d, but a request may have at most %d texts", c.Model, c.Batch, most)
	}
	return nil
}

// complete checks the settings and sets the defaults.
func (c *Config) complete() error {
	switch {
	case c.Model == "":
		return errors.New("embedding model: the model's name is missing")
	case c.Dimensions < 1 || c.Dimensions > MaxDimensions:
		return fmt.Errorf("embedding model %s: the number of dimensions must be from 1 to %d", c.Model, MaxDimensions)
	}
	if c.Name == "" {
		c.Name = c.Model
	}
	for _, setting := range []struct {
		value    *int
		standard int
	}{{&c.Batch, 64}, {&c.Parallel, 1}, {&c.MaxRunes, 8000}, {&c.Tries, 4}} {
		if *setting.value <= 0 {
			*setting.value = setting.standard
		}
	}
	for _, setting := range []struct {
		value    *time.Duration
		standard time.Duration
	}{{&c.Timeout, time.Minute}, {&c.ConnectTimeout, 10 * time.Second}, {&c.MaxRetryWait, 30 * time.Second}} {
		if *setting.value <= 0 {
			*setting.value = setting.standard
		}
	}
	if c.HTTPClient == nil {
		c.HTTPClient = provider.NewHTTPClient(c.ConnectTimeout, c.Timeout)
	}
	if c.Sleep == nil {
		c.Sleep = provider.Sleep
	}
	return nil
}

// address returns the base URL without a slash at its end, or an error.
func (c *Config) address() (string, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return "", fmt.Errorf("embedding model %s: the base URL must look like https://host/v1", c.Model)
	}
	return strings.TrimRight(c.BaseURL, "/"), nil
}

// call returns a request below the base URL. It sets the defaults of the settings.
func (c *Config) call(path string) (provider.Call, error) {
	base, err := c.address()
	if err != nil {
		return provider.Call{}, err
	}
	if err := c.complete(); err != nil {
		return provider.Call{}, err
	}
	call := provider.Call{Client: c.HTTPClient, Op: operation, Key: c.Key, URL: base + path}
	if c.Key != "" {
		call.Header = map[string]string{"Authorization": "Bearer " + c.Key}
	}
	return call, nil
}

// A Protocol makes one request to a service.
type Protocol interface {
	// Request returns one vector for each text, in order, as the service gave them. Its errors are *provider.Error.
	Request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error)
}

// A Remote is an Embedder of a service. It has what all protocols need: texts that services accept, batches, retries and
// checks of the vectors. It is safe for concurrent use.
type Remote struct {
	cfg      Config
	protocol Protocol
}

var _ Embedder = (*Remote)(nil)

// NewRemote returns an Embedder that makes its requests by a protocol. The error names the invalid setting.
func NewRemote(cfg Config, protocol Protocol) (*Remote, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Remote{cfg: cfg, protocol: protocol}, nil
}

// Model implements Embedder.
func (m *Remote) Model() string { return m.cfg.Name }

// Dimensions implements Embedder.
func (m *Remote) Dimensions() int { return m.cfg.Dimensions }

// Close ends idle connections.
func (m *Remote) Close() {
	m.cfg.HTTPClient.CloseIdleConnections()
	if own, ok := m.protocol.(interface{ Close() }); ok {
		own.Close() // those of another client
	}
}

// Embed implements Embedder. Errors of the service are *provider.Error. Texts are cut to MaxRunes. A blank text, which
// services refuse, is embedded as a full stop.
func (m *Remote) Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.cfg.Parallel)
	for start := 0; start < len(texts); start += m.cfg.Batch {
		end := min(start+m.cfg.Batch, len(texts))
		group.Go(func() error {
			batch := make([]string, 0, end-start)
			for _, text := range texts[start:end] {
				batch = append(batch, m.prepare(text, purpose))
			}
			embedded, err := m.batch(ctx, batch, purpose)
			copy(vectors[start:end], embedded)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

func (m *Remote) prepare(text string, purpose Purpose) string {
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
func (m *Remote) batch(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	wait := 500 * time.Millisecond
	for try := 1; ; try++ {
		vectors, err := m.request(ctx, texts, purpose)
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

func (m *Remote) request(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	limited, cancel := context.WithTimeoutCause(ctx, m.cfg.Timeout,
		&provider.Error{Kind: provider.KindTimeout, Op: operation, Message: "no answer within " + m.cfg.Timeout.String()})
	defer cancel()
	vectors, err := m.protocol.Request(limited, texts, purpose)
	if err != nil {
		return nil, err
	}
	return vectors, m.check(vectors, len(texts))
}

// check brings the vectors to unit length. It returns an error for an invalid response.
func (m *Remote) check(vectors [][]float32, count int) error {
	if len(vectors) != count {
		return invalid("the service gave %d vectors for %d texts", len(vectors), count)
	}
	for _, vector := range vectors {
		if len(vector) != m.cfg.Dimensions {
			return m.wrongLength(len(vector))
		}
		if !toUnit(vector) {
			return invalid("the service gave a vector without a direction")
		}
	}
	return nil
}

// wrongLength returns the error for vectors of another length than the setting's.
func (m *Remote) wrongLength(got int) error {
	err := invalid("the service gave vectors of %d dimensions, the setting says %d", got, m.cfg.Dimensions)
	err.Advice = fmt.Sprintf("The model gives vectors of %d dimensions, but its setting says %d: set dimensions (EMBEDDING_DIMENSIONS) to %d, "+
		"or send_dimensions to true if the model can give %d.", got, m.cfg.Dimensions, got, m.cfg.Dimensions)
	return err
}

// invalid returns the error for an invalid response.
func invalid(format string, args ...any) *provider.Error {
	return &provider.Error{Kind: provider.KindInvalid, Op: operation, Message: fmt.Sprintf(format, args...)}
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
