// Package chat answers questions from the indexed documents and from nothing
// else. It determines the scope of a question, stores conversations, rewrites
// follow-ups into standalone questions and searches. A model writes the answer
// from numbered passages; without a model the answer is made of quotes. The
// answer is streamed as events.
//
// # Citations
//
// A model sees numbered passages and cites them as [n]. The answer that leaves
// the package has other numbers: [n] cites the n-th entry of the Sources event,
// which lists the documents in the order of their first citation. Numbers of no
// passage stay as text. Code, fenced or between backticks, is never changed.
//
// # Trust
//
// The text of passages is data. The prompt marks it as quoted material, and it
// cannot close its mark. It does not influence the search, the choice of the
// model or which conversation is read; those depend on the viewer in the
// context.
//
// The package may import ent, internal/store/transaction, internal/analysis,
// internal/search, internal/model/llm, internal/request/requestid, internal/safetext,
// internal/viewer and internal/apierr.
package chat
