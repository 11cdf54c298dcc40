package github

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// maxSteps is the largest number of steps of a page.
const maxSteps = 20

// A position is a position of a walk: the repository, the stage, and the
// position in the stage.
type position struct {
	repo   int64
	stage  string
	steps  int    // made in the stage
	offset string // the stage's own
}

var placePattern = regexp.MustCompile(`(?s)^(\d{1,18})\.([a-z]+)\.(\d{1,9})\.(.*)$`)

func parsePosition(cursor string) (position, error) {
	match := placePattern.FindStringSubmatch(cursor)
	if match == nil || !utf8.ValidString(cursor) || len(cursor) > connectors.MaxCursorBytes {
		return position{}, connectors.ErrCursor
	}
	p := position{stage: match[2], offset: match[4]}
	p.repo, _ = strconv.ParseInt(match[1], 10, 64)
	p.steps, _ = strconv.Atoi(match[3])
	if stageIndex(p.stage) < 0 {
		return position{}, connectors.ErrCursor
	}
	return p, nil
}

func (p position) String() string {
	return fmt.Sprintf("%d.%s.%d.%s", p.repo, p.stage, p.steps, p.offset)
}

// A stepResult is the result of one step of a stage.
type stepResult struct {
	items    []connectors.Item
	warnings []string
	more     bool
	offset   string
}

// A stage walks one sort of content of a repository.
type stage struct {
	name    string
	applies func(c config, r repo) bool
	// walk makes a step of at most room items, which is at least minRoom.
	walk    func(ctx context.Context, s *source, r repo, p position, room int) (stepResult, error)
	minRoom int
	// check makes the first request of the stage.
	check func(ctx context.Context, s *source, r repo) error
}

func stages() []stage { return []stage{fileStage(), threadStage(), discussionStage(), wikiStage()} }

func stageIndex(name string) int {
	return slices.IndexFunc(stages(), func(s stage) bool { return s.name == name })
}

// Walk implements [connectors.Source]: the repositories, sorted by id, each
// from its files on.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := s.checkOpen(ctx); err != nil {
		return connectors.Page{}, err
	}
	var p position
	if cursor != "" {
		var err error
		if p, err = parsePosition(cursor); err != nil {
			return connectors.Page{}, err
		}
	}
	repos, warnings, err := s.walkRepos(ctx, cursor == "")
	if err != nil {
		return connectors.Page{}, err
	}
	page := connectors.Page{Warnings: warnings}
	all := stages()
	next, _ := slices.BinarySearchFunc(repos, p.repo, func(r repo, id int64) int { return cmp.Compare(r.ID, id) })
	startStage := func(stage int) {
		if stage == len(all) {
			next, stage = next+1, 0
		}
		p = position{stage: all[stage].name}
		if next < len(repos) {
			p.repo = repos[next].ID
		}
	}
	if next < len(repos) && repos[next].ID != p.repo {
		startStage(0) // the repository of the cursor is gone
	}
	for steps := 0; ; {
		if next == len(repos) {
			page.Done = true
			return page, nil
		}
		r, number := repos[next], stageIndex(p.stage)
		if !all[number].applies(s.config, r) {
			startStage(number + 1)
			continue
		}
		room := connectors.MaxPageItems - len(page.Items)
		if room < all[number].minRoom || steps == maxSteps {
			page.Next = p.String()
			return page, nil
		}
		steps++
		result, err := all[number].walk(ctx, s, r, p, room)
		if err != nil {
			return connectors.Page{}, err
		}
		page.Items, page.Warnings = append(page.Items, result.items...), append(page.Warnings, result.warnings...)
		if result.more {
			p.steps, p.offset = p.steps+1, result.offset
		} else {
			startStage(number + 1)
		}
	}
}
