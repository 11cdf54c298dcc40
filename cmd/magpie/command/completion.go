package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// completeWord is the hidden command that the completion scripts call with the name of
// the shell and the words of the command line, the unfinished one last.
const completeWord = "__complete"

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// completionScripts ask the program itself, so that they never disagree with its help.
var completionScripts = map[string]string{
	"bash": `_magpie() {
	local IFS=$'\n'
	COMPREPLY=($(magpie ` + completeWord + ` bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _magpie magpie
`,
	"zsh": `#compdef magpie
_magpie() {
	local -a found
	found=("${(@f)$(magpie ` + completeWord + ` zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n $found[1] ]]; then _describe magpie found; else _files; fi
}
if [[ $funcstack[1] == _magpie ]]; then _magpie; else compdef _magpie magpie; fi
`,
	"fish": `complete -c magpie -a '(magpie ` + completeWord + ` fish (commandline -opc)[2..] (commandline -ct))'
`,
}

// Run prints the script.
func (c completionCommand) Run(r *runtime) error {
	r.console.Printf("%s", completionScripts[c.Shell])
	return nil
}

// candidate is a possible word.
type candidate struct{ word, help string }

// complete prints the words that may stand in the place of the last one.
func complete(out io.Writer, model *kong.Node, arguments []string) {
	if len(arguments) < 2 {
		return
	}
	for _, c := range candidates(model, arguments[1:]) {
		line := c.word
		switch {
		case c.help == "":
		case arguments[0] == "zsh":
			line = strings.ReplaceAll(c.word, ":", `\:`) + ":" + c.help
		case arguments[0] == "fish":
			line += "\t" + c.help
		}
		_, _ = fmt.Fprintln(out, line) // the shell may be gone
	}
}

// candidates returns the words that may stand in the place of the last one: values of an
// option, options, commands, or values of an argument.
func candidates(node *kong.Node, words []string) []candidate {
	last := words[len(words)-1]
	arguments := 0
	var open *kong.Flag // waits for its value
	for _, word := range words[:len(words)-1] {
		switch {
		case word == "=": // bash cuts words there
		case open != nil:
			open = nil
		case strings.HasPrefix(word, "-"):
			if name, _, whole := strings.Cut(word, "="); !whole {
				if flag := flagOf(node, name); flag != nil && !flag.IsBool() {
					open = flag
				}
			}
		default:
			if child := childOf(node, word); child != nil {
				node, arguments = child, 0
			} else {
				arguments++
			}
		}
	}
	name, value, whole := strings.Cut(last, "=")
	switch {
	case open != nil:
		return matching(values(open.Value), strings.TrimPrefix(last, "="), "")
	case strings.HasPrefix(last, "-") && whole:
		if flag := flagOf(node, name); flag != nil {
			return matching(values(flag.Value), value, name+"=")
		}
		return nil
	case strings.HasPrefix(last, "-"):
		var found []candidate
		for _, flag := range flagsOf(node) {
			found = append(found, candidate{"--" + flag.Name, flag.Help})
			if negated := negation(flag); negated != "" {
				found = append(found, candidate{negated, flag.Help})
			}
		}
		return matching(found, last, "")
	}
	var found []candidate
	if arguments == 0 {
		for _, child := range node.Children {
			if !child.Hidden {
				found = append(found, candidate{child.Name, child.Help})
			}
		}
	}
	positional := node.Positional
	if node.DefaultCmd != nil {
		positional = node.DefaultCmd.Positional
	}
	if arguments < len(positional) {
		found = append(found, values(positional[arguments])...)
	}
	return matching(found, last, "")
}

func matching(all []candidate, prefix, before string) []candidate {
	var found []candidate
	for _, c := range all {
		if strings.HasPrefix(c.word, prefix) {
			found = append(found, candidate{before + c.word, c.help})
		}
	}
	return found
}

// values are those that an option or an argument allows, if they are few.
func values(v *kong.Value) []candidate {
	var found []candidate
	if v.Enum != "" {
		for _, word := range v.EnumSlice() {
			if word != "" {
				found = append(found, candidate{word: word})
			}
		}
	}
	return found
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// flagsOf returns the visible options of a command and of those above it.
func flagsOf(node *kong.Node) []*kong.Flag {
	var flags []*kong.Flag
	if node.DefaultCmd != nil {
		flags = append(flags, node.DefaultCmd.Flags...)
	}
	for ; node != nil; node = node.Parent {
		flags = append(flags, node.Flags...)
	}
	visible := flags[:0:0]
	for _, flag := range flags {
		if !flag.Hidden {
			visible = append(visible, flag)
		}
	}
	return visible
}

func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, flag := range flagsOf(node) {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

// negation returns the option that says the opposite, or "".
func negation(flag *kong.Flag) string {
	if flag.Tag == nil || flag.Tag.Negatable == "" {
		return ""
	}
	return "--no-" + flag.Name
}
