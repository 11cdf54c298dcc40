// Package run starts, continues and stores the runs of agents. It stores the events
// of a run and lets their person follow them from any process and any event on,
// without gaps or duplicates.
//
// A run that needs a person waits as a row, without a process. What it needs to
// continue is kept after each step, sealed: workers continue runs whose people have
// decided, and those whose process has sent no heartbeat. Numbered attempts fence
// the writes of processes that were taken for dead. Acting calls are recorded
// before and after, so that a crash repeats none.
//
// The package may import agents, ent, internal/store/transaction, internal/chat
// (for citations), internal/model/llm, internal/queue, internal/search,
// internal/secret and leaves.
package run
