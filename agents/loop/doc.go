// Package loop runs an agent. The model plans, the loop makes its tool calls,
// and the model sees the results, until it answers or a limit is near. The loop
// then asks for an answer with what is known so far.
//
// Text from tools, documents and memories is data: it is marked as such for the
// model, and it changes neither the tools nor what they can reach. Without a
// model, a small planner searches, calculates and looks up the time.
//
// The package imports agents/calc, agents/policy, internal/model/llm, internal/search,
// internal/apierr and internal/safetext.
package loop
