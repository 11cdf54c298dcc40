// Package traffic builds judged sets from the questions that people asked and the
// documents that they chose, and from golden sets, for which people named the right
// documents. It measures today's ranking on them.
//
// Allowed imports: internal/eval, internal/search, internal/usage/analytics, and the
// leaves.
package traffic
