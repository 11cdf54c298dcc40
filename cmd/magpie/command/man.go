package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

type manCommand struct {
	Folder string `arg:"" type:"path" help:"Folder to write the pages to, such as share/man/man1; it is made if it does not exist."`
}

// Run writes magpie.1, and a page for each command, from the definitions of the help.
func (c manCommand) Run(r *runtime) error {
	if err := os.MkdirAll(c.Folder, 0o755); err != nil { //nolint:gosec // pages are for everybody
		return fmt.Errorf("make the folder: %w", err)
	}
	written := []string{}
	write := func(node *kong.Node, name string) error {
		path := filepath.Join(c.Folder, name+".1")
		if err := os.WriteFile(path, []byte(manPage(node, name)), 0o644); err != nil { //nolint:gosec // see above
			return fmt.Errorf("write a page: %w", err)
		}
		written = append(written, path)
		return nil
	}
	if err := write(r.model, "magpie"); err != nil {
		return err
	}
	for _, child := range r.model.Children {
		if child.Hidden {
			continue
		}
		if err := write(child, "magpie-"+child.Name); err != nil {
			return err
		}
	}
	return r.console.Result(map[string][]string{"written": written}, func() {
		r.console.Note("Wrote %d pages to %s.", len(written), c.Folder)
	})
}

// manPage returns the manual page of a command in roff, with its subcommands.
func manPage(node *kong.Node, name string) string {
	var b strings.Builder
	line := func(format string, arguments ...any) { _, _ = fmt.Fprintf(&b, format+"\n", arguments...) } // a Builder never fails
	line(".TH %s 1 \"\" Magpie \"Magpie Manual\"", strings.ToUpper(roff(name)))
	line(".SH NAME\n%s \\- %s", roff(name), roff(strings.TrimSuffix(node.Help, ".")))
	line(".SH SYNOPSIS\n.B %s", roff(commandLine(node)))
	if node.Type == kong.ApplicationNode {
		line(".SH DESCRIPTION\nMagpie serves a knowledge search, and the commands operate it, over HTTP or on its stores.")
		line(".SH COMMANDS")
		for _, child := range node.Children {
			if !child.Hidden {
				line(".TP\n.BR magpie\\-%s (1)\n%s", roff(child.Name), roff(child.Help))
			}
		}
		line(".SH OPTIONS")
		manFlags(line, node.Flags)
		line(".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\nFailed.\n.TP\n.B 2\nThe command line cannot be understood.\n.TP\n.B 130\nInterrupted.")
		line(".SH ENVIRONMENT\n.TP\n.B MAGPIE_URL\nThe Magpie that commands operate over HTTP.\n.TP\n.B MAGPIE_TOKEN\nThe token for it.\n.TP\n.B MAGPIE_PROFILE\nThe profile to use.")
		return b.String()
	}
	line(".SH DESCRIPTION\n%s", roff(node.Help))
	manArguments(line, node)
	for _, leaf := range node.Leaves(true) {
		line(".SS %s\n%s", roff(commandLine(leaf)), roff(leaf.Help))
		manArguments(line, leaf)
	}
	line(".SH SEE ALSO\n.BR magpie (1),\nwhich has the options of all commands.")
	return b.String()
}

// commandLine returns a command with its arguments, as it is written.
func commandLine(node *kong.Node) string {
	words := []string{node.FullPath()}
	for _, p := range node.Positional {
		words = append(words, p.Summary())
	}
	if len(node.Children) > 0 {
		words = append(words, "<command>")
	}
	return strings.Join(words, " ") + " [options]"
}

// manArguments writes what a command takes besides the options of all commands.
func manArguments(line func(string, ...any), node *kong.Node) {
	for _, p := range node.Positional {
		line(".TP\n.I %s\n%s", roff(p.Summary()), roff(p.Help))
	}
	manFlags(line, node.Flags)
}

func manFlags(line func(string, ...any), flags []*kong.Flag) {
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		name := "--" + flag.Name
		if flag.Short != 0 {
			name = "-" + string(flag.Short) + ", " + name
		}
		if !flag.IsBool() {
			name += "=" + flag.FormatPlaceHolder()
		}
		if negated := negation(flag); negated != "" {
			name += ", " + negated
		}
		line(".TP\n.B %s\n%s", roff(name), roff(flag.Help))
	}
}

// roff escapes a text for a line of a manual page.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
