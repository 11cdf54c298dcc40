package llm

import "strings"

// Limits are what a model takes and writes, in tokens.
type Limits struct {
	// ContextWindow is how much prompt and answer may be together.
	ContextWindow int
	// MaxOutputTokens is how long an answer may be; 0 when there is no bound but the window.
	MaxOutputTokens int
}

// DefaultContextWindow is that of a model of which nothing is known.
const DefaultContextWindow = 16_384

// families lists what models of a family take at least, by how their names begin. Only hosted ones are here: how much a
// local server takes is set there and not by the model.
var families = []struct { // a table that nothing changes
	begins string
	window int
}{
	{"claude-", 200_000},
	{"gpt-3.5", 16_000},
	{"gpt-4-turbo", 128_000}, {"gpt-4o", 128_000}, {"gpt-4.", 128_000}, {"gpt-4", 8_192},
	{"gpt-5", 128_000}, {"chatgpt-", 128_000}, {"o1", 128_000}, {"o3", 128_000}, {"o4", 128_000},
	{"gemini-", 128_000},
	{"deepseek-", 64_000},
}

// KnownWindow is a safe estimate of the context window of a model by the provider's name of it, such as
// "claude-sonnet-4-5" or "openai/gpt-4o"; DefaultContextWindow when its family is not known.
func KnownWindow(model string) int {
	model = strings.ToLower(model)
	model = model[strings.LastIndexByte(model, '/')+1:]
	for _, family := range families {
		if strings.HasPrefix(model, family.begins) {
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

// within is the narrower of both in each respect.
func (l Limits) within(other Limits) Limits {
	l.ContextWindow = min(l.ContextWindow, other.ContextWindow)
	switch {
	case l.MaxOutputTokens == 0:
		l.MaxOutputTokens = other.MaxOutputTokens
	case other.MaxOutputTokens != 0:
		l.MaxOutputTokens = min(l.MaxOutputTokens, other.MaxOutputTokens)
	}
	return l
}

// LimitsOf returns the limits of a model; those of an unknown family for a model that does not tell.
func LimitsOf(model ChatModel) Limits {
	if limited, ok := model.(interface{ Limits() Limits }); ok {
		return limited.Limits()
	}
	return Limits{ContextWindow: DefaultContextWindow}
}
