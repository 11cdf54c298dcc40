// Package lookup turns "no such row" of ent into the not_found error of the API.
//
// Allowed imports: ent, internal/apierr.
package lookup

import (
	"context"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Error returns apierr.NotFound(name) if err reports that a row does not exist or
// is hidden from the viewer. It returns every other error, and nil, unchanged.
func Error(name string, err error) error {
	if ent.IsNotFound(err) {
		return apierr.NotFound(name)
	}
	return err
}

// Exists returns apierr.NotFound(name) if query matches no row that the viewer may
// see.
func Exists(ctx context.Context, name string, query interface {
	Exist(ctx context.Context) (bool, error)
}) error {
	exists, err := query.Exist(ctx)
	if err == nil && !exists {
		err = apierr.NotFound(name)
	}
	return err
}
