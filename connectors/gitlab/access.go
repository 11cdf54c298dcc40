package gitlab

import (
	"strconv"

	"github.com/magpie-search/magpie/connectors"
)

// The roles of members, as numbers that rise with the rights. GitLab has more, between
// and above them.
const (
	levelGuest    = 10
	levelPlanner  = 15
	levelReporter = 20
)

// The visibility of projects and snippets, and who may use a part of a project: those
// who see the project, or its members only. Other values are taken for the strictest.
const (
	visibilityPublic   = "public"
	visibilityInternal = "internal"
	accessEnabled      = "enabled"
	accessDisabled     = "disabled"
)

const (
	groupPrefix   = "group:"
	internalGroup = groupPrefix + "internal"
)

// An audience is who may read a part of a project.
type audience struct {
	everyone bool // without an account, too
	internal bool // all people of the server who are not external
	level    int  // members with this role and above, 0 for none
	// insiders are members with this role and above who are not external.
	insiders int
}

// audience returns who may read a part of the project, by its stage. It follows
// GitLab's policies of projects.
func (p project) audience(stage int) audience {
	access := p.accessTo(stage)
	switch {
	case access == accessDisabled, p.Label != "": // a label lets another service decide
		return audience{}
	case p.Visibility != visibilityPublic && p.Visibility != visibilityInternal:
		return audience{level: privateLevel(stage)}
	case access == accessEnabled && p.Visibility == visibilityPublic:
		return audience{everyone: true}
	case access == accessEnabled:
		return audience{internal: true, level: privateLevel(stage)}
	case stage == stageMerges:
		return audience{level: levelReporter}
	case stage == stageFiles && p.Visibility == visibilityInternal:
		return audience{level: levelReporter, insiders: levelGuest}
	default:
		return audience{level: levelGuest}
	}
}

// privateLevel returns the role that members of a private project need. Guests see no
// code there.
func privateLevel(stage int) int {
	if stage == stageFiles || stage == stageMerges {
		return levelReporter
	}
	return levelGuest
}

// accessTo returns who may use a part. A merge request shows code, so that it is
// restricted with the repository.
func (p project) accessTo(stage int) string {
	switch stage {
	case stageFiles:
		return p.RepositoryAccess
	case stageIssues:
		return p.IssuesAccess
	case stageMerges:
		if p.RepositoryAccess != accessEnabled && p.MergesAccess == accessEnabled {
			return p.RepositoryAccess
		}
		return p.MergesAccess
	case stageWiki:
		return p.WikiAccess
	default:
		return p.SnippetsAccess
	}
}

// members returns the principal of the members with a role and above.
func (p project) members(level int) string {
	return groupPrefix + p.key() + ":" + strconv.Itoa(level)
}

// insiders is like members, without external people.
func (p project) insiders(level int) string { return p.members(level) + ":" + visibilityInternal }

// participant returns the principal of a person who takes part in an issue or wrote a
// snippet. The group has this person as long as they may read that part of the project.
func (p project) participant(kind string, user int64) string {
	return groupPrefix + p.key() + ":" + kind + ":" + strconv.FormatInt(user, 10)
}

func (p project) readers(a audience) connectors.Readers {
	if a.everyone {
		return connectors.Readers{Everyone: true}
	}
	var r connectors.Readers
	if a.internal {
		r.Principals = append(r.Principals, internalGroup)
	}
	if a.level > 0 {
		r.Principals = append(r.Principals, p.members(a.level))
	}
	if a.insiders > 0 {
		r.Principals = append(r.Principals, p.insiders(a.insiders))
	}
	return r
}

// A threadAccess is what restricts an issue or snippet beyond its project.
type threadAccess struct {
	Confidential bool
	Visibility   string  // of a snippet
	People       []int64 // the author and the assignees
}

// issueReaders returns the readers of an issue. A confidential one is for planners and
// above, and for its author and assignees if they may read the issues of the project.
func (p project) issueReaders(a threadAccess) connectors.Readers {
	all := p.audience(stageIssues)
	if !a.Confidential || all == (audience{}) {
		return p.readers(all)
	}
	return p.withParticipants(p.readers(audience{level: levelPlanner}), kindIssue, a.People)
}

// snippetReaders returns the readers of a snippet, which may be narrower than the
// project.
func (p project) snippetReaders(a threadAccess) connectors.Readers {
	all := p.audience(stageSnippets)
	switch {
	case all == (audience{}) || a.Visibility == visibilityPublic:
		return p.readers(all)
	case a.Visibility == visibilityInternal:
		all = audience{internal: all.internal || all.everyone, level: levelGuest}
	default:
		all = audience{level: levelGuest}
	}
	return p.withParticipants(p.readers(all), kindSnippet, a.People)
}

func (p project) withParticipants(r connectors.Readers, kind string, people []int64) connectors.Readers {
	for _, user := range people {
		if user > 0 {
			r.Principals = append(r.Principals, p.participant(kind, user))
		}
	}
	return r
}
