package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/magpie-search/magpie/cmd/magpie/profile"
	"github.com/magpie-search/magpie/internal/client"
)

// tokenPattern is the form of personal and service tokens.
var tokenPattern = regexp.MustCompile(`mgp_(pat|svc)_[0-9A-Za-z]{6,}`)

// hideTokens replaces the tokens in a text, which may come from the command line.
func hideTokens(text string) string { return tokenPattern.ReplaceAllString(text, "mgp_${1}_…") }

type loginCommand struct {
	URL       string `arg:"" name:"url" help:"Address of the Magpie, such as https://magpie.example.com."`
	Name      string `help:"Name of the profile; the host of the address when left out."`
	WithToken bool   `help:"Read the token from the input."`
	Web       bool   `help:"Open the page of the dashboard that makes tokens in a browser."`
}

// tokensPage is where people make tokens on the dashboard.
const tokensPage = "/account#tokens"

// loginRow is the result of a login. It has no token.
type loginRow struct {
	Profile   string `json:"profile"`
	URL       string `json:"url"`
	User      string `json:"user,omitempty"`
	Role      string `json:"role,omitempty"`
	Workspace string `json:"workspace,omitempty"`
}

// Run checks a token and stores it in a profile, which is then in use.
func (c loginCommand) Run(r *runtime) error {
	if tokenPattern.MatchString(c.URL) {
		return usagef("other users of this machine can see a token on the command line: revoke it, and give a new one to --with-token or at the prompt")
	}
	address, err := profile.Address(c.URL, r.Insecure)
	if err != nil {
		return usageError{err}
	}
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	set, err := profile.Open(settings.ProfilesFile)
	if err != nil {
		return err
	}
	name := orElse(c.Name, profile.DefaultName(address))
	if known, ok := set.Profiles[name]; ok && known.URL != address {
		return usagef("the profile %s is for %s; choose another --name, or remove it with `magpie profiles remove %s`", name, known.URL, name)
	}
	token, err := c.token(r, address)
	if err != nil {
		return err
	}
	row := loginRow{Profile: name, URL: address}
	if err := c.check(r, destination{url: address, token: token, profile: name, chosen: true}, &row); err != nil {
		return err
	}
	set.Profiles[name] = profile.Profile{URL: address, Token: token, Insecure: r.Insecure && strings.HasPrefix(address, "http:")}
	set.Current = name
	if err := set.Save(); err != nil {
		return err
	}
	return r.console.Result(row, func() {
		who := "a service token"
		if row.User != "" {
			who = fmt.Sprintf("%s, %s of %s", row.User, row.Role, row.Workspace)
		}
		r.console.Note("Logged in to %s as %s.", address, who)
		r.console.Note("The profile %s is in use; %s has its token.", name, set.Path())
	})
}

// check finds out whose token it is. A token that does not work is an error.
func (c loginCommand) check(r *runtime, to destination, row *loginRow) error {
	r.Workspace = "" // of other commands
	return r.over(to, func(api *client.Client, _ string) error {
		if err := api.Do(r, "ServerLimits", nil, nil); err != nil { // every token may read them
			return err
		}
		me, err := r.me(api)
		if err == nil && me != nil {
			row.User, row.Role, row.Workspace = me.User.Email, strings.ToLower(me.Role), me.Workspace.Name
		}
		return err
	})
}

// token reads the token from the input or, on a terminal, asks for it.
func (c loginCommand) token(r *runtime, address string) (string, error) {
	var text string
	var err error
	file, isFile := r.streams.In.(*os.File)
	switch {
	case c.WithToken:
		text, err = readLine(r, r.streams.In)
	case isFile && term.IsTerminal(int(file.Fd())):
		page := address + tokensPage
		r.console.Warn("Make a personal token on %s and paste it here. It is not shown.", page)
		if c.Web {
			if err := browse(r, page); err != nil {
				r.console.Warn("The browser does not open: %s", err)
			}
		}
		_, _ = fmt.Fprint(r.streams.Err, "Token: ")
		text, err = readHidden(r, file)
		_, _ = fmt.Fprintln(r.streams.Err)
	default:
		return "", usagef("give the token to the input with --with-token, or log in on a terminal")
	}
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	switch text = strings.TrimSpace(text); {
	case text == "":
		return "", usagef("no token was given")
	case !tokenPattern.MatchString(text) || strings.ContainsAny(text, " \t"):
		return "", usagef("this is no token: tokens begin with mgp_pat_ or mgp_svc_")
	}
	return text, nil
}

// maxLine is more than any token has, in bytes.
const maxLine = 4096

// readLine reads the first line of an input until the context ends.
func readLine(ctx context.Context, in io.Reader) (string, error) {
	return await(ctx, func() (string, error) {
		line, err := bufio.NewReader(io.LimitReader(in, maxLine)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return line, err
	})
}

// readHidden reads a line of a terminal without showing it.
func readHidden(ctx context.Context, terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	state, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("use the terminal: %w", err)
	}
	text, err := await(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
	if ctx.Err() != nil {
		err = errors.Join(err, term.Restore(fd, state)) // the reader is still waiting
	}
	return text, err
}

// await returns the result of a read, which the end of the context leaves behind: a read
// of a terminal cannot be interrupted, and the process ends soon.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case got := <-done:
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// browseTime bounds the start of a browser.
const browseTime = 5 * time.Second

// browse opens an address in the person's browser.
func browse(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, browseTime)
	defer cancel()
	for _, program := range []string{"xdg-open", "open"} {
		if path, err := exec.LookPath(program); err == nil {
			return exec.CommandContext(ctx, path, address).Run() //nolint:gosec // a fixed program; the address is checked
		}
	}
	return errors.New("there is neither xdg-open nor open")
}

type logoutCommand struct {
	Name string `arg:"" optional:"" name:"profile" help:"Profile; the one in use when left out."`
}

// Run forgets a profile. Its token stays valid: only a person on the dashboard, or
// tokens revoke, ends it for everybody.
func (c logoutCommand) Run(r *runtime) error {
	return r.forget(orElse(c.Name, r.Profile))
}

// forget removes a profile, or the one in use if the name is empty.
func (r *runtime) forget(name string) error {
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	set, err := profile.Open(settings.ProfilesFile)
	if err != nil {
		return err
	}
	if name = orElse(name, set.Current); name == "" {
		return errors.New("no profile is in use")
	}
	gone, err := set.Find(name)
	if err != nil {
		return err
	}
	delete(set.Profiles, name)
	if set.Current == name {
		set.Current = ""
	}
	if err := set.Save(); err != nil {
		return err
	}
	return r.console.Result(map[string]string{"removed": name, "url": gone.URL}, func() {
		r.console.Note("Forgot %s. The token is valid until it expires or is revoked: %s", name, gone.URL+tokensPage)
	})
}

type profilesCommand struct {
	List   profilesList   `cmd:"" default:"1" help:"List the profiles."`
	Use    profilesUse    `cmd:"" help:"Let commands use a profile."`
	Remove profilesRemove `cmd:"" help:"Forget a profile and its token."`
}

type profilesList struct{}

// profileRow is a profile without its token.
type profileRow struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	InUse bool   `json:"inUse"`
}

// Run lists the profiles.
func (profilesList) Run(r *runtime) error {
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	set, err := profile.Open(settings.ProfilesFile)
	if err != nil {
		return err
	}
	rows, table := []profileRow{}, [][]string{}
	for _, name := range set.Names() {
		row := profileRow{Name: name, URL: set.Profiles[name].URL, InUse: name == set.Current}
		mark := ""
		if row.InUse {
			mark = "yes"
		}
		rows, table = append(rows, row), append(table, []string{row.Name, row.URL, mark})
	}
	return r.console.Result(rows, func() {
		r.console.Table([]string{"PROFILE", "ADDRESS", "IN USE"}, table, "There is no profile yet; `magpie login URL` makes one.")
	})
}

type profilesUse struct {
	Name string `arg:"" name:"profile" optional:"" help:"Name of the profile; none when left out with --none."`
	None bool   `help:"Use no profile: commands operate the Magpie of this folder or of DATABASE_URL."`
}

// Run chooses the profile in use.
func (c profilesUse) Run(r *runtime) error {
	if (c.Name == "") != c.None {
		return usagef("give a profile, or --none")
	}
	settings, err := r.settings(nil)
	if err != nil {
		return err
	}
	set, err := profile.Open(settings.ProfilesFile)
	if err != nil {
		return err
	}
	address := ""
	if !c.None {
		found, err := set.Find(c.Name)
		if err != nil {
			return err
		}
		address = found.URL
	}
	set.Current = c.Name
	if err := set.Save(); err != nil {
		return err
	}
	return r.console.Result(profileRow{Name: c.Name, URL: address, InUse: !c.None}, func() {
		if c.None {
			r.console.Note("No profile is in use.")
			return
		}
		r.console.Note("The profile %s (%s) is in use.", c.Name, address)
	})
}

type profilesRemove struct {
	Name string `arg:"" name:"profile" help:"Name of the profile."`
}

// Run forgets a profile.
func (c profilesRemove) Run(r *runtime) error {
	return r.forget(c.Name)
}
