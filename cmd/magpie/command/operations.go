package command

import (
	_ "embed" // of operations.graphql
)

// operations are the GraphQL operations that commands run, by their names.
//
//go:embed operations.graphql
var operations string
