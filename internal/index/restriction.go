package index

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Restriction is the change of whom a document is restricted to.
type Restriction struct {
	Path     string   // of the document
	Old, New []string // principals; nil for no restriction
}

// Changed reports whether anything is different.
func (r Restriction) Changed() bool { return readersText(r.Old) != readersText(r.New) }

// RestrictIn restricts a document, as a part of tx, to readers beside those of its
// source: a viewer must be among both. It replaces the restriction before; nil
// readers end it. by is the person who does so. The restriction stays with the item
// of the source, whatever becomes of the document. Searches see it at once.
//
// A document that is deleted or out of reach is not found. Its readers do not matter:
// the caller must be allowed to know of it.
func (s *Store) RestrictIn(ctx context.Context, tx Tx, scope viewer.Scope, document uuid.UUID, readers []string, by uuid.UUID) (Restriction, error) {
	const what = "restrict a document"
	within, err := reachOf(scope)
	if err != nil {
		return Restriction{}, err
	}
	if _, err := tx.ExecContext(ctx, "select set_config('magpie.workspace', $1, true)", within.workspace.String()); err != nil {
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	out := Restriction{}
	if len(readers) > 0 {
		out.New = strings.Split(readersText(readers), headingBreak)
	}
	var connector, collection uuid.UUID
	var sourceID, old string
	rows, err := tx.QueryContext(ctx, `select d.connector_id, d.collection_id, d.source_id, d.path, coalesce(array_to_string(d.restricted_to, e'\x1f'), '')
		from documents d
		where d.id = $1 and d.workspace_id = $2 and ($3 or d.collection_id = any($4)) and d.deleted_at is null and d.status <> 'DELETED'
		for no key update`, document, within.workspace, within.all, within.collections)
	if err != nil {
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	switch err := scanOne(rows, &connector, &collection, &sourceID, &out.Path, &old); {
	case errors.Is(err, sql.ErrNoRows):
		return Restriction{}, apierr.NotFound("Document")
	case err != nil:
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	if old != "" {
		out.Old = strings.Split(old, headingBreak)
	}
	if !out.Changed() {
		return out, nil
	}
	list := strings.Join(out.New, headingBreak)
	keep, arguments := "delete from document_restrictions where connector_id = $1 and source_id = $2 and workspace_id = $3", []any{connector, sourceID, within.workspace}
	if list != "" {
		keep = `insert into document_restrictions (connector_id, source_id, workspace_id, readers, created_by)
			values ($1, $2, $3, string_to_array($4, e'\x1f'), $5)
			on conflict (connector_id, source_id) do update set readers = excluded.readers, created_at = now(), created_by = excluded.created_by`
		arguments = append(arguments, list, orNull(by))
	}
	if _, err := tx.ExecContext(ctx, keep, arguments...); err != nil {
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	if _, err := tx.ExecContext(ctx, `update documents set restricted_to = string_to_array(nullif($2, ''), e'\x1f'), restricted = $2 <> '', updated_at = now()
		where id = $1 and workspace_id = $3`, document, list, within.workspace); err != nil {
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	written := change{documents: []uuid.UUID{document}, required: true}
	if _, err := tx.ExecContext(ctx, upsertState, stateArguments(within.workspace, collection, written)...); err != nil {
		return Restriction{}, fmt.Errorf("%s: %w", what, readable(err))
	}
	return out, nil
}

// scanOne reads the only row and closes the rows.
func scanOne(rows *sql.Rows, to ...any) error {
	defer func() { _ = rows.Close() }()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(to...); err != nil {
		return err
	}
	return rows.Close()
}

// The marks that magpie_changes sets before the principals of a restricted document.
const (
	readerMark      = '\x1f'
	restrictionMark = '\x1e'
	everyoneMark    = "*"
)

// splitReaders parts the readers of an entry from those of its restriction.
func splitReaders(list []string) (readers, restriction []string) {
	if len(list) == 0 || list[0] == "" || list[len(list)-1] == "" || list[len(list)-1][0] != restrictionMark {
		return list, nil
	}
	readers = []string{}
	for _, text := range list {
		if text == "" {
			continue
		}
		switch mark, p := text[0], text[1:]; {
		case mark == restrictionMark:
			restriction = append(restriction, p)
		case p == everyoneMark:
			readers = nil
		default:
			readers = append(readers, p)
		}
	}
	return readers, restriction
}
