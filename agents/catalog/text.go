package catalog

// The longest texts of agents and templates, in characters. Names and descriptions
// have the limits of package check.
const (
	MaxPrompt   = 32000
	MaxGreeting = 4000
)
