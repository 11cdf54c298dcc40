package llm_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/model/llm"
)

func TestAWindowIsSplitIntoPromptAndAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limits                    llm.Limits
		maxAnswer, prompt, answer int
	}{
		{llm.Limits{ContextWindow: 16_000}, 1000, 11_250, 1000},
		{llm.Limits{ContextWindow: 3000}, 2000, 1500, 1000}, // a third
		{llm.Limits{ContextWindow: 16_000, MaxOutputTokens: 400}, 1000, 11_700, 400},
	} {
		if prompt, answer := c.limits.Split(c.maxAnswer); prompt != c.prompt || answer != c.answer {
			t.Errorf("%+v.Split(%d) = %d, %d, want %d, %d", c.limits, c.maxAnswer, prompt, answer, c.prompt, c.answer)
		}
	}
}
