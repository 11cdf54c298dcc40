package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/client"
)

type agentsRun struct {
	Agent        string    `arg:"" help:"Id or name."`
	Message      []string  `arg:"" help:"What it is asked."`
	Conversation uuid.UUID `help:"Go on with this conversation."`
	As           string    `placeholder:"MAIL" help:"Member as whom it runs, on the stores of a Magpie; an owner when left out. A token is its person's."`
	Decide       bool      `help:"Read decisions about calls that ask from the input, on the stores of a Magpie. Tokens may not decide: people do on the dashboard."`
}

// Run runs the agent and prints its answer as it comes. With --json each event is a line.
func (c agentsRun) Run(r *runtime) error {
	to, err := r.remote()
	if err != nil {
		return err
	}
	if to != nil {
		if c.As != "" || c.Decide {
			return usagef("--as and --decide are for the stores of a Magpie; over HTTP the token says who you are, and people decide on the dashboard")
		}
		return r.over(*to, func(api *client.Client, dashboard string) error { return c.follow(r, api, dashboard) })
	}
	return r.inWorkspace(func(app *wire.App, workspace uuid.UUID) error {
		api, err := personOf(r, app, workspace, c.As)
		if err != nil {
			return err
		}
		return c.follow(r, api, app.Config.DashboardAddress())
	})
}

func (c agentsRun) follow(r *runtime, api *client.Client, dashboard string) error {
	agent, err := agentOf(r, api, c.Agent)
	if err != nil {
		return err
	}
	input := client.Variables{"agentId": agent.ID, "message": strings.Join(c.Message, " ")}
	if c.Conversation != uuid.Nil {
		input["conversationId"] = c.Conversation
	}
	p := &runPrinter{runtime: r, api: api, dashboard: dashboard}
	if c.Decide {
		p.decisions = bufio.NewReader(r.streams.In)
	}
	return api.RunAgent(r, input, func(event client.AgentEvent) error {
		if r.JSON {
			line, err := json.Marshal(event)
			if err != nil {
				return fmt.Errorf("write the event: %w", err)
			}
			r.console.Printf("%s\n", line)
		}
		return p.event(event)
	})
}

// runPrinter prints the events of a run for people.
type runPrinter struct {
	*runtime
	api       *client.Client
	dashboard string
	decisions *bufio.Reader // nil to ask nobody here

	conversation uuid.UUID
	begun        bool // the answer has begun
}

func (p *runPrinter) event(e client.AgentEvent) error {
	switch e.Type {
	case "AgentRunStart":
		p.conversation = e.ConversationID
	case "AgentContent":
		if !p.JSON {
			p.begun = true
			p.console.Printf("%s", console.Text(e.Content))
		}
	case "AgentToolCall":
		p.end()
		p.console.Note("%s", p.console.Faint("calls "+e.Tool+" "+compact(e.Params)))
	case "AgentToolResult":
		p.console.Note("%s", p.console.Faint("  "+e.Message))
	case "AgentApprovalRequired":
		p.end()
		return p.decide(e)
	case "AgentAuthRequired":
		p.end()
		p.console.Warn("%s has to be connected first: %s", e.Integration, orElse(text(e.AuthorizationURL), p.dashboard+"/integrations"))
	case "AgentRunWaiting":
		p.console.Note("The run waits for a decision.")
	case "AgentRunComplete":
		p.end()
		for i, source := range e.Sources {
			if !p.JSON {
				p.console.Printf("%s\n", p.console.Faint(strings.TrimSpace(fmt.Sprintf("[%d] %s  %s", i+1, source.Title, text(source.URL)))))
			}
		}
		tokens := ""
		if e.Usage != nil && e.Usage.Total > 0 {
			tokens = fmt.Sprintf(", %d tokens", e.Usage.Total)
		}
		p.console.Note("conversation %s%s", p.conversation, tokens)
	case "AgentError":
		p.end()
		return fmt.Errorf("the run ended: %s", e.Message)
	}
	return nil
}

func (p *runPrinter) end() {
	if p.begun {
		p.console.Printf("\n\n")
	}
	p.begun = false
}

// decide asks for a decision, or says where people decide.
func (p *runPrinter) decide(e client.AgentEvent) error {
	p.console.Warn("%s (%s)", console.Text(e.Title), strings.ToLower(e.Risk))
	if e.Preview != "" {
		p.console.Warn("%s", console.Text(e.Preview))
	}
	if p.decisions == nil {
		p.console.Warn("Decide at %s/approvals/%s", p.dashboard, e.ApprovalID)
		return nil
	}
	input := client.Variables{"id": e.ApprovalID}
	switch {
	case e.Kind == "QUESTION":
		p.console.Warn("Answer (%s): ", orElse(strings.Join(e.Options, ", "), "in your words"))
	case e.Risk == "DELETE":
		p.console.Warn("Type %s to allow this deletion, anything else to refuse it: ", e.Tool)
	default:
		p.console.Warn("Type yes to allow it, anything else to refuse it: ")
	}
	line, err := await(p, func() (string, error) { return p.decisions.ReadString('\n') })
	if line = strings.TrimSpace(line); err != nil && line == "" {
		return errors.Join(fmt.Errorf("no decision was given; decide at %s/approvals/%s", p.dashboard, e.ApprovalID), p.Err())
	}
	switch {
	case e.Kind == "QUESTION":
		input["action"], input["answer"] = "ANSWER", line
	case e.Risk == "DELETE" && line == e.Tool:
		input["action"], input["confirm"] = "APPROVE", line
	case e.Risk != "DELETE" && line == "yes":
		input["action"] = "APPROVE"
	default:
		input["action"] = "REJECT"
	}
	return p.api.Do(p, "DecideApproval", client.Variables{"input": input}, nil)
}
