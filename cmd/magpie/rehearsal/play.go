package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/cmd/magpie/console"
)

// patience bounds the time of a whole round, which is about two minutes with workers that
// are killed.
const patience = 10 * time.Minute

// A Worker is a running worker process.
type Worker interface {
	// Kill ends it at once, as a power failure does, and waits for the end.
	Kill() error
}

// Options say which Magpie to play in. It has the Settings of the Stage and no workers.
type Options struct {
	BaseURL     string // without a slash at the end
	DatabaseURL string
	// Email and Password sign the owner in, who approves in Slack.
	Email, Password string
	// Collection is searched by the agent.
	Collection uuid.UUID
	// StartWorker starts a worker.
	StartWorker func(context.Context) (Worker, error)
	Console     *console.Console
}

// A Round has the outcome of one mail.
type Round struct {
	// Kills are the moments at which a worker was killed.
	Kills []string `json:"kills"`
	// Replies are the mails that the mail server has for the mail: one, if all is well.
	Replies []Reply `json:"replies"`
	// Status is that of the run, and Outcomes are the final texts of its approvals in Slack.
	Status   string   `json:"status"`
	Outcomes []string `json:"outcomes"`
	// Questions counts what the person was asked, Messages the messages in Slack, Events the rows of the mail, Runs
	// those of the automation, AgentRuns those of the agent, and ModelCalls the requests
	// to the model.
	Questions  int     `json:"questions"`
	Messages   int     `json:"messages"`
	Events     int     `json:"events"`
	Runs       int     `json:"runs"`
	AgentRuns  int     `json:"agentRuns"`
	ModelCalls int     `json:"modelCalls"`
	Seconds    float64 `json:"seconds"`
}

// A Play is an automation that was set up.
type Play struct {
	o     Options
	stage *Stage
	db    *pgx.Conn

	magpie     api
	mailbox    string // address that the provider of mails posts to
	mails      string // integration
	agent      string
	automation string
	worker     Worker
	known      map[string]bool // questions that were answered
}

// Begin signs in and sets the automation up. The caller ends the Play.
func (s *Stage) Begin(ctx context.Context, o Options) (p *Play, err error) {
	p = &Play{o: o, stage: s, magpie: api{address: o.BaseURL}, known: map[string]bool{}}
	s.slack.person = o.Email
	if p.db, err = pgx.Connect(ctx, o.DatabaseURL); err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := p.setUp(ctx); err != nil {
		return nil, errors.Join(err, p.db.Close(ctx))
	}
	return p, nil
}

// End ends the worker and the connection.
func (p *Play) End(ctx context.Context) error {
	var failure error
	if p.worker != nil {
		failure = p.worker.Kill()
	}
	return errors.Join(failure, p.db.Close(ctx))
}

func (p *Play) setUp(ctx context.Context) error {
	if err := p.magpie.signIn(ctx, p.o.Email, p.o.Password); err != nil {
		return err
	}
	agent, err := p.magpie.create(ctx, "/api/v1/agents", object{
		"name": "Mail answerer", "systemPrompt": "You answer mails from the documentation.", "tools": []string{"search_documents"}, "collections": []uuid.UUID{p.o.Collection},
	}, "id")
	if err != nil {
		return err
	}
	channel, err := p.magpie.create(ctx, "/api/v1/integrations/inbound", object{
		"provider": "slack", "name": "Slack", "config": object{"team_id": slackTeam, "api_url": p.stage.slack.url},
		"credentials": object{"signing_secret": p.stage.slack.secret, "bot_token": slackToken},
	}, "integration.id")
	if err != nil {
		return err
	}
	mails, err := p.magpie.create(ctx, "/api/v1/integrations/inbound", object{"provider": "postmark", "name": "Mails to support"}, "integration.id", "url")
	if err != nil {
		return err
	}
	p.agent, p.mails, p.mailbox = agent[0], mails[0], mails[1]
	made, err := p.magpie.create(ctx, "/api/v1/automations", object{
		"name": "Answer mails", "agent": agent[0], "kind": "email", "trigger": object{"integrationId": mails[0]},
		"instructions": "Answer this mail from our documents, and cite them.\n\nSubject: {{event.subject}}\n{{event.text}}",
		"approval":     object{"mode": "always", "channel": "slack", "slackIntegrationId": channel[0], "slackChannel": slackChannel},
		"delivery":     []object{{"kind": "reply_email"}},
	}, "id")
	if err != nil {
		return err
	}
	p.automation = made[0]
	return nil
}

// round is a Round that is being played.
type round struct {
	*Play
	Round
	mail     string // message id
	began    time.Time
	calls    int64 // of the model, before
	messages int   // in Slack, before
}

// Plain plays a mail through with one worker that nothing happens to.
func (p *Play) Plain(ctx context.Context, question string) (Round, error) {
	return p.play(ctx, question, (*round).plain)
}

// Killed plays a mail through and kills the worker at each step.
func (p *Play) Killed(ctx context.Context, question string) (Round, error) {
	return p.play(ctx, question, (*round).killed)
}

func (p *Play) play(ctx context.Context, question string, how func(*round, context.Context, string) error) (Round, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing happened for %s", patience))
	defer cancel()
	r := &round{
		Play: p, Round: Round{Kills: []string{}, Outcomes: []string{}}, mail: uuid.NewString() + "@customer.example", began: time.Now(),
		calls: p.stage.model.asked.Load(), messages: p.stage.slack.count(),
	}
	if err := how(r, ctx, question); err != nil {
		return r.Round, err
	}
	return r.Round, r.check(ctx)
}

func (r *round) plain(ctx context.Context, question string) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.step("the mail is accepted", func() error { return r.send(ctx, question) }); err != nil {
		return err
	}
	if err := r.step("the draft waits for a person, in Slack", func() error { return r.await(ctx) }); err != nil {
		return err
	}
	if err := r.step("the person approves; the reply is sent", func() error {
		if err := r.answer(ctx, "approve"); err != nil {
			return err
		}
		return r.end(ctx)
	}); err != nil {
		return err
	}
	return r.show(ctx)
}

func (r *round) killed(ctx context.Context, question string) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	const atEvent = "the mail is recorded as a run"
	if err := r.step("killed when "+atEvent, func() error { return r.killAtEvent(ctx, question, atEvent) }); err != nil {
		return err
	}
	for _, at := range []Point{PointQuestion, PointAnswer, PointPosting, PointPosted} {
		if err := r.step("killed when "+string(at), func() error { return r.killAt(ctx, at, nil) }); err != nil {
			return err
		}
	}
	if err := r.step("another worker has put the draft before a person, in Slack", func() error {
		if err := r.begin(ctx); err != nil {
			return err
		}
		return r.await(ctx)
	}); err != nil {
		return err
	}
	const whileWaiting = "a person is waited for"
	if err := r.step("killed while "+whileWaiting+"; the person approves", func() error {
		if err := r.kill(whileWaiting); err != nil {
			return err
		}
		return r.answer(ctx, "approve")
	}); err != nil {
		return err
	}
	// The reply has begun, and nobody knows whether it arrived: a person is asked.
	if err := r.step("killed when "+string(PointSending), func() error { return r.killAt(ctx, PointSending, nil) }); err != nil {
		return err
	}
	if err := r.step("a person is asked whether it arrived, and says no", func() error { return r.askedWhether(ctx, 0) }); err != nil {
		return err
	}
	if err := r.step("killed when "+string(PointDelivered), func() error {
		return r.killAt(ctx, PointDelivered, func() error { return r.answer(ctx, "approve") })
	}); err != nil {
		return err
	}
	if err := r.step("a person is asked whether it arrived, and says yes", func() error {
		if err := r.askedWhether(ctx, 1); err != nil {
			return err
		}
		if err := r.answer(ctx, "reject"); err != nil {
			return err
		}
		return r.end(ctx)
	}); err != nil {
		return err
	}
	return r.show(ctx)
}

func (r *round) step(name string, do func() error) error { return r.o.Console.Step(name, do) }

// begin starts a worker unless there is one.
func (p *Play) begin(ctx context.Context) (err error) {
	if p.worker == nil {
		p.worker, err = p.o.StartWorker(ctx)
	}
	return err
}

// kill kills the worker.
func (r *round) kill(when string) error {
	r.Kills = append(r.Kills, when)
	worker := r.worker
	r.worker = nil
	return worker.Kill()
}

// killAt starts a worker, does what leads to a point, and kills the worker there.
func (r *round) killAt(ctx context.Context, at Point, do func() error) error {
	hit := r.stage.arm(at)
	defer r.stage.release()
	if err := r.begin(ctx); err != nil {
		return err
	}
	if do != nil {
		if err := do(); err != nil {
			return err
		}
	}
	select {
	case <-hit:
	case <-ctx.Done():
		return fmt.Errorf("wait until %s: %w", at, context.Cause(ctx))
	}
	return r.kill(string(at))
}

// killAtEvent sends the mail and kills the worker while it stores the run that the mail
// starts, which a lock delays.
func (r *round) killAtEvent(ctx context.Context, question, when string) error {
	tx, err := r.db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // it has changed nothing
	if _, err := tx.Exec(ctx, "lock table automation_runs in share row exclusive mode"); err != nil {
		return fmt.Errorf("lock the runs: %w", err)
	}
	if err := r.send(ctx, question); err != nil {
		return err
	}
	if err := poll(ctx, "a worker that stores the run", func() (bool, error) {
		var waits bool
		err := tx.QueryRow(ctx, "select exists (select from pg_locks where relation = 'automation_runs'::regclass and not granted)").Scan(&waits)
		return waits, err
	}); err != nil {
		return err
	}
	return r.kill(when)
}

// poll waits until a condition holds.
func poll(ctx context.Context, what string, holds func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := holds(); err != nil || ok {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
}

// send posts the mail as its provider does.
func (r *round) send(ctx context.Context, question string) error {
	const to = "support@acme.example"
	return r.magpie.deliver(ctx, r.mailbox, object{
		"FromFull": object{"Email": "cleo@customer.example", "Name": "Cleo"}, "ToFull": []object{{"Email": to}}, "OriginalRecipient": to,
		"Subject": "A question", "MessageID": uuid.NewString(), "TextBody": "Hello,\n\n" + question + "\n\nCleo",
		"Headers": []object{{"Name": "Message-ID", "Value": "<" + r.mail + ">"}, {"Name": "Received-SPF", "Value": "Pass (sender SPF authorized) identity=mailfrom; envelope-from=cleo@customer.example"}},
	})
}

// await waits for a question in Slack.
func (r *round) await(ctx context.Context) error {
	_, err := r.stage.slack.question(ctx, r.known)
	return err
}

// answer presses a button of the open question.
func (r *round) answer(ctx context.Context, button string) error {
	m, err := r.stage.slack.question(ctx, r.known)
	if err != nil {
		return err
	}
	if err := r.stage.slack.press(ctx, r.o.BaseURL, button, m); err != nil {
		return err
	}
	r.known[m.value] = true
	r.Questions++
	return nil
}

// askedWhether waits for the question whether the reply arrived. arrived is the number of
// replies that the mail server has.
func (r *round) askedWhether(ctx context.Context, arrived int) error {
	if err := r.begin(ctx); err != nil {
		return err
	}
	m, err := r.stage.slack.question(ctx, r.known)
	switch {
	case err != nil:
		return err
	case !m.unknown:
		return fmt.Errorf("slack has another question: %s", m.text)
	case len(r.stage.replies(r.mail)) != arrived:
		return fmt.Errorf("the mail server has %d replies, not %d", len(r.stage.replies(r.mail)), arrived)
	}
	return nil
}

// end waits for the end of the run.
func (r *round) end(ctx context.Context) error {
	return poll(ctx, "the end of the run", func() (ended bool, err error) {
		r.Status, err = r.magpie.status(ctx, r.automation)
		return r.Status != "" && r.Status != "queued" && r.Status != "running" && r.Status != "waiting", err
	})
}

// show waits for the outcomes in Slack, and prints the reply.
func (r *round) show(ctx context.Context) error {
	outcomes, err := r.stage.slack.outcomes(ctx, r.messages, r.Questions)
	if err != nil {
		return err
	}
	r.Outcomes = outcomes
	for _, reply := range r.stage.replies(r.mail) {
		r.o.Console.Note("")
		r.o.Console.Note("  To: %s", reply.To)
		r.o.Console.Note("  Subject: %s", reply.Subject)
		for line := range strings.Lines(reply.Text) {
			r.o.Console.Note("  %s", strings.TrimRight(line, "\r\n"))
		}
	}
	r.o.Console.Note("")
	return nil
}

// check counts what happened, and fails unless everything happened once.
func (r *round) check(ctx context.Context) error {
	r.Replies, r.Messages = r.stage.replies(r.mail), r.stage.slack.count()-r.messages
	r.ModelCalls, r.Seconds = int(r.stage.model.asked.Load()-r.calls), time.Since(r.began).Seconds()
	err := r.db.QueryRow(ctx, `select (select count(*) from integration_events where integration_id = $1 and created_at > $4),
		(select count(*) from automation_runs where automation_id = $2 and created_at > $4),
		(select count(*) from agent_runs where agent_id = $3 and created_at > $4)`, r.mails, r.automation, r.agent, r.began).Scan(&r.Events, &r.Runs, &r.AgentRuns)
	if err != nil {
		return fmt.Errorf("count what happened: %w", err)
	}
	switch {
	case r.Status != "completed":
		return fmt.Errorf("the run is %s", r.Status)
	case len(r.Replies) != 1:
		return fmt.Errorf("the reply was sent %d times", len(r.Replies))
	case r.Events != 1 || r.Runs != 1 || r.AgentRuns != 1:
		return fmt.Errorf("the mail became %d events, %d runs and %d runs of the agent", r.Events, r.Runs, r.AgentRuns)
	case !strings.Contains(r.Replies[0].Text, "[1] "):
		return errors.New("the reply cites nothing")
	}
	return nil
}
