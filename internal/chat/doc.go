// Package chat answers questions from the indexed documents and from nothing else. It decides what a question may be
// answered from, keeps conversations, makes a follow-up stand on its own, searches, lets a model write from numbered
// passages or quotes the best sentences where no model is configured, and streams the answer as events.
//
// # Citations
//
// A model is shown numbered passages and cites them as [n]. What leaves the package is renumbered: [n] in the text means
// the n-th entry of the Sources event, documents being numbered in the order in which they are first cited. Numbers that
// stand for no passage are taken out of the text, together with the blanks before them. Code, fenced or between
// backticks, is never touched.
//
// # Trust
//
// The text of passages is data. It is marked as quoted material in the prompt, cannot close its mark, and has no part in
// what is searched, which model is asked or whose conversation is read; those come from the viewer in the context.
//
// The package may import ent, internal/search, internal/model/llm, internal/request/requestid, internal/viewer and internal/apierr.
package chat
