// Package run starts and stores the runs of agents. It stores the events of a
// run and lets their person follow them from any process and any event on,
// without gaps or duplicates. Heartbeats detect runs whose process has died.
//
// The package may import agents, ent, internal/store/transaction, internal/chat
// (for citations), internal/model/llm, internal/search and leaves.
package run
