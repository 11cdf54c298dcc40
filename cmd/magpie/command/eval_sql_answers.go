package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/texttosql"
)

const examinedPrompt = "You answer questions about a database with one SQL statement. Search the schema first, then run the statement " +
	"with query_database. The last statement that you run is your answer: it must select what the question asks for and nothing else. " +
	"If the database cannot answer the question, run no statement and say so."

// unanswerable is the category of questions that the database cannot answer.
const unanswerable = "unanswerable"

// verdict is what became of a question.
type verdict int

const (
	wrong verdict = iota
	right
	unjudged // the gold does not run on this database
)

// answers lets an agent write statements, and compares their rows with those of the gold.
func (x *sqlExam) answers() (_ []answerFigures, err error) {
	agent, err := x.agent()
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, x.agents.Do(x, "DeleteAgent", client.Variables{"id": agent}, nil))
	}()
	total := 0
	for _, p := range x.papers {
		total += len(p.questions)
	}
	progress := x.console.Progress("questions")
	lines := map[[3]string]*answerFigures{}
	done := 0
	for i := range x.papers {
		p := &x.papers[i]
		for _, q := range p.questions {
			outcome, err := x.ask(agent, p, q)
			if err != nil {
				return nil, fmt.Errorf("%s, record %d: %w", q.File, q.Line, err)
			}
			category := q.Category
			if !q.Answerable() {
				category = unanswerable
			}
			for _, key := range [][3]string{{p.name, p.kind, category}, {"", x.kind(), ""}} {
				if lines[key] == nil {
					lines[key] = &answerFigures{Database: key[0], Type: key[1], Category: key[2]}
				}
				lines[key].add(outcome)
			}
			done++
			progress.Show(done, total, "")
		}
	}
	progress.Done("")
	out := make([]answerFigures, 0, len(lines))
	for _, line := range lines {
		line.Accuracy = share(line.Right, line.Questions)
		out = append(out, *line)
	}
	slices.SortFunc(out, func(a, b answerFigures) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Database, "\uffff"), cmp.Or(b.Database, "\uffff")), cmp.Compare(a.Category, b.Category))
	})
	return out, nil
}

func (f *answerFigures) add(v verdict) {
	switch v {
	case unjudged:
		f.Unjudged++
		return
	case right:
		f.Right++
	case wrong:
	}
	f.Questions++
}

// agent makes the agent that is examined.
func (x *sqlExam) agent() (uuid.UUID, error) {
	var made struct {
		Agent agentRow `json:"agent"`
	}
	err := x.agents.Do(x, "CreateAgent", client.Variables{"input": client.Variables{
		"name": examined, "systemPrompt": examinedPrompt, "tools": []string{"search_database_schema", "get_table_info", "query_database"},
	}}, &made)
	return made.Agent.ID, err
}

// ask puts a question to the agent.
func (x *sqlExam) ask(agent uuid.UUID, p *sqlPaper, q texttosql.Question) (verdict, error) {
	message := fmt.Sprintf("About the database %q: %s", p.name, q.Text)
	if q.Instructions != "" {
		message += "\n\n" + q.Instructions
	}
	statement, err := x.statement(agent, message)
	if err != nil {
		return wrong, err
	}
	if !q.Answerable() {
		if statement == "" {
			return right, nil
		}
		return wrong, nil
	}
	return x.judge(p, q, statement)
}

// statement runs the agent and returns the last statement that ran without an error.
func (x *sqlExam) statement(agent uuid.UUID, message string) (last string, err error) {
	sent := map[string]string{}
	err = x.agents.RunAgent(x, client.Variables{"agentId": agent, "message": message}, func(e client.AgentEvent) error {
		switch e.Type {
		case "AgentToolCall":
			if sql, ok := e.Params["query"].(string); ok && e.Tool == "query_database" {
				sent[e.CallID] = sql
			}
		case "AgentToolResult":
			if sql, ok := sent[e.CallID]; ok && e.Success {
				last = sql
			}
		case "AgentError":
			return fmt.Errorf("the run failed: %s", e.Message)
		}
		return nil
	})
	return last, err
}

// judge compares the rows of a statement with those of the gold.
func (x *sqlExam) judge(p *sqlPaper, q texttosql.Question, statement string) (verdict, error) {
	var got texttosql.Rows
	ran := false
	if statement != "" {
		var err error
		if got, ran, err = x.rows(p, statement); err != nil {
			return wrong, err
		}
	}
	judged := false
	for _, gold := range q.Gold {
		want, goldRan, err := x.rows(p, gold)
		if err != nil {
			return wrong, err
		}
		if judged = judged || goldRan && !want.Truncated; goldRan && ran && texttosql.Same(want, got) {
			return right, nil
		}
	}
	if !judged {
		return unjudged, nil
	}
	return wrong, nil
}

// rows runs a statement. A statement that the database refuses did not run.
func (x *sqlExam) rows(p *sqlPaper, sql string) (_ texttosql.Rows, ran bool, err error) {
	rows, err := x.api.RunStatement(x, p.id, strings.TrimSuffix(strings.TrimSpace(sql), ";"), rowsCompared)
	if e := (*apierr.Error)(nil); errors.As(err, &e) && e.Code == apierr.InvalidRequest {
		return texttosql.Rows{}, false, nil
	}
	return texttosql.Rows{Columns: rows.Columns, Values: rows.Rows, Truncated: rows.Truncated != nil}, err == nil, err
}
