// Package approval keeps the decisions of people about the calls of agents: what a run
// asks, who may decide, the one decision of each approval, and the grants that let
// later calls happen without asking.
//
// The package may import agents/policy, ent, internal/store/transaction and leaves.
package approval
