package syncer_test

import (
	"context"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// A script is the source of the tests.
type script struct{ *connectortest.Fake }

type file = connectortest.File

func newScript() *script { return &script{connectortest.NewFake()} }

func (s *script) set(path, version, content string)       { s.Set(path, version, content) }
func (s *script) fill(n int, version string)              { s.Fill(n, version) }
func (s *script) remove(paths ...string)                  { s.Remove(paths...) }
func (s *script) change(path string, change func(*file))  { s.Change(path, change) }
func (s *script) move(from, to string)                    { s.Move(from, to) }
func (s *script) share(path string, principals ...string) { s.Share(path, principals...) }
func (s *script) belongs(group string, members ...string) { s.SetGroup(group, members...) }
func (s *script) directoryFails(err error)                { s.SetGroupsError(err) }
func (s *script) opened() int                             { return s.TakeOpenCount() }
func (s *script) item(path string) connectors.Item        { return s.Item(path) }
func (s *script) hooks(walking, opening func(ctx context.Context, at string) error) {
	s.SetHooks(walking, opening)
}

// kinds returns the kinds of connectors that the fake can be.
func (s *script) kinds() (*connectors.Registry, error) {
	return connectors.NewRegistry(
		s.Kind("sharing", connectortest.Abilities{ListsPermissions: true}),
		s.Kind("scripted", connectortest.Abilities{}),
		s.Kind("resolving", connectortest.Abilities{Resolves: true}),
		s.Kind("feeding", connectortest.Abilities{Feeds: true, Resolves: true}),
		s.Kind("feeding_only", connectortest.Abilities{Feeds: true}),
		s.Kind("feeding_sharing", connectortest.Abilities{Feeds: true, Resolves: true, ListsPermissions: true}),
		s.Kind("confirming", connectortest.Abilities{Confirms: true, Resolves: true}),
		s.Kind("unbounded", connectortest.Abilities{PartialWalk: true}),
		s.Kind("paced", connectortest.Abilities{RateLimit: connectors.RateLimit{PerMinute: 600}}),
	)
}
