// Package embedtest is the test suite that every Embedder passes. It may import internal/model/embed.
package embedtest
