package viewer

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Mail is the address of the person for whom v asks, in lower case: that of a
// signed-in person if it is known to be theirs, and the one that a request by a
// secret key named. It is "" where nobody is known.
func (v Viewer) Mail() string {
	switch {
	case v.Kind == KindSession && v.Verified:
		return strings.ToLower(v.Email)
	case v.Kind == KindKey && v.Secret:
		return strings.ToLower(v.Named)
	default:
		return ""
	}
}

// Principals tells which principals a person has: themselves and the groups that
// they belong to, however deep. internal/identity/principal does.
type Principals interface {
	// Of answers those of an address in lower case.
	Of(ctx context.Context, workspace uuid.UUID, mail string) ([]string, error)
}

type principalsKey struct{}

// WithPrincipals returns a context in which ReadersOf asks p. Without one people
// find only what everybody may.
func WithPrincipals(ctx context.Context, p Principals) context.Context {
	return context.WithValue(ctx, principalsKey{}, p)
}

// Readers says which of the documents within reach somebody may read. The zero
// value reads those that are for everybody.
type Readers struct {
	everything bool
	principals []string
}

// ReadersOf says what the viewer in ctx may read: Magpie itself everything, a
// person what their principals let them, anybody else what is for everybody.
func ReadersOf(ctx context.Context) (Readers, error) {
	v, ok := From(ctx)
	if !ok {
		return Readers{}, nil
	}
	if v.Kind == KindSystem {
		return Readers{everything: true}, nil
	}
	mail := v.Mail()
	p, known := ctx.Value(principalsKey{}).(Principals)
	if mail == "" || !known || v.Workspace == uuid.Nil {
		return Readers{}, nil
	}
	principals, err := p.Of(ctx, v.Workspace, mail)
	if err != nil {
		return Readers{}, err
	}
	return Readers{principals: principals}, nil
}

// Everything reports whether all documents may be read.
func (r Readers) Everything() bool { return r.everything }

// Principals are those of who asks, never nil; of no account with Everything.
func (r Readers) Principals() []string {
	if r.principals == nil {
		return []string{}
	}
	return r.principals
}

// May reports whether a document with these readers may be read: nil is
// everybody, an empty list nobody.
func (r Readers) May(readers []string) bool {
	return r.everything || readers == nil ||
		slices.ContainsFunc(readers, func(reader string) bool { return slices.Contains(r.principals, reader) })
}
