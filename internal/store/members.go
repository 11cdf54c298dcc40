package store

import (
	"context"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
)

// withoutSuspended makes queries of members leave out suspended ones, unless the context
// includes them. So no look-up of a role or of a member can forget it.
func withoutSuspended() ent.Interceptor {
	return ent.TraverseFunc(func(ctx context.Context, q ent.Query) error {
		if members, ok := q.(*ent.MembershipQuery); ok && !viewer.IncludesSuspended(ctx) {
			members.Where(membership.SuspendedAtIsNil())
		}
		return nil
	})
}
