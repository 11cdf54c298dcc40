package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	URL       string        `arg:"" name:"url" help:"Address of the Magpie, such as https://magpie.example.com."`
	Name      string        `help:"Name of the profile; the host of the address when left out."`
	WithToken bool          `help:"Read the token from the input."`
	Browser   *bool         `negatable:"" help:"Log in by a page of the dashboard in a browser on this machine, or ask for a token. The first on a terminal, except over SSH, when left out."`
	Wait      time.Duration `default:"5m" help:"Time to wait for the browser."`
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
	name := orElse(c.Name, profile.DefaultName(address))
	if _, err := openProfiles(r, name, address); err != nil { // before anybody makes a token
		return err
	}
	given, err := c.token(r, address)
	if err != nil {
		return err
	}
	to := destination{url: address, token: given.text, profile: name, chosen: true}
	row := loginRow{Profile: name, URL: address}
	set, before, err := c.keep(r, to, given, &row)
	if err != nil && given.made { // nobody else has the token, also after an interrupt
		if err := r.revoke(context.WithoutCancel(r), to); err != nil {
			r.console.Warn("The token of this login lives on (%s): revoke it on %s", client.Message(err), address+tokensPage)
		}
	}
	given.end(err)
	if err != nil {
		return err
	}
	if before.Made && before.Token != given.text {
		if err := r.revoke(r, destination{url: before.URL, token: before.Token}); err != nil {
			r.console.Warn("The token of the previous login lives on (%s): revoke it on %s", client.Message(err), address+tokensPage)
		}
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

// openProfiles returns the profiles if the one of the name is for the address, or new.
func openProfiles(r *runtime, name, address string) (*profile.Set, error) {
	settings, err := r.settings(nil)
	if err != nil {
		return nil, err
	}
	set, err := profile.Open(settings.ProfilesFile)
	if err != nil {
		return nil, err
	}
	if known, ok := set.Profiles[name]; ok && known.URL != address {
		return nil, usagef("the profile %s is for %s; choose another --name, or remove it with `magpie profiles remove %s`", name, known.URL, name)
	}
	return set, nil
}

// keep checks the token and stores it. It returns the profile that it has replaced.
func (c loginCommand) keep(r *runtime, to destination, given givenToken, row *loginRow) (*profile.Set, profile.Profile, error) {
	var before profile.Profile
	if err := c.check(r, to, row); err != nil {
		return nil, before, err
	}
	if given.made {
		if err := confirmPerson(r, to, row); err != nil {
			return nil, before, err
		}
	}
	// Other commands may have changed the profiles while this one was waiting for people.
	set, err := openProfiles(r, to.profile, to.url)
	if err != nil {
		return nil, before, err
	}
	if err := given.doubt(); err != nil {
		return nil, before, err
	}
	before = set.Profiles[to.profile]
	set.Profiles[to.profile] = profile.Profile{
		URL: to.url, Token: to.token, User: row.User, Made: given.made, Insecure: r.Insecure && strings.HasPrefix(to.url, "http:"),
	}
	set.Current = to.profile
	return set, before, set.Save()
}

// confirmPerson asks whether the person who has answered in the browser is meant, where the
// profile is another one's: what a person then does would be the other's.
func confirmPerson(r *runtime, to destination, row *loginRow) error {
	set, err := openProfiles(r, to.profile, to.url)
	if err != nil {
		return err
	}
	before := set.Profiles[to.profile].User
	if before == "" || before == row.User {
		return nil
	}
	r.console.Warn("%s has answered the page, but the profile %s is of %s.", orElse(row.User, "Somebody unknown"), to.profile, before)
	_, _ = fmt.Fprint(r.streams.Err, "Type yes to go on, anything else to stop: ")
	line, err := readLine(r, r.streams.In)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != "yes" {
		return fmt.Errorf("the profile %s is still of %s", to.profile, before)
	}
	return nil
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

// givenToken is the token of a login.
type givenToken struct {
	text string
	made bool // by the login
	// doubt returns an error if the login cannot be trusted any more.
	doubt func() error
	// end tells the person in the browser how the login has ended.
	end func(error)
}

// token returns the token of the login: from a browser, or else from the input or, on a
// terminal, a prompt.
func (c loginCommand) token(r *runtime, address string) (givenToken, error) {
	var none givenToken
	settings, err := r.settings(nil)
	if err != nil {
		return none, err
	}
	file, isFile := r.streams.In.(*os.File)
	terminal := isFile && term.IsTerminal(int(file.Fd()))
	browser := terminal && settings.SSHConnection == ""
	if c.Browser != nil {
		browser = *c.Browser
	}
	var text string
	switch {
	case c.WithToken && c.Browser != nil && *c.Browser:
		return none, usagef("give --with-token or --browser")
	case c.WithToken:
		text, err = readLine(r, r.streams.In)
	case browser:
		return c.askInBrowser(r, address)
	case terminal:
		r.console.Warn("Make a personal token on %s and paste it here. It is not shown.", address+tokensPage)
		_, _ = fmt.Fprint(r.streams.Err, "Token: ")
		text, err = readHidden(r, file)
		_, _ = fmt.Fprintln(r.streams.Err)
	default:
		return none, usagef("give the token to the input with --with-token, or log in on a terminal or with --browser")
	}
	if err != nil {
		return none, fmt.Errorf("read the token: %w", err)
	}
	switch text = strings.TrimSpace(text); {
	case text == "":
		return none, usagef("no token was given")
	case !tokenPattern.MatchString(text) || strings.ContainsAny(text, " \t"):
		return none, usagef("this is no token: tokens begin with mgp_pat_ or mgp_svc_")
	}
	return givenToken{text: text, doubt: func() error { return nil }, end: func(error) {}}, nil
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

type logoutCommand struct {
	Name      string `arg:"" optional:"" name:"profile" help:"Profile; the one in use when left out."`
	KeepToken bool   `help:"Leave the token valid."`
}

// Run forgets a profile, and revokes its token if the login made it.
func (c logoutCommand) Run(r *runtime) error {
	return r.forget(orElse(c.Name, r.Profile), c.KeepToken)
}

// revokeTime bounds the revocation of a token.
const revokeTime = 15 * time.Second

// revoke ends a personal token at its Magpie.
func (r *runtime) revoke(ctx context.Context, to destination) error {
	ctx, cancel := context.WithTimeoutCause(ctx, revokeTime, fmt.Errorf("%s has not answered within %s", to.url, revokeTime))
	defer cancel()
	remote, err := newRemote(to)
	if err != nil {
		return err
	}
	defer remote.Close()
	return remote.RevokeToken(ctx)
}

// forget removes a profile, or the one in use if the name is empty. A token that a login
// made is revoked; if the Magpie cannot be reached, the profile is forgotten all the same.
func (r *runtime) forget(name string, keep bool) error {
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
	revoke := gone.Made && !keep
	var failure error
	if revoke {
		if _, failure = profile.Address(gone.URL, gone.Insecure || r.Insecure); failure == nil {
			failure = r.revoke(r, destination{url: gone.URL, token: gone.Token})
		}
		if r.Err() != nil {
			return context.Cause(r)
		}
	}
	delete(set.Profiles, name)
	if set.Current == name {
		set.Current = ""
	}
	if err := set.Save(); err != nil {
		return err
	}
	if failure != nil {
		r.console.Warn("The token of %s lives on (%s): revoke it on %s", name, client.Message(failure), gone.URL+tokensPage)
	}
	revoked := revoke && failure == nil
	return r.console.Result(map[string]any{"removed": name, "url": gone.URL, "revoked": revoked}, func() {
		switch {
		case revoked:
			r.console.Note("Forgot %s and revoked its token.", name)
		case failure != nil:
			r.console.Note("Forgot %s.", name)
		default:
			r.console.Note("Forgot %s. The token is valid until it expires or is revoked: %s", name, gone.URL+tokensPage)
		}
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
	Name      string `arg:"" name:"profile" help:"Name of the profile."`
	KeepToken bool   `help:"Leave the token valid."`
}

// Run does the same as logout.
func (c profilesRemove) Run(r *runtime) error {
	return r.forget(c.Name, c.KeepToken)
}
