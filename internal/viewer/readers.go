package viewer

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// ReaderEmail returns the email address, in lower case, by which the readers of
// documents are checked: that of a signed-in person who is known to own it, or that
// of the end user whom a request with a secret key names. It is empty for everybody
// else.
func (v Viewer) ReaderEmail() string {
	switch {
	case v.Kind == KindSession && v.Verified:
		return strings.ToLower(v.Email)
	case v.Kind == KindKey && v.Secret:
		return strings.ToLower(v.EndUser)
	default:
		return ""
	}
}

// Named returns the principal of an address that a restriction names. The person
// with this address in the workspace has it, whether the address is verified or not,
// because an administrator has let them in by it; and the end user with it, whom a
// request with a secret key names.
func Named(email string) string { return NamedPrefix + strings.ToLower(email) }

// NamedPrefix begins the principals that Named returns. Sources do not report such.
const NamedPrefix = "named:"

// named returns the viewer's principal in restrictions, if there is one.
func (v Viewer) named() []string {
	switch {
	case v.Kind == KindSession && v.Email != "":
		return []string{Named(v.Email)}
	case v.Kind == KindKey && v.Secret && v.EndUser != "":
		return []string{Named(v.EndUser)}
	default:
		return nil
	}
}

// Principals finds the principals of a person: the person and the groups that
// contain them, directly or not (principal.Store).
type Principals interface {
	// Of returns the principals of an email address in lower case.
	Of(ctx context.Context, workspace uuid.UUID, email string) ([]string, error)
	// OfAccount returns the principals of a person whose address nobody has verified:
	// the groups in which the workspace's directory has put this account.
	OfAccount(ctx context.Context, workspace, account uuid.UUID) ([]string, error)
}

type principalsKey struct{}

// WithPrincipals returns a context in which ReadersOf asks p. Without p, people
// find only documents that everybody may read.
func WithPrincipals(ctx context.Context, p Principals) context.Context {
	return context.WithValue(ctx, principalsKey{}, p)
}

// Readers says which documents a viewer may read. The zero value reads those that
// everybody may read.
type Readers struct {
	everything bool
	principals []string
}

// ReadersOf returns the readers of the viewer in ctx. Magpie itself reads
// everything, a person what their principals may read, and everybody else what is
// for everybody.
func ReadersOf(ctx context.Context) (Readers, error) {
	v, ok := From(ctx)
	if !ok {
		return Readers{}, nil
	}
	if v.Kind == KindSystem {
		return Readers{everything: true}, nil
	}
	email := v.ReaderEmail()
	p, known := ctx.Value(principalsKey{}).(Principals)
	if !known || v.Workspace == uuid.Nil {
		return Readers{}, nil
	}
	principals := v.named()
	var more []string
	var err error
	switch {
	case email != "":
		more, err = p.Of(ctx, v.Workspace, email)
	case v.Kind == KindSession:
		more, err = p.OfAccount(ctx, v.Workspace, v.Subject)
	}
	if err != nil {
		return Readers{}, err
	}
	return Readers{principals: append(principals, more...)}, nil
}

// Everything reports whether all documents may be read.
func (r Readers) Everything() bool { return r.everything }

// Principals returns the viewer's principals, never nil. They do not matter with
// Everything.
func (r Readers) Principals() []string {
	if r.principals == nil {
		return []string{}
	}
	return r.principals
}

// CanRead reports whether a document with these readers and this restriction may be
// read: one of the viewer's principals must be among both. Nil means everybody, an
// empty list nobody.
func (r Readers) CanRead(readers, restriction []string) bool {
	return r.everything || r.isAmong(readers) && r.isAmong(restriction)
}

func (r Readers) isAmong(readers []string) bool {
	return readers == nil || slices.ContainsFunc(readers, func(reader string) bool { return slices.Contains(r.principals, reader) })
}
