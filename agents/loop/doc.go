// Package loop runs an agent: the model plans, its tool calls are made, it sees
// what they gave, and so on until it answers or a limit is near, at which it is
// asked to answer with what it has. What tools, documents and memories say is
// data: it is marked as such for the model and changes neither the tools nor
// what they may reach. Without a model a small planner searches, calculates and
// tells the time. It imports agents/calc, internal/model/llm, internal/search and
// internal/apierr.
package loop
