package backup_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/internal/backup"
	"github.com/magpie-search/magpie/internal/testkit"
)

// All tables are those of one moment, whatever is written while they are read.
func TestABackupIsOfOneMoment(t *testing.T) {
	t.Parallel()
	i := install(t)
	const mine, other = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000c"
	var want map[string]string
	o := i.options(folder(t), backup.Protection{None: true})
	o.Progress = func(p backup.Progress) {
		switch {
		case p.Doing == "files" && p.Done == 0 && want == nil: // after the list of the files of now
			i.upload(mine, "late", "uploaded before the snapshot")
		case p.Doing != "files" && p.Done == 0: // the first table
			want = contents(t, i.db.AdminURL)
			i.execute(`insert into workspaces (id, created_at, updated_at, name) values ('`+other+`', now(), now(), 'Later')`,
				`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model) values ('`+other+`', now(), now(), '`+other+`', 'Later', 'builtin')`,
				`insert into connectors (id, created_at, updated_at, workspace_id, collection_id, name, type, config) values ('`+other+`', now(), now(), '`+other+`', '`+other+`', 'Files', 'file_upload', '{}')`,
				`delete from source_files where path in ('late', '0-1')`)
			i.upload(other, "later", "uploaded after the snapshot")
			for _, key := range []string{mine + "/late", mine + "/0-1"} {
				if err := i.blobs.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	m := mustRun(t, o).Manifest
	// The file 0-1 was copied before it was deleted.
	if !slices.Equal(m.Files.Missing, []string{mine + "/late"}) || m.Files.Count != 6 {
		t.Errorf("files: %+v", m.Files)
	}
	to, blobs := testkit.EmptyDatabase(t), folder(t)
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: blobs, Store: o.Store, Keys: keys()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, to.AdminURL)); diff != "" {
		t.Errorf("restored rows (-want +got):\n%s", diff)
	}
	if got := keysOf(t, blobs, ""); len(got) != 6 || !slices.Contains(got, mine+"/0-1") {
		t.Errorf("restored files: %v", got)
	}
}
