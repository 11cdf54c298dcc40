package passage_test

import (
	"testing"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/passage"
)

func TestStubsAreKnownByTheirLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"This page has moved to [the installation guide](https://docs.example/install).":                                                                                true,
		"Diese Seite ist umgezogen: <https://docs.example/einrichten>":                                                                                                  true,
		"该命令被重命名。 请参考[helm uninstall](/helm/helm_uninstall.md)。":                                                                                                        true,
		"Страница перенесена, смотрите [руководство по установке](install.md).":                                                                                         true,
		"- [Install](install.md)\n- [Upgrade](upgrade.md)\n- [Back up](backup.md)":                                                                                      true,
		"See also:\n\n- [Multi-region overview](a.md)\n- [Secondary regions](b.md#secondary)":                                                                           true,
		"The `embed` package starts a server inside your application, without a second process. See the [reference](https://docs.example).":                             false,
		"Backups are written to [object storage](storage.md) every night, encrypted with the key of the workspace, and kept for a month. They are checked once a week.": false,
		"- [retries](retries.md): how often a job is tried again\n- [delay](delay.md): how long it waits between two tries":                                             false,
		"A short page without links.":                 false,
		"![A picture](picture.png)\n\nWhat it shows.": false,
		"```sh\ncurl https://get.example/install | sh\n```\n\nInstalls the newest version of the program for your system.": false,
	} {
		doc := &document.Document{Title: "T", Blocks: []document.Block{paragraph(text)}}
		if got := passage.Split(doc, passage.Options{}); len(got) != 1 || got[0].Stub != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
