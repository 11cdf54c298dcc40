package backup

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/connector/blob"
)

// clean deletes what backups that were cut off have left, the journal of this one, the
// backups beyond Keep, and then the files that no backup names any more.
func (r *run) clean(ctx context.Context, incomplete []string) error {
	for _, folder := range append(incomplete, r.id+"/journal") {
		if err := deleteFolder(ctx, r.Store, backupsFolder+"/"+folder); err != nil {
			return err
		}
	}
	if r.Keep <= 0 {
		return nil
	}
	all, _, err := List(ctx, r.Store)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for i, m := range all {
		if i < len(all)-r.Keep {
			// Without its manifest it is incomplete, whatever of it is left.
			if err := r.Store.Delete(ctx, manifestKey(m.ID)); err != nil {
				return fmt.Errorf("delete old backups: %w", err)
			}
			if err := deleteFolder(ctx, r.Store, backupsFolder+"/"+m.ID); err != nil {
				return err
			}
			r.result.Deleted = append(r.result.Deleted, m.ID)
			continue
		}
		files, err := readIndex(ctx, r.Store, m)
		if err != nil {
			return fmt.Errorf("the files of old backups stay, because a newer one is damaged: %w", err)
		}
		for _, f := range files {
			used[f.Key] = true
		}
	}
	return deleteFiles(ctx, r.Store, used)
}

// deleteFiles deletes the files that are not used.
func deleteFiles(ctx context.Context, store blob.Store, used map[string]bool) error {
	return listKeys(ctx, store, filesFolder, func(key string) error {
		if used[strings.TrimPrefix(key, filesFolder+"/")] {
			return nil
		}
		if err := store.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete old backups: %w", err)
		}
		return nil
	})
}
