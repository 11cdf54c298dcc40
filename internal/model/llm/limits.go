package llm

import "strings"

// Limits are the limits of a model in tokens.
type Limits struct {
	// ContextWindow is the largest sum of prompt and answer.
	ContextWindow int
	// MaxOutputTokens is the largest answer; 0 if only the window limits it.
	MaxOutputTokens int
}

// DefaultContextWindow is the context window of unknown models.
const DefaultContextWindow = 16_384

// families lists the smallest context window of each family of models. It has only hosted models, because the window of
// a local server is a setting of the server.
var families = []struct {
	prefix string
	window int
}{
	{"claude-", 200_000},
	{"gpt-3.5", 16_000},
	{"gpt-4-turbo", 128_000}, {"gpt-4o", 128_000}, {"gpt-4.", 128_000}, {"gpt-4", 8_192},
	{"gpt-5", 128_000}, {"chatgpt-", 128_000}, {"o1", 128_000}, {"o3", 128_000}, {"o4", 128_000},
	{"gemini-", 128_000},
	{"nova-", 128_000}, {"command-a", 128_000}, {"command-r", 128_000},
	{"deepseek-", 64_000},
}

// KnownWindow returns a lower bound of the context window of a model by the provider's name, such as "claude-sonnet-4-5",
// "openai/gpt-4o" or "eu.anthropic.claude-sonnet-4-5". It returns DefaultContextWindow for an unknown family.
func KnownWindow(model string) int {
	model = strings.ToLower(model)
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, publisher := range []string{"anthropic.", "amazon.", "cohere."} { // as Bedrock names them, after a region
		if _, name, found := strings.Cut(model, publisher); found {
			model = name
		}
	}
	for _, family := range families {
		if strings.HasPrefix(model, family.prefix) {
			return family.window
		}
	}
	return DefaultContextWindow
}

func (l Limits) orKnown(model string) Limits {
	if l.ContextWindow <= 0 {
		l.ContextWindow = KnownWindow(model)
	}
	return l
}

// Split divides the context window into tokens for the prompt and for an answer of at most maxAnswer tokens. An answer gets
// at most a third of the window. A quarter of the remaining window stays free, because models count tokens differently.
func (l Limits) Split(maxAnswer int) (prompt, answer int) {
	answer = min(maxAnswer, l.ContextWindow/3)
	if l.MaxOutputTokens > 0 {
		answer = min(answer, l.MaxOutputTokens)
	}
	return (l.ContextWindow - answer) * 3 / 4, answer
}

// min returns the stricter of both limits, field by field.
func (l Limits) min(other Limits) Limits {
	l.ContextWindow = min(l.ContextWindow, other.ContextWindow)
	switch {
	case l.MaxOutputTokens == 0:
		l.MaxOutputTokens = other.MaxOutputTokens
	case other.MaxOutputTokens != 0:
		l.MaxOutputTokens = min(l.MaxOutputTokens, other.MaxOutputTokens)
	}
	return l
}

// LimitsOf returns the limits of a model, or those of an unknown family if the model has no method Limits.
func LimitsOf(model ChatModel) Limits {
	if limited, ok := model.(interface{ Limits() Limits }); ok {
		return limited.Limits()
	}
	return Limits{ContextWindow: DefaultContextWindow}
}
