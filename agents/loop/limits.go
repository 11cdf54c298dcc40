package loop

import (
	"fmt"
	"time"
)

// Limits bound a run. Every one is needed.
type Limits struct {
	Steps        int           // requests to the model, the answer's included
	Calls        int           // tool calls
	Parallel     int           // of them at once
	Tokens       int           // of all requests, prompts and answers together
	AnswerTokens int           // of one answer of the model
	Result       int           // characters of a tool's result that the model is shown
	Time         time.Duration // from the beginning to the end
	AnswerTime   time.Duration // the part of Time that is kept for the answer
	ToolTime     time.Duration // for one call
}

// Standard are limits that fit most agents.
func Standard() Limits {
	return Limits{
		Steps: 10, Calls: 40, Parallel: 4, Tokens: 200_000, AnswerTokens: 4096, Result: 16_000,
		Time: 4 * time.Minute, AnswerTime: time.Minute, ToolTime: 30 * time.Second,
	}
}

func (l Limits) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"Steps", int64(l.Steps)}, {"Calls", int64(l.Calls)}, {"Parallel", int64(l.Parallel)}, {"Tokens", int64(l.Tokens)},
		{"AnswerTokens", int64(l.AnswerTokens)}, {"Result", int64(l.Result)}, {"Time", int64(l.Time)},
		{"AnswerTime", int64(l.AnswerTime)}, {"ToolTime", int64(l.ToolTime)},
	} {
		if limit.value <= 0 {
			return fmt.Errorf("agent loop: the limit %s is needed", limit.name)
		}
	}
	if l.AnswerTime >= l.Time {
		return fmt.Errorf("agent loop: the limit AnswerTime has to be less than Time")
	}
	return nil
}
