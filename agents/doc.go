// Package agents is where agents live: the run loop with its limits in
// agents/loop, one file a tool in agents/tools, the client of tool servers in
// agents/mcp. Agents see Magpie through small interfaces and act with the
// viewer's rights; they import internal/search, internal/llm and leaf packages.
package agents
