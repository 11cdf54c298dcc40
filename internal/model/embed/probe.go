package embed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// probeTimeout limits the time of a probe.
const probeTimeout = 15 * time.Second

// Probe embeds a short text, to find out whether a model works. Its errors are those of the model, or the context's.
func Probe(ctx context.Context, model Embedder) error {
	limited, cancel := context.WithTimeoutCause(ctx, probeTimeout,
		&provider.Error{Kind: provider.KindTimeout, Op: operation, Message: "no answer within " + probeTimeout.String()})
	defer cancel()
	vectors, err := model.Embed(limited, []string{"A short text to see whether the model answers."}, Passage)
	switch {
	case err != nil:
		return fmt.Errorf("probe the embedding model: %w", err)
	case len(vectors) != 1 || len(vectors[0]) != model.Dimensions():
		return fmt.Errorf("probe the embedding model: %w", invalid("%d vectors of a wrong length", len(vectors)))
	}
	return nil
}

// Explain returns sentences about a failure of a model. With quote they have the message of the service's response, but
// never an address or a key.
func Explain(err error, quote bool) string {
	text := provider.Brief(err)
	var failure *provider.Error
	if quote && errors.As(err, &failure) && failure.Status != 0 && failure.Message != "" {
		text += " It said: " + strings.TrimRight(failure.Message, ". ") + "."
	}
	return text
}
