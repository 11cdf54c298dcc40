package command

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/cmd/magpie/console"
	"github.com/magpie-search/magpie/internal/client"
)

type chatCommand struct {
	Message      []string  `arg:"" help:"The question."`
	Collection   string    `help:"Only this collection (id or name)."`
	Conversation uuid.UUID `help:"Go on with this conversation."`
}

// Run asks and prints the answer as it comes. With --json each event is a line.
func (c chatCommand) Run(r *runtime) error {
	return r.operate(func(api *client.Client) error {
		input := client.Variables{"message": strings.Join(c.Message, " ")}
		if c.Conversation != uuid.Nil {
			input["conversationId"] = c.Conversation
		}
		if c.Collection != "" {
			id, err := collectionID(r, api, c.Collection)
			if err != nil {
				return err
			}
			input["collection"] = id
		}
		printer := answerPrinter{console: r.console}
		return api.Subscribe(r, "Chat", client.Variables{"input": input}, func(data json.RawMessage) error {
			var answer struct {
				Event client.ChatEvent `json:"event"`
			}
			if err := json.Unmarshal(data, &answer); err != nil {
				return fmt.Errorf("read the answer: %w", err)
			}
			if !r.console.JSON() {
				return printer.print(answer.Event)
			}
			line, err := json.Marshal(answer.Event)
			if err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
			r.console.Printf("%s\n", line)
			return failure(answer.Event)
		})
	})
}

// answerPrinter prints the events of an answer for people.
type answerPrinter struct {
	console *console.Console
	begun   bool
}

func (p *answerPrinter) print(event client.ChatEvent) error {
	switch event.Kind {
	case "ChatContent":
		p.begun = true
		p.console.Printf("%s", console.Text(event.Delta))
	case "ChatSources":
		p.end()
		for i, source := range event.Sources {
			p.console.Printf("%s\n", p.console.Faint(strings.TrimSpace(fmt.Sprintf("[%d] %s  %s", i+1, source.Title, text(source.URL)))))
		}
	case "ChatFollowUp":
		if len(event.Questions) > 0 {
			p.console.Printf("\nYou could ask next:\n")
		}
		for _, question := range event.Questions {
			p.console.Printf("  %s\n", console.Text(question))
		}
	case "ChatDone":
		usage := ""
		if event.Usage != nil && event.Usage.Total > 0 {
			usage = fmt.Sprintf(", %d tokens", event.Usage.Total)
		}
		p.console.Note("conversation %s%s", event.ConversationID, usage)
	case "StreamError":
		p.end()
		return failure(event)
	}
	return nil
}

func (p *answerPrinter) end() {
	if p.begun {
		p.console.Printf("\n\n")
	}
	p.begun = false
}

func failure(event client.ChatEvent) error {
	if event.Kind != "StreamError" {
		return nil
	}
	return fmt.Errorf("the answer broke off: %s", event.Message)
}
