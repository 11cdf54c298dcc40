package loop

import (
	"fmt"
	"time"
)

// Limits bound a run. Every limit is required.
type Limits struct {
	Steps         int           // requests to the model, including the one for the answer
	Calls         int           // tool calls
	Parallel      int           // tool calls at once
	Tokens        int           // of all requests, prompts and answers together
	AnswerTokens  int           // of one answer of the model
	ResultLength  int           // characters of a tool's result that the model sees
	Timeout       time.Duration // of the whole run
	AnswerReserve time.Duration // the part of Timeout that tools leave for the answer
	ToolTimeout   time.Duration // of a call of a tool that has no limit of its own
	LongestTool   time.Duration // of a call of any tool
}

// Standard returns limits that fit most agents.
func Standard() Limits {
	return Limits{
		Steps: 10, Calls: 40, Parallel: 4, Tokens: 200_000, AnswerTokens: 4096, ResultLength: 16_000,
		Timeout: 4 * time.Minute, AnswerReserve: time.Minute, ToolTimeout: 30 * time.Second, LongestTool: 2 * time.Minute,
	}
}

// call returns the time that a call of a tool may take.
func (l Limits) call(tool *Tool) time.Duration {
	if tool.Timeout <= 0 {
		return min(l.ToolTimeout, l.LongestTool)
	}
	return min(tool.Timeout, l.LongestTool)
}

func (l Limits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"Steps", int64(l.Steps)}, {"Calls", int64(l.Calls)}, {"Parallel", int64(l.Parallel)}, {"Tokens", int64(l.Tokens)},
		{"AnswerTokens", int64(l.AnswerTokens)}, {"ResultLength", int64(l.ResultLength)}, {"Timeout", int64(l.Timeout)},
		{"AnswerReserve", int64(l.AnswerReserve)}, {"ToolTimeout", int64(l.ToolTimeout)},
		{"LongestTool", int64(l.LongestTool)},
	} {
		if limit.value <= 0 {
			return fmt.Errorf("agent loop: the limit %s is missing", limit.name)
		}
	}
	if l.AnswerReserve >= l.Timeout {
		return fmt.Errorf("agent loop: the limit AnswerReserve must be less than Timeout")
	}
	return nil
}
