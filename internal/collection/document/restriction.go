package document

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Limits of listed readers.
const (
	DefaultReaders = 50
	maxReaders     = 200
)

// Named are those to whom a document is restricted.
type Named struct {
	Users   []string // email addresses
	Domains []string
	Groups  []string // ids at the source of the document's connector
	// DirectoryGroups are the ids of groups of the workspace's directory.
	DirectoryGroups []uuid.UUID
}

// Readers returns who may read a document, and at most limit readers at its source.
// The document need not be one that the viewer may read.
func (d *Documents) Readers(ctx context.Context, id uuid.UUID, limit int) (principal.DocumentReaders, error) {
	if limit < 1 || limit > maxReaders {
		return principal.DocumentReaders{}, apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", maxReaders))
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return principal.DocumentReaders{}, err
	}
	return d.o.Principals.Readers(ctx, scope, id, limit)
}

// Restrict restricts a document to people, domains and groups, in place of an earlier
// restriction. The document need not be one that the viewer may read, because it is
// only narrowed.
func (d *Documents) Restrict(ctx context.Context, id uuid.UUID, n Named) error {
	emails := make([]string, len(n.Users))
	for i, user := range n.Users {
		var err error
		if emails[i], err = authn.CleanEmail(user); err != nil {
			return apierr.Invalid(fmt.Sprintf("users[%d]", i), "must be an email address")
		}
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	readers, err := d.o.Principals.Restrict(ctx, scope, id, principal.Names{Emails: emails, Domains: n.Domains, Groups: n.Groups, DirectoryGroups: n.DirectoryGroups})
	if err != nil {
		return err
	}
	return d.restrict(ctx, scope, id, readers)
}

// Unrestrict ends the restriction of a document, if it has one.
func (d *Documents) Unrestrict(ctx context.Context, id uuid.UUID) error {
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	return d.restrict(ctx, scope, id, nil)
}

func (d *Documents) restrict(ctx context.Context, scope viewer.Scope, id uuid.UUID, readers []string) error {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSystem && !v.Role.AtLeast(viewer.RoleAdmin) {
		return apierr.New(apierr.Forbidden, "Only administrators restrict documents")
	}
	err := transaction.In(ctx, d.o.Ent, func(ctx context.Context, client *ent.Client) error {
		by := uuid.Nil
		if v.Kind == viewer.KindSession {
			by = v.Subject
		}
		changed, err := d.o.Index.RestrictIn(ctx, client, scope, id, readers, by)
		if err != nil || !changed.Changed() {
			return err
		}
		event := audit.Event{
			Action: "document.restrict", TargetKind: "document", TargetID: id, TargetName: changed.Path,
			Changes: []audit.Change{{Field: "restriction", Old: changed.Old, New: changed.New}},
		}
		if readers == nil {
			event.Action = "document.unrestrict"
		}
		return audit.Record(ctx, audit.ClientExec(client), event)
	})
	return apierr.Wrap("restrict the document", err)
}
