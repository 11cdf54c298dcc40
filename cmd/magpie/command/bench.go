package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/local"
	"github.com/magpie-search/magpie/internal/eval/bench"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
	"github.com/magpie-search/magpie/internal/humanize"
	"github.com/magpie-search/magpie/testdata/demo"
)

type benchCommand struct {
	Service       benchServiceCommand       `cmd:"" default:"withargs" help:"The whole service: sync, search, answers."`
	Search        benchSearchCommand        `cmd:"" help:"Search at several sizes, filters and numbers of clients, beside plain pgvector with ts_rank_cd."`
	Load          benchLoadCommand          `cmd:"" help:"Many clients at once for a minute: searches a second, latencies, errors."`
	Soak          benchSoakCommand          `cmd:"" help:"Write and search for minutes: every answer must be right and memory stay flat."`
	Subscriptions benchSubscriptionsCommand `cmd:"" help:"Thousands of open subscriptions: memory, idle time, how fast events come to all."`
	Chat          benchChatCommand          `cmd:"" help:"Many answers at once, with a model that takes its time: first text, errors, memory."`
	Parse         benchParseCommand         `cmd:"" help:"How fast files of each format are read, and what memory large ones take."`
	Sync          benchSyncCommand          `cmd:"" help:"A bucket of many objects that is synced, and synced again when nothing is new."`
	Nodes         benchNodesCommand         `cmd:"" help:"Several servers with many collections, by round robin and by collection: memory, latencies."`
	Size          benchSizeCommand          `cmd:"" help:"What a collection takes in PostgreSQL at several sizes: bytes, writes, vacuum, search indexes, searches."`
	Tenants       benchTenantsCommand       `cmd:"" help:"Hundreds of workspaces that search a little, beside one that searches and syncs as much as it can."`
	Dashboard     benchDashboardCommand     `cmd:"" help:"Ten queries of the dashboard on a large workspace: requests a second, latencies, SQL statements."`
}

type benchServiceCommand struct {
	Passages int    `default:"5000" help:"Passages to search, about; made from the demo documents."`
	Queries  int    `default:"500" help:"Searches to time."`
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// Run measures a Magpie that it starts, and deletes its data at the end.
func (c benchServiceCommand) Run(r *runtime) error {
	if c.Passages < 1 || c.Queries < 1 {
		return usagef("--passages and --queries must be 1 or more")
	}
	docs, remove, err := benchDocs(c.DemoDocs)
	if err != nil {
		return err
	}
	defer remove()
	parent, err := r.folder()
	if err != nil {
		return err
	}
	folder, err := local.Make(filepath.Join(parent.Path(), "bench"))
	if err != nil {
		return err
	}
	result, err := c.measure(r, folder, docs)
	err = errors.Join(err, removeAll(context.WithoutCancel(r), folder))
	if err != nil {
		return err
	}
	return r.console.Result(result, func() { printService(r.console, result) })
}

func (c benchServiceCommand) measure(r *runtime, folder *local.Folder, docs string) (result *bench.ServiceResult, err error) {
	corpus := filepath.Join(folder.Path(), "corpus")
	if err := r.console.Step("documents are written", func() error { return synth.WriteVariants(docs, corpus, c.Passages) }); err != nil {
		return nil, err
	}
	d, err := r.startDev(folder, "127.0.0.1:0", false, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Stop(context.WithoutCancel(r))) }()
	api, err := newClient(d.App, d.Workspace)
	if err != nil {
		return nil, err
	}
	return bench.Service(r, bench.ServiceOptions{
		Client: api, BaseURL: d.BaseURL, Startup: d.Opening, Folder: corpus, Queries: c.Queries, Display: reporter{r.console},
	})
}

func printService(c *console.Console, result *bench.ServiceResult) {
	c.Printf("%s, %s\n", humanize.Count(result.Files, "file"), humanize.Count(result.Passages, "passage"))
	rows := [][]string{{"connecting the parts", humanize.Duration(result.Startup), ""}}
	for _, r := range result.Rates {
		rows = append(rows, []string{r.What, fmt.Sprintf("%.0f %s/s", r.PerSecond, r.Unit), ""})
	}
	for _, t := range result.Timings {
		rows = append(rows, []string{t.What, "p50 " + humanize.Milliseconds(t.P50), "p99 " + humanize.Milliseconds(t.P99)})
	}
	c.Table([]string{"WHAT", "", ""}, rows, "")
}

// benchDocs returns the folder of the demo documents, given or temporary, and what removes a temporary one.
func benchDocs(given string) (folder string, remove func(), err error) {
	if given != "" {
		return given, func() {}, nil
	}
	temporary, err := os.MkdirTemp("", "magpie-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the demo documents: %w", err)
	}
	remove = func() { _ = os.RemoveAll(temporary) }
	folder = filepath.Join(temporary, "docs")
	if err := demo.Unpack(folder); err != nil {
		remove()
		return "", nil, err
	}
	return folder, remove, nil
}

// corpusFlags choose the text of generated documents.
type corpusFlags struct {
	Corpora  string `type:"path" placeholder:"DIR" help:"Folder with folders of Markdown documentation to generate from, beside the demo documents; ../shared/corpora when that is there."`
	DemoDocs string `hidden:"" type:"path" help:"Folder of the demo documents."`
}

// read reads the demo documents and the larger corpora, if there are any.
func (c corpusFlags) read(ctx context.Context) (bench.Text, error) {
	docs, remove, err := benchDocs(c.DemoDocs)
	if err != nil {
		return bench.Text{}, err
	}
	defer remove()
	corpora := c.Corpora
	if corpora == "" {
		corpora = filepath.Join("..", "shared", "corpora")
		if _, err := os.Stat(corpora); err != nil {
			return bench.ReadText(ctx, docs)
		}
	}
	entries, err := os.ReadDir(corpora)
	if err != nil {
		return bench.Text{}, fmt.Errorf("read --corpora: %w", err)
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() {
			folders = append(folders, filepath.Join(corpora, entry.Name()))
		}
	}
	return bench.ReadText(ctx, docs, folders...)
}

// printMachine shows what a benchmark ran on and the text it used.
func printMachine(c *console.Console, m bench.Machine, text bench.Text) {
	c.Printf("%s", strings.TrimSpace(m.Processor+" "+m.System)+", "+humanize.Count(m.Cores, "core"))
	if m.Memory > 0 {
		c.Printf(", %.1f GiB of memory", float64(m.Memory)/(1<<30))
	}
	c.Printf(", load before %.1f\ngenerated from %s\n", m.Load, strings.Join(text.Folders, ",\n  "))
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f MiB", bytes/(1<<20)) }
