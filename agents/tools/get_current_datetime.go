package tools

import (
	"context"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the time zones, for systems that have none

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/internal/apierr"
)

type currentDatetimeInput struct {
	Timezone string `json:"timezone" rule:"max=64" about:"An IANA name such as Europe/Berlin; UTC when left out."`
}

func (s *toolset) getCurrentDatetimeTool() loop.Tool {
	return define(GetCurrentDatetime, "Returns the present date and time, the weekday, the ISO week and the Unix time.", 5*time.Second, s.currentDatetime)
}

func (s *toolset) currentDatetime(_ context.Context, in currentDatetimeInput) (loop.Result, error) {
	name := strings.TrimSpace(in.Timezone)
	switch strings.ToUpper(name) {
	case "", "UTC", "Z":
		name = "UTC"
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return loop.Result{}, apierr.Invalid("timezone", "must be a name of the IANA time zone database, such as Europe/Berlin or UTC")
	}
	now := s.Now().In(zone)
	year, week := now.ISOWeek()
	abbreviation, _ := now.Zone()
	return jsonResult(map[string]any{
		"datetime": now.Format(time.RFC3339), "date": now.Format(time.DateOnly), "time": now.Format(time.TimeOnly), "weekday": now.Weekday().String(),
		"week": fmt.Sprintf("%d-W%02d", year, week), "unix": now.Unix(), "timezone": name, "abbreviation": abbreviation, "utc_offset": now.Format("-07:00"),
	}, "%s (%s)", now.Format("Monday, 2 January 2006, 15:04:05"), name)
}
