package connectors

import "context"

// A TierChecker is a [Source] whose rights come in tiers: to read, to import
// permissions, to be notified of changes. A connection test shows which of them
// the credentials have.
type TierChecker interface {
	// CheckTiers tests the rights of each tier that the settings use, also after a
	// failed Check. An error says that they could not be tested.
	CheckTiers(ctx context.Context) ([]Tier, error)
}

// A Tier is a set of rights.
type Tier struct {
	Name TierName
	// Err says which right is missing and how to grant it. It is nil if the tier works.
	Err error
}

// A TierName names a set of rights.
type TierName string

// The tiers, from the one that every sync needs on.
const (
	TierRead        TierName = "read"
	TierPermissions TierName = "permissions"
	TierWebhooks    TierName = "webhooks"
)
