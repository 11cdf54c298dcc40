package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/config"
	"github.com/magpie-search/magpie/internal/request/requestid"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	// Drivers is given the log of the command, for libraries that have one of
	// their own; nil leaves theirs alone.
	Drivers func(*slog.Logger)
	// Browse opens an address in the person's browser; nil has none.
	Browse func(ctx context.Context, address string) error
}

// grammar is the whole command line.
type grammar struct {
	globals

	Up   upCommand   `cmd:"" group:"local" help:"Start Magpie in the background with PostgreSQL and Redis of its own, and the demo documents."`
	Down downCommand `cmd:"" group:"local" help:"Stop what up or dev started."`
	Demo demoCommand `cmd:"" group:"local" help:"Show the main job: sync a folder and a bucket, search, answer. Or an automation: demo automations."`
	Dev  devCommand  `cmd:"" group:"local" help:"Run everything in this terminal, with PostgreSQL and Redis of its own."`

	Login    loginCommand    `cmd:"" group:"reach" help:"Log in to a Magpie by a page in the browser, or by a token."`
	Logout   logoutCommand   `cmd:"" group:"reach" help:"Forget a profile, and revoke the token that its login made."`
	Profiles profilesCommand `cmd:"" group:"reach" help:"The Magpies that you have logged in to."`
	Status   statusCommand   `cmd:"" group:"reach" help:"Show which Magpie commands operate, and how it is."`

	Serve         serveCommand         `cmd:"" group:"run" help:"Serve HTTP: GraphQL, REST, health, metrics."`
	Worker        workerCommand        `cmd:"" group:"run" help:"Run syncs and schedules."`
	Health        healthCommand        `cmd:"" group:"run" help:"Ask a server or worker on this machine whether it is ready."`
	Doctor        doctorCommand        `cmd:"" group:"run" help:"Check the installation: settings, stores, keys, models, addresses, disks."`
	SupportBundle supportBundleCommand `cmd:"" group:"run" help:"Collect versions, settings, states and errors for a question to others, without secrets and contents."`
	Migrate       migrateCommand       `cmd:"" group:"run" help:"Bring the database schema up to date, or show where it stands."`
	Backup        backupCommand        `cmd:"" group:"run" help:"Save the database and the uploaded files, encrypted; check and list backups."`
	Secrets       secretsCommand       `cmd:"" group:"run" help:"Change the key of SECRET_KEYS: what is sealed with which key, and seal it again."`
	Restore       restoreCommand       `cmd:"" group:"run" help:"Restore a backup into an empty database."`

	Users        usersCommand        `cmd:"" group:"operate" help:"People who may sign in."`
	Workspaces   workspacesCommand   `cmd:"" group:"operate" help:"Workspaces."`
	Keys         keysCommand         `cmd:"" group:"operate" help:"API keys."`
	Tokens       tokensCommand       `cmd:"" group:"operate" help:"Tokens for /api/v1 and /graphql."`
	Quota        quotaCommand        `cmd:"" group:"operate" help:"Queries a month of a workspace."`
	Collections  collectionsCommand  `cmd:"" group:"operate" help:"Collections of documents."`
	Models       modelsCommand       `cmd:"" group:"operate" help:"Embedding models."`
	Connectors   connectorsCommand   `cmd:"" group:"operate" help:"Sources that fill collections."`
	Documents    documentsCommand    `cmd:"" group:"operate" help:"Documents of the collections."`
	Files        filesCommand        `cmd:"" group:"operate" help:"Files of a file_upload connector."`
	Sync         syncCommand         `cmd:"" group:"operate" help:"Syncs of a connector."`
	Search       searchCommand       `cmd:"" group:"operate" help:"Search the indexed documents."`
	Chat         chatCommand         `cmd:"" group:"operate" help:"Ask a question and read the cited answer."`
	MCP          mcpCommand          `cmd:"" name:"mcp" group:"operate" help:"Serve the Model Context Protocol on standard input and output, for programs on this machine."`
	Agents       agentsCommand       `cmd:"" group:"operate" help:"Agents, their templates and memories."`
	Automations  automationsCommand  `cmd:"" group:"operate" help:"Agents that run when something happens."`
	Integrations integrationsCommand `cmd:"" group:"operate" help:"Platforms, endpoints and tool servers whose tools agents call."`
	Analytics    analyticsCommand    `cmd:"" group:"operate" help:"What was asked, and what found nothing."`
	Why          whyCommand          `cmd:"" group:"operate" help:"Why somebody finds a document, or does not."`
	WhyNot       whyNotCommand       `cmd:"" group:"operate" help:"Why a search does not find a document, and what would have to change."`
	Audit        auditCommand        `cmd:"" group:"operate" help:"Who changed what, and when."`
	Parse        parseCommand        `cmd:"" group:"operate" help:"Print what Magpie reads in a file, as Markdown or (--json) its structure."`
	Eval         evalCommand         `cmd:"" group:"operate" help:"Measure search quality on judged sets."`
	Bench        benchCommand        `cmd:"" group:"operate" help:"Measure."`
	Completion   completionCommand   `cmd:"" group:"operate" help:"Print the script that completes commands in a shell."`
	Man          manCommand          `cmd:"" group:"operate" help:"Write the manual pages."`
	Version      versionCommand      `cmd:"" group:"operate" help:"Print the version."`
}

// globals are flags of every command.
type globals struct {
	Config      string `placeholder:"FILE" type:"path" help:"File of NAME=value settings; see docs/configuration.md."`
	Data        string `placeholder:"DIR" type:"path" help:"Data folder of up, dev and demo (.magpie)."`
	DatabaseURL string `placeholder:"URL" help:"DATABASE_URL."`
	RedisURL    string `placeholder:"URL" help:"REDIS_URL."`
	LogLevel    string `placeholder:"LEVEL" help:"debug, info, warn or error."`
	LogFormat   string `placeholder:"FORMAT" help:"text or json."`
	Profile     string `placeholder:"NAME" help:"Profile of magpie login to use; MAGPIE_PROFILE."`
	Insecure    bool   `help:"Allow http:// to other machines, which sends the token unencrypted."`
	Workspace   string `placeholder:"ID|NAME" help:"Workspace to operate on; the only one when left out."`
	JSON        bool   `help:"Print results as JSON."`
	Quiet       bool   `short:"q" help:"Print results, warnings and errors only."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// runtime is what commands run with.
type runtime struct {
	context.Context // lives exactly as long as one command

	globals
	streams Streams
	console *console.Console
	model   *kong.Node // the whole command line
}

// exitCode unwinds the parser when it has printed help.
type exitCode int

// Exit codes. A command that a signal has ended returns signalBase and the number of the
// signal, as shells do: 130 for an interrupt.
const (
	failed     = 1
	misused    = 2
	signalBase = 128
)

// Interrupted is the cause of the end of a context by a signal.
type Interrupted struct{ Signal syscall.Signal }

// Error implements error.
func (i Interrupted) Error() string { return i.Signal.String() }

// Is reports that it is a cancellation.
func (Interrupted) Is(target error) bool { return target == context.Canceled }

// usageError is an error of the command line that shows while a command runs.
type usageError struct{ error }

func usagef(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

// codeOf returns the exit code of a command that has failed with an error.
func codeOf(ctx context.Context, err error) int {
	if i, ok := errors.AsType[Interrupted](context.Cause(ctx)); ok {
		return signalBase + int(i.Signal)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return misused
	}
	return failed
}

// Run runs the command that the arguments name and returns the exit code: 0, 1
// for a failure, 2 for a command line that cannot be understood, 128 and the number of
// the signal after Interrupted. It prints errors itself, one line each. The end of ctx
// stops the command.
func Run(ctx context.Context, arguments []string, streams Streams) (code int) {
	var g grammar
	parser, err := kong.New(&g,
		kong.Name("magpie"),
		kong.Description("A self-hosted knowledge search service."),
		kong.Writers(streams.Out, streams.Err),
		kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "local", Title: "On one machine:"},
			{Key: "reach", Title: "Over HTTP:"},
			{Key: "run", Title: "In production:"},
			{Key: "operate", Title: "Operate it:"},
		}),
	)
	if err != nil {
		_, _ = fmt.Fprintf(streams.Err, "magpie: %s\n", err)
		return failed
	}
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case exitCode:
			code = int(cause)
		default:
			panic(cause)
		}
	}()
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	if arguments[0] == completeWord {
		(&runtime{Context: ctx, streams: streams, model: parser.Model.Node}).complete(arguments[1:])
		return 0
	}
	parsed, err := parser.Parse(arguments)
	if err != nil {
		_, _ = fmt.Fprintf(streams.Err, "magpie: %s (magpie --help lists the commands)\n", hideTokens(client.Message(err)))
		return misused
	}
	trimLists(parsed)
	if slices.ContainsFunc(arguments, tokenPattern.MatchString) {
		_, _ = fmt.Fprintln(streams.Err, "magpie: other users of this machine can see a token on the command line")
	}
	r := &runtime{Context: ctx, globals: g.globals, streams: streams, model: parser.Model.Node}
	if err = r.prepare(); err == nil {
		err = parsed.Run(r)
	}
	if err != nil {
		_, _ = fmt.Fprintf(streams.Err, "magpie: %s\n", hideTokens(client.Message(err)))
		return codeOf(ctx, err)
	}
	return 0
}

// trimLists removes the blanks around the parts of lists, which people write after commas.
func trimLists(parsed *kong.Context) {
	for _, flag := range parsed.Flags() {
		list, ok := flag.Target.Interface().([]string)
		if !ok || flag.Tag.Sep != ',' {
			continue
		}
		for i, part := range list {
			list[i] = strings.TrimSpace(part)
		}
	}
}

// prepare makes the console, which settings have a say in.
func (r *runtime) prepare() error {
	c, err := r.settings(nil)
	if err != nil {
		return err
	}
	r.drivers(slog.New(slog.DiscardHandler)) // what they say is of use to long-lived parts, which say so
	r.console = console.New(console.Options{
		Out: r.streams.Out, Err: r.streams.Err, JSON: r.JSON, Quiet: r.Quiet, Columns: c.Columns(),
		Plain: c.NoColor != "" || c.Terminal == "dumb",
	})
	return nil
}

// source says where the settings of this command line come from. Further ones
// count like flags.
func (r *runtime) source(further map[string]string) config.Source {
	flags := map[string]string{}
	for name, value := range map[string]string{
		"DATABASE_URL": r.DatabaseURL, "REDIS_URL": r.RedisURL, "LOG_LEVEL": r.LogLevel, "LOG_FORMAT": r.LogFormat, "MAGPIE_DATA": r.Data,
	} {
		if value != "" {
			flags[name] = value
		}
	}
	maps.Copy(flags, further)
	return config.Source{Flags: flags, File: r.Config}
}

func (r *runtime) settings(further map[string]string) (*config.Config, error) {
	return config.Load(r.source(further))
}

// logger writes to the error output as the settings say.
func (r *runtime) logger(c *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	var handler slog.Handler = slog.NewTextHandler(r.streams.Err, options)
	if c.LogFormat == "json" {
		handler = slog.NewJSONHandler(r.streams.Err, options)
	}
	return slog.New(tracing.LogHandler(requestid.LogHandler(handler)))
}

// drivers sends what libraries say to a log.
func (r *runtime) drivers(log *slog.Logger) {
	if r.streams.Drivers != nil {
		r.streams.Drivers(log)
	}
}
