package catalog

// Length limits of agents and templates, in characters. Package check has the
// limits of names and descriptions.
const (
	MaxPrompt       = 32000
	MaxStartMessage = 4000
)
