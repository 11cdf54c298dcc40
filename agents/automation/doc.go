// Package automation runs agents when something happens: a mail or an event arrives,
// a meeting ends, a document changes, a time comes, or a person says so. An automation
// has one trigger, conditions, an agent with instructions, what a person must approve,
// and where the answer goes. What it did or skipped is kept as runs.
//
// A run is a row. Workers claim due rows, do one step and store the next one, so that
// a killed worker costs a delay and nothing is sent twice. A run has the rights of the
// automation's owner or of the workspace's service member, never those of a sender.
//
// Allowed imports: ent, agents/approval, agents/policy, agents/run, internal/event and leaves.
package automation
