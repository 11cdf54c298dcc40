package syncer_test

import (
	"context"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
)

// script is the source of the tests: the shared fake.
type script struct{ *connectortest.Fake }

type file = connectortest.File

func newScript() *script { return &script{connectortest.NewFake()} }

func (s *script) set(path, version, content string)       { s.Set(path, version, content) }
func (s *script) fill(n int, version string)              { s.Fill(n, version) }
func (s *script) remove(paths ...string)                  { s.Remove(paths...) }
func (s *script) change(path string, change func(*file))  { s.Change(path, change) }
func (s *script) share(path string, principals ...string) { s.Share(path, principals...) }
func (s *script) belongs(group string, members ...string) { s.Belongs(group, members...) }
func (s *script) directoryFails(err error)                { s.DirectoryFails(err) }
func (s *script) opened() int                             { return s.Opened() }
func (s *script) item(path string) connectors.Item        { return s.Item(path) }
func (s *script) hooks(walking, opening func(ctx context.Context, at string) error) {
	s.Hooks(walking, opening)
}

// kinds are the ways in which the fake can be a connector.
func (s *script) kinds() (*connectors.Registry, error) {
	return connectors.NewRegistry(
		s.Kind("sharing", connectortest.Abilities{Lists: true}),
		s.Kind("scripted", connectortest.Abilities{}),
		s.Kind("resolving", connectortest.Abilities{Resolves: true}),
		s.Kind("unbounded", connectortest.Abilities{Unbounded: true}),
		s.Kind("paced", connectortest.Abilities{Pace: connectors.Pace{PerMinute: 600}}),
	)
}
