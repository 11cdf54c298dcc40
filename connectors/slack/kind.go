package slack

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The names of options and credentials.
const (
	optionChannels = "channels"
	optionRange    = "dateRange"
	optionPrivate  = "includePrivate"
	optionArchived = "includeArchived"
	optionFiles    = "includeFiles"
	optionBots     = "includeBots"
	optionJoin     = "joinPublic"
	optionTeam     = "teamId"
	optionAddress  = "apiUrl"

	credentialToken  = "botToken"
	credentialSecret = "signingSecret"
)

const (
	defaultAddress = "https://slack.com/api"
	exampleAddress = "https://slack-gov.com/api"
)

// maxChannels is the largest number of entries in config.channels.
const maxChannels = 500

// Kind returns the kind, which connects with dial.
func Kind(dial connectors.Dial) connectors.Kind {
	return connectors.Kind{
		Name: "slack", Title: "Slack",
		Category:      connectors.CategoryCollaboration,
		Description:   "Threads, the conversations of each day and shared files of a Slack workspace's channels.",
		Documentation: "https://api.slack.com/authentication/basics",
		Permissions:   true,
		OAuth:         "slack",
		// Tier 3 of the Web API, which the methods used most belong to.
		RateLimit: connectors.RateLimit{PerMinute: 50, Burst: 10},
		Options: []connectors.Option{
			{
				Name: optionChannels, Title: "Channels", Type: connectors.TypeStringList, Format: connectors.FormatPattern, Example: "#general",
				Help:  "Names with or without #, ids or patterns (team-*). Without any: all public channels that the bot is in, or may read.",
				Check: connectors.CheckStrings(checkChannels),
			},
			{
				Name: optionRange, Title: "Date range", Type: connectors.TypeString, Example: "90d",
				Help:  "How far back messages and files are read: 90d, 8w, 6m, 1y, a first day (2024-01-01) or a range (2024-01-01..2024-06-30). Without it: all.",
				Check: connectors.CheckString(func(text string) error { _, err := parseDateRange(text); return err }),
			},
			{
				Name: optionPrivate, Title: "Private channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Read private channels that the bot was invited to as well. Direct messages are never read.",
			},
			{
				Name: optionArchived, Title: "Archived channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Read archived channels as well.",
			},
			{
				Name: optionFiles, Title: "Files", Type: connectors.TypeBoolean, Default: true,
				Help: "Read files that were shared in the channels.",
			},
			{
				Name: optionBots, Title: "Messages of bots", Type: connectors.TypeBoolean, Default: false,
				Help: "Read messages of apps and bots as well. Threads that begin with a bot's message are always read.",
			},
			{
				Name: optionJoin, Title: "Join public channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Let the bot join the selected public channels; it cannot read channels that it is not in. Needs the scope channels:join.",
			},
			{
				Name: optionTeam, Title: "Workspace id", Type: connectors.TypeString, Example: "T024BE7LD", Advanced: true,
				Help:  "Needed only if events are sent to the address without a connector's id.",
				Check: connectors.CheckString(checkTeam),
			},
			{
				Name: optionAddress, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: defaultAddress,
				Destination: true,
				Example:     exampleAddress, Advanced: true, Help: "Only for GovSlack.",
				Check: connectors.CheckString(checkAddress),
			},
		},
		Credentials: []connectors.Option{
			{
				Name: credentialToken, Title: "Bot token", Type: connectors.TypeString, Sensitive: true, Example: "xoxb-...",
				Help:  "The Bot User OAuth Token (xoxb-) of an app that is installed in the workspace, or a user's token (xoxp-).",
				Check: connectors.CheckString(checkToken),
			},
			{
				Name: credentialSecret, Title: "Signing secret", Type: connectors.TypeString, Sensitive: true,
				Help: "The app's signing secret, which verifies events. Without it, only syncs find changes.",
			},
		},
		Webhook: webhook(),
		CheckSettings: func(s connectors.Settings) error {
			if s.Credentials[credentialToken] == "" && s.Token == nil {
				return &connectors.OptionError{Field: "credentials." + credentialToken, Message: "required, for example xoxb-..., unless the workspace was connected by consent"}
			}
			return nil
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return open(dial, s, time.Now)
		},
	}
}

func checkChannels(names []string) error {
	if len(names) > maxChannels {
		return fmt.Errorf("must be at most %d channels", maxChannels)
	}
	for _, name := range names {
		name = strings.TrimPrefix(strings.TrimSpace(name), "#")
		switch {
		case name == "":
			return errors.New("has an entry without a name")
		case strings.ContainsAny(name, "/ \t\r\n"):
			return fmt.Errorf("%.80q is no channel; write it as #general, as its id or as a pattern such as team-*", name)
		case strings.ContainsAny(name, "*?"):
			if err := glob.Check(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTeam(text string) error {
	if !regexp.MustCompile(`^[TE][A-Za-z0-9]{2,30}$`).MatchString(text) {
		return errors.New("is no workspace id; it begins with T and is part of the workspace's address: app.slack.com/client/T024BE7LD")
	}
	return nil
}

func checkAddress(text string) error {
	_, err := restapi.ParseBaseURL(text, exampleAddress)
	return err
}

func checkToken(text string) error {
	switch {
	case strings.ContainsAny(text, " \t\r\n"):
		return errors.New("has a space or line break in it")
	case strings.HasPrefix(text, "xapp-"):
		return errors.New("is an app-level token; the bot token begins with xoxb-")
	}
	return nil
}
