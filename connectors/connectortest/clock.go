package connectortest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // daylight saving on machines without time zones
)

// feedSurvivesClocks changes the source while its clock and time zone differ from
// those of Magpie, and compares the changes with walks. It is for feeds that ask for
// changes since a time.
func feedSurvivesClocks(t *testing.T, setup func(t *testing.T) Setup) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatalf("load a time zone: %v", err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		zone  *time.Location
		start time.Time
	}{
		"west":            {time.FixedZone("UTC-11", -11*60*60), now},
		"east":            {time.FixedZone("UTC+14", 14*60*60), now},
		"an hour twice":   {berlin, time.Date(2026, 10, 25, 0, 20, 0, 0, time.UTC)}, // the local time goes back at 01:00
		"an hour missing": {berlin, time.Date(2026, 3, 29, 0, 20, 0, 0, time.UTC)},
		"behind":          {time.UTC, now.Add(-10 * time.Minute)},
		"ahead":           {time.UTC, now.Add(10 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			if !s.Kind.Feeds || s.SetClock == nil {
				return
			}
			followClock(t, s, c.start, c.zone)
		})
	}
}

func followClock(t *testing.T, setup Setup, at time.Time, zone *time.Location) {
	dice := rand.New(rand.NewPCG(11, 14)) //nolint:gosec // a repeatable test
	advance := setup.SetClock(at, zone)
	tick := func() { advance([]time.Duration{0, time.Second, 7 * time.Minute, 40 * time.Minute}[dice.IntN(4)]) }
	for n := range 4 {
		setup.Fixture.Put(t, fmt.Sprintf("start/%d.md", n), []byte("first"))
	}
	source, c := openFeed(t, setup)
	for round := range 8 {
		tick()
		setup.Fixture.Put(t, fmt.Sprintf("start/%d.md", dice.IntN(4)), fmt.Appendf(nil, "round %d", round))
		tick()
		setup.Fixture.Put(t, fmt.Sprintf("new/%d.md", round), []byte("new"))
		if round%3 == 2 {
			setup.Fixture.Delete(t, fmt.Sprintf("new/%d.md", round-1))
		}
		if dice.IntN(2) == 0 {
			tick()
		}
		c.read()
		c.expectWalk(source, fmt.Sprintf("in round %d after %s", round, at.In(zone).Format(time.DateTime)), setup)
	}
}
