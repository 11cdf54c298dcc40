// Package run keeps the runs of agents: it starts them, writes down what they
// tell, and lets their person follow them from any process, from any point, with
// nothing missing or twice. A run that its process did not end is found by its
// heartbeat. It imports agents, ent, internal/chat (which writes citations),
// internal/model/llm, internal/search and leaves.
package run
