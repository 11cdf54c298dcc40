package connectors

import "context"

// An AccessVerifier is a [Source] that can ask its platform whether a person may read
// items at the moment. Its kind sets [Kind].VerifiesAccess. With config.verifyAccess,
// search asks it for what it is about to show: what the platform does not let the person
// read is left out, whatever [PermissionLister] said.
type AccessVerifier interface {
	// VerifyAccess returns those items, by id, that the person with an email address in
	// lower case may read now. Items of which the platform does not say so are not among
	// them. ids are at most MaxPageItems ids of items that the source listed.
	VerifyAccess(ctx context.Context, email string, ids []string) (map[string]bool, error)
}
