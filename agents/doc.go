// Package agents is where agents live: what they are made of in agents/catalog,
// their blueprints in agents/template, what they keep in agents/memory, the run
// loop with its limits in agents/loop, one file a tool in agents/tools, the
// client of tool servers in agents/mcp. Agents see Magpie through small
// interfaces and act with the viewer's rights; internal/archtest lists what each
// of them imports.
package agents
