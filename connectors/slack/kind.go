package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/glob"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// The options and credentials.
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

const defaultAddress = "https://slack.com/api"

// maxChannels is how many entries config.channels may have.
const maxChannels = 500

// Kind describes the connector. All its connections are made by dial.
func Kind(dial restapi.Dial) connectors.Kind {
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
				Help:  "Names with or without #, ids or patterns (team-*). Left out: all public channels that the bot is in, or may read.",
				Check: checkChannels,
			},
			{
				Name: optionRange, Title: "Date range", Type: connectors.TypeString, Example: "90d",
				Help:  "How far back messages and files are taken: 90d, 8w, 6m, 1y, a day (2024-01-01) or two (2024-01-01..2024-06-30). Left out: all there are.",
				Check: func(value any) error { text, _ := value.(string); _, err := parseSpan(text); return err },
			},
			{
				Name: optionPrivate, Title: "Private channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Take private channels that the bot was invited to, too. Direct messages are never read.",
			},
			{
				Name: optionArchived, Title: "Archived channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Take archived channels too.",
			},
			{
				Name: optionFiles, Title: "Files", Type: connectors.TypeBoolean, Default: true,
				Help: "Take files that were shared in the channels.",
			},
			{
				Name: optionBots, Title: "Messages of bots", Type: connectors.TypeBoolean, Default: false,
				Help: "Take what apps and bots write, too. Threads that begin with a bot's message are taken in any case.",
			},
			{
				Name: optionJoin, Title: "Join public channels", Type: connectors.TypeBoolean, Default: false,
				Help: "Let the bot join the public channels that are chosen; it can read no others. Needs the scope channels:join.",
			},
			{
				Name: optionTeam, Title: "Workspace id", Type: connectors.TypeString, Example: "T024BE7LD", Advanced: true,
				Help:  "Needed only where events come to the address without a connector's id.",
				Check: checkTeam,
			},
			{
				Name: optionAddress, Title: "API address", Type: connectors.TypeString, Format: connectors.FormatURL, Default: defaultAddress,
				Destination: true,
				Example:     "https://slack-gov.com/api", Advanced: true, Help: "Another one than Slack's own, for GovSlack.",
				Check: checkAddress,
			},
		},
		Credentials: []connectors.Option{
			{
				Name: credentialToken, Title: "Bot token", Type: connectors.TypeString, Sensitive: true, Example: "xoxb-...",
				Help:  "The Bot User OAuth Token (xoxb-) of an app that is installed in the workspace, or a user's token (xoxp-).",
				Check: checkToken,
			},
			{
				Name: credentialSecret, Title: "Signing secret", Type: connectors.TypeString, Sensitive: true,
				Help: "The app's signing secret, which events are verified with. Left out: changes are found by syncs alone.",
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

func checkChannels(value any) error {
	names, _ := value.([]string)
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

func checkTeam(value any) error {
	if text, _ := value.(string); !regexp.MustCompile(`^[TE][A-Za-z0-9]{2,30}$`).MatchString(text) {
		return errors.New("is no workspace id; it begins with T and is part of the workspace's address: app.slack.com/client/T024BE7LD")
	}
	return nil
}

func checkAddress(value any) error {
	text, _ := value.(string)
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Host == "" || (address.Scheme != "https" && address.Scheme != "http"):
		return errors.New("is no address; write it as https://slack-gov.com/api")
	case address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return errors.New("must be a host and a path alone")
	}
	return nil
}

func checkToken(value any) error {
	text, _ := value.(string)
	switch {
	case strings.ContainsAny(text, " \t\r\n"):
		return errors.New("has a space or line break in it")
	case strings.HasPrefix(text, "xapp-"):
		return errors.New("is an app-level token; the bot token begins with xoxb-")
	}
	return nil
}
