package llm

import (
	"sync"

	"github.com/tiktoken-go/tokenizer"
)

// A TokenCounter counts tokens as recent OpenAI models do; for other models the count is an estimate. The vocabulary of
// tens of megabytes is loaded on first use, so that models should share a counter. It is safe for concurrent use.
type TokenCounter struct {
	load  sync.Once
	codec tokenizer.Codec
}

// NewTokenCounter returns a counter without loading the vocabulary.
func NewTokenCounter() *TokenCounter { return &TokenCounter{} }

// Count returns the number of tokens of a text.
func (c *TokenCounter) Count(text string) int {
	if text == "" {
		return 0
	}
	c.load.Do(func() {
		// The vocabulary is compiled in, so that this call cannot fail. The estimate below is the fallback.
		c.codec, _ = tokenizer.Get(tokenizer.O200kBase)
	})
	if c.codec != nil {
		if count, err := c.codec.Count(text); err == nil {
			return count
		}
	}
	return len(text)/4 + 1
}

// CountMessages returns the number of tokens of a conversation, including separators.
func (c *TokenCounter) CountMessages(messages []Message) int {
	const perMessage, perAnswer = 4, 3
	total := perAnswer
	for _, message := range messages {
		total += perMessage + c.Count(message.Content)
		for _, call := range message.Calls {
			total += c.countCall(call)
		}
	}
	return total
}

// CountTools returns the number of tokens of the descriptions of tools.
func (c *TokenCounter) CountTools(tools []Tool) int {
	const perTool = 8
	total := 0
	for _, tool := range tools {
		total += perTool + c.Count(tool.Name) + c.Count(tool.Description) + c.Count(string(tool.Schema))
	}
	return total
}

func (c *TokenCounter) countCall(call ToolCall) int {
	const perCall = 8
	return perCall + c.Count(call.Name) + c.Count(call.Arguments)
}
