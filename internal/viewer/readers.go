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

// Principals finds the principals of a person: the person and the groups that
// contain them, directly or not (principal.Store).
type Principals interface {
	// Of returns the principals of an email address in lower case.
	Of(ctx context.Context, workspace uuid.UUID, email string) ([]string, error)
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
	if email == "" || !known || v.Workspace == uuid.Nil {
		return Readers{}, nil
	}
	principals, err := p.Of(ctx, v.Workspace, email)
	if err != nil {
		return Readers{}, err
	}
	return Readers{principals: principals}, nil
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

// CanRead reports whether a document with these readers may be read. Nil means that
// everybody may read it, an empty list that nobody may.
func (r Readers) CanRead(readers []string) bool {
	return r.everything || readers == nil ||
		slices.ContainsFunc(readers, func(reader string) bool { return slices.Contains(r.principals, reader) })
}
