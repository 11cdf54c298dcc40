package command

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/magpie-search/magpie/cmd/magpie/profile"
	"github.com/magpie-search/magpie/internal/client"
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
func (r *runtime) complete(arguments []string) {
	if len(arguments) < 2 {
		return
	}
	shell, words := arguments[0], make([]string, len(arguments)-1)
	for i, word := range arguments[1:] {
		words[i] = unquote(word)
	}
	r.globals = globalsOf(words[:len(words)-1])
	for _, c := range candidates(r.model, words, r.names) {
		line := oneWord(c.word)
		switch {
		case shell == "bash":
			line = quote(line)
		case c.help == "":
			if shell == "zsh" {
				line = strings.ReplaceAll(line, ":", `\:`)
			}
		case shell == "zsh":
			line = strings.ReplaceAll(line, ":", `\:`) + ":" + oneWord(c.help)
		case shell == "fish":
			line += "\t" + oneWord(c.help)
		}
		_, _ = fmt.Fprintln(r.streams.Out, line) // the shell may be gone
	}
}

// oneWord replaces line breaks and tabs, which separate candidates.
func oneWord(text string) string {
	return strings.Join(strings.FieldsFunc(text, unicode.IsControl), " ")
}

var plainWord = regexp.MustCompile(`^[\pL\pN_./:@%+=,-]*$`)

// quote writes a word as bash reads it.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	var b strings.Builder
	for _, c := range word {
		if !plainWord.MatchString(string(c)) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// unquote reads a word as people type it in a shell, whose closing quote may be missing.
func unquote(word string) string {
	var b strings.Builder
	var within rune
	escaped := false
	for _, c := range word {
		switch {
		case escaped:
			b.WriteRune(c)
			escaped = false
		case c == '\\' && within != '\'':
			escaped = true
		case within == 0 && (c == '"' || c == '\''):
			within = c
		case c == within:
			within = 0
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// globalsOf returns the options before the last word that say which Magpie is meant.
func globalsOf(words []string) globals {
	var g globals
	for i, word := range words {
		name, value, whole := strings.Cut(word, "=")
		if rest := words[i+1:]; !whole {
			if len(rest) > 0 && rest[0] == "=" { // bash cuts words there
				rest = rest[1:]
			}
			if len(rest) > 0 {
				value = rest[0]
			}
		}
		switch name {
		case "--config":
			g.Config = value
		case "--data":
			g.Data = value
		case "--database-url":
			g.DatabaseURL = value
		case "--redis-url":
			g.RedisURL = value
		case "--profile":
			g.Profile = value
		case "--insecure":
			g.Insecure = true
		}
	}
	return g
}

const (
	// completeTime bounds the look-up of names: a person waits for it.
	completeTime = 1500 * time.Millisecond
	maxNames     = 200
)

// lists are the operations that list what an argument or an option names.
func lists() map[string]string {
	return map[string]string{
		"agent": "ListAgents", "automation": "ListAutomations", "collection": "ListCollections", "connector": "ConnectorNames", "job|connector": "ConnectorNames",
		"integration": "ListToolIntegrations", "key": "ListKeys", "token": "ListTokens",
	}
}

// names returns the names of the things that an argument or an option may name: profiles,
// or what a Magpie that is reached over HTTP has. It returns none if anything fails.
func (r *runtime) names(thing string) []candidate {
	var found []candidate
	if thing == "profile" {
		c, err := r.settings(nil)
		if err != nil {
			return nil
		}
		set, err := profile.Open(c.ProfilesFile)
		if err != nil {
			return nil
		}
		for _, name := range set.Names() {
			found = append(found, candidate{name, set.Profiles[name].URL})
		}
		return found
	}
	operation, known := lists()[thing]
	if !known {
		return nil
	}
	to, err := r.remote()
	if err != nil || to == nil {
		return nil
	}
	executor, err := newRemote(*to)
	if err != nil {
		return nil
	}
	defer executor.Close()
	ctx, cancel := context.WithTimeout(r, completeTime)
	defer cancel()
	rows, err := client.List[struct{ Name string }](ctx, client.New(executor), operation, nil, maxNames)
	if err != nil {
		return nil
	}
	for _, row := range rows {
		if word := (candidate{word: row.Name}); row.Name != "" && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found
}

// candidates returns the words that may stand in the place of the last one: values of an
// option, options, commands, or values of an argument. names returns the names of the things that
// an option or an argument names.
func candidates(node *kong.Node, words []string, names func(thing string) []candidate) []candidate {
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
		return matching(values(open.Value, names), strings.TrimPrefix(last, "="), "")
	case strings.HasPrefix(last, "-") && whole:
		if flag := flagOf(node, name); flag != nil {
			return matching(values(flag.Value, names), value, name+"=")
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
		found = append(found, values(positional[arguments], names)...)
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

// values are those that an option or an argument allows, if they are few, or else names.
func values(v *kong.Value, names func(thing string) []candidate) []candidate {
	if v.Enum == "" {
		return names(v.Name)
	}
	var found []candidate
	for _, word := range v.EnumSlice() {
		if word != "" {
			found = append(found, candidate{word: word})
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
