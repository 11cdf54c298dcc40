package github

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
)

// maxSteps is how many steps a page is made of at most.
const maxSteps = 20

// place is where a walk is: the repository, what of it, and how far.
type place struct {
	repo  int64
	stage string
	n     int    // steps made in the stage
	rest  string // the stage's own
}

var placePattern = regexp.MustCompile(`(?s)^(\d{1,18})\.([a-z]+)\.(\d{1,9})\.(.*)$`)

func parsePlace(cursor string) (place, error) {
	match := placePattern.FindStringSubmatch(cursor)
	wrong := connectors.Fatal(errors.New("this is no cursor of a walk through GitHub"))
	if match == nil || !utf8.ValidString(cursor) || len(cursor) > connectors.MaxCursorBytes {
		return place{}, wrong
	}
	p := place{stage: match[2], rest: match[4]}
	p.repo, _ = strconv.ParseInt(match[1], 10, 64)
	p.n, _ = strconv.Atoi(match[3])
	if stageAt(p.stage) < 0 {
		return place{}, wrong
	}
	return p, nil
}

func (p place) String() string { return fmt.Sprintf("%d.%s.%d.%s", p.repo, p.stage, p.n, p.rest) }

// step is what one step through a stage brought.
type step struct {
	items    []connectors.Item
	warnings []string
	more     bool
	rest     string
}

// stage is one sort of content of a repository.
type stage struct {
	name string
	has  func(c config, r repo) bool
	// walk makes a step of at most room items; least is how many it may bring whatever
	// the room is.
	walk  func(ctx context.Context, s *source, r repo, p place, room int) (step, error)
	least int
	// check makes the first request of the stage.
	check func(ctx context.Context, s *source, r repo) error
}

func stages() []stage { return []stage{fileStage(), threadStage(), discussionStage(), wikiStage()} }

func stageAt(name string) int {
	return slices.IndexFunc(stages(), func(s stage) bool { return s.name == name })
}

// Walk implements [connectors.Source]: repository by repository in the order of
// their ids, files first.
func (s *source) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	if err := s.ready(ctx); err != nil {
		return connectors.Page{}, err
	}
	var at place
	if cursor != "" {
		var err error
		if at, err = parsePlace(cursor); err != nil {
			return connectors.Page{}, err
		}
	}
	repos, warnings, err := s.walkList(ctx, cursor == "")
	if err != nil {
		return connectors.Page{}, err
	}
	page := connectors.Page{Warnings: warnings}
	all := stages()
	next, _ := slices.BinarySearchFunc(repos, at.repo, func(r repo, id int64) int { return int(min(max(r.ID-id, -1), 1)) })
	begin := func(stage int) {
		if stage == len(all) {
			next, stage = next+1, 0
		}
		at = place{stage: all[stage].name}
		if next < len(repos) {
			at.repo = repos[next].ID
		}
	}
	if next < len(repos) && repos[next].ID != at.repo {
		begin(0) // the one it was at is gone
	}
	for steps := 0; ; {
		if next == len(repos) {
			page.Done = true
			return page, nil
		}
		r, number := repos[next], stageAt(at.stage)
		if !all[number].has(s.config, r) {
			begin(number + 1)
			continue
		}
		room := connectors.MaxPageItems - len(page.Items)
		if room < all[number].least || steps == maxSteps {
			page.Next = at.String()
			return page, nil
		}
		steps++
		done, err := all[number].walk(ctx, s, r, at, room)
		if err != nil {
			return connectors.Page{}, err
		}
		page.Items, page.Warnings = append(page.Items, done.items...), append(page.Warnings, done.warnings...)
		if done.more {
			at.n, at.rest = at.n+1, done.rest
		} else {
			begin(number + 1)
		}
	}
}
