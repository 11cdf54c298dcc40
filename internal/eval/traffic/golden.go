package traffic

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The limits of a golden set.
const (
	MaxGoldenQuestions = 500 // of a collection
	MaxGoldenDocuments = 20  // of a question
	MaxGrade           = 3
)

// A Golden is a question of the golden set of a collection: people named its right
// documents.
type Golden struct {
	TextID    int64
	Question  string            // as it was entered first
	Grades    map[uuid.UUID]int // 1 to MaxGrade
	Documents []uuid.UUID       // of Grades, the best first
}

// Golden returns the golden set of a collection, in the order in which the questions came.
func (m *Meter) Golden(ctx context.Context, scope viewer.Scope, collection uuid.UUID) ([]Golden, error) {
	if err := checkRole(ctx); err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read the golden set: %w", err)
	}
	if _, err := scope.Narrow(collection); err != nil {
		return nil, fmt.Errorf("read the golden set: %w", err)
	}
	rows, err := m.o.Pool.Query(ctx, `select text_id, first_value(question) over of_text, document_id, grade
		from golden_judgements where workspace_id = $1 and collection_id = $2
		window of_text as (partition by text_id order by created_at, document_id)
		order by min(created_at) over (partition by text_id), text_id, grade desc, created_at, document_id`, workspace, collection)
	if err != nil {
		return nil, fmt.Errorf("read the golden set: %w", err)
	}
	golden := []Golden{}
	var g Golden
	var document uuid.UUID
	var grade int
	_, err = pgx.ForEachRow(rows, []any{&g.TextID, &g.Question, &document, &grade}, func() error {
		if len(golden) == 0 || golden[len(golden)-1].TextID != g.TextID {
			golden = append(golden, Golden{TextID: g.TextID, Question: g.Question, Grades: map[uuid.UUID]int{}})
		}
		last := &golden[len(golden)-1]
		last.Grades[document] = grade
		last.Documents = append(last.Documents, document)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the golden set: %w", err)
	}
	return golden, nil
}

// Judge names a document as right for a question of the golden set, with a grade from 1 to
// MaxGrade, or with 0 takes it out of the set. A question without documents is not in the
// set: then Judge returns nil. The document must be one of the collection that the viewer
// may read.
func (m *Meter) Judge(ctx context.Context, scope viewer.Scope, collection uuid.UUID, question string, document uuid.UUID, grade int) (*Golden, error) {
	if err := checkRole(ctx); err != nil {
		return nil, err
	}
	question = strings.Join(strings.Fields(question), " ")
	if n := utf8.RuneCountInString(question); n < 1 || n > analytics.MaxText || strings.ContainsRune(question, 0) {
		return nil, apierr.Invalid("query", fmt.Sprintf("must have 1 to %d characters", analytics.MaxText))
	}
	if grade < 0 || grade > MaxGrade {
		return nil, apierr.Invalid("grade", fmt.Sprintf("must be between 0 and %d", MaxGrade))
	}
	golden, err := m.Golden(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("judge a document: %w", err)
	}
	id := analytics.QuestionID(workspace, question)
	if grade == 0 {
		_, err = m.o.Pool.Exec(ctx, "delete from golden_judgements where workspace_id = $1 and collection_id = $2 and text_id = $3 and document_id = $4",
			workspace, collection, id, document)
	} else if err = room(golden, id, document); err == nil {
		_, err = m.o.Pool.Exec(ctx, `insert into golden_judgements (workspace_id, collection_id, text_id, question, document_id, grade)
			values ($1, $2, $3, $4, $5, $6) on conflict (collection_id, text_id, document_id) do update set grade = excluded.grade`,
			workspace, collection, id, question, document, grade)
	}
	if err != nil {
		return nil, fmt.Errorf("judge a document: %w", err)
	}
	if golden, err = m.Golden(ctx, scope, collection); err != nil {
		return nil, err
	}
	return withID(golden, id), nil
}

// RemoveGolden takes a question out of the golden set of a collection. It returns whether
// the question was in the set.
func (m *Meter) RemoveGolden(ctx context.Context, scope viewer.Scope, collection uuid.UUID, question string) (bool, error) {
	if err := checkRole(ctx); err != nil {
		return false, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return false, fmt.Errorf("remove a golden question: %w", err)
	}
	if _, err := scope.Narrow(collection); err != nil {
		return false, fmt.Errorf("remove a golden question: %w", err)
	}
	done, err := m.o.Pool.Exec(ctx, "delete from golden_judgements where workspace_id = $1 and collection_id = $2 and text_id = $3",
		workspace, collection, analytics.QuestionID(workspace, question))
	if err != nil {
		return false, fmt.Errorf("remove a golden question: %w", err)
	}
	return done.RowsAffected() > 0, nil
}

// room checks that a golden set has room for a document of a question.
func room(golden []Golden, id int64, document uuid.UUID) error {
	g := withID(golden, id)
	switch {
	case g == nil && len(golden) >= MaxGoldenQuestions:
		return apierr.New(apierr.Conflict, fmt.Sprintf("The golden set has %d questions, the most that a collection may have. Take one out first.", MaxGoldenQuestions))
	case g != nil && g.Grades[document] == 0 && len(g.Documents) >= MaxGoldenDocuments:
		return apierr.New(apierr.Conflict, fmt.Sprintf("The question has %d documents, the most that it may have. Take one out first.", MaxGoldenDocuments))
	default:
		return nil
	}
}

// withID returns the question with an id; nil for none.
func withID(golden []Golden, id int64) *Golden {
	for i := range golden {
		if golden[i].TextID == id {
			return &golden[i]
		}
	}
	return nil
}

// together returns the traffic with the questions of a golden set that are not in it, and
// the grades of each by the id of its text. What people named counts more than clicks.
func together(asked []analytics.Asked, golden []Golden) ([]analytics.Asked, map[int64]map[uuid.UUID]int) {
	grades := make(map[int64]map[uuid.UUID]int, len(asked)+len(golden))
	for i := range asked {
		grades[asked[i].TextID] = judgements(&asked[i])
	}
	for i := range golden {
		g := &golden[i]
		if grades[g.TextID] == nil {
			asked = append(asked, analytics.Asked{TextID: g.TextID, Text: g.Question})
			grades[g.TextID] = map[uuid.UUID]int{}
		}
		maps.Copy(grades[g.TextID], g.Grades)
	}
	return asked, grades
}
