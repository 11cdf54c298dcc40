package connectortest

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
)

// LongName returns the name of a customer that is longer than a sample shows.
func LongName() string { return strings.Repeat("ä", 2*connectors.MaxSampledText) }

// RunSampleColumns checks SampleColumns of an attached database. Its schema has a table
// secrets and a table customers, of which the columns name and mood are Ada and good, Eve
// and null, and LongName and null. attach attaches it with further options.
func RunSampleColumns(t *testing.T, schema string, attach func(t *testing.T, options map[string]any) connectors.Database) {
	t.Helper()
	if _, err := attach(t, nil).SampleColumns(t.Context(), schema, "customers", []string{"name"}); !errors.Is(err, connectors.ErrNoSamples) {
		t.Errorf("without the option: %v", err)
	}
	database := attach(t, map[string]any{"sampleRows": true, "excludeTables": []any{"secrets"}})
	rows, err := database.SampleColumns(t.Context(), schema, "customers", []string{"name", "mood"})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows.Values, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) })
	want := [][]any{{"Ada", "good"}, {"Eve", nil}, {string([]rune(LongName())[:connectors.MaxSampledText]), nil}}
	if !reflect.DeepEqual(rows.Values, want) {
		t.Errorf("rows %q, want %q", rows.Values, want)
	}
	for table, column := range map[string]string{"secrets": "word", "customers": "no_such_column"} {
		_, err := database.SampleColumns(t.Context(), schema, table, []string{column})
		wrong, ok := errors.AsType[*connectors.QueryError](err)
		if !ok || wrong.Refused != (table == "secrets") {
			t.Errorf("%s.%s: %v", table, column, err)
		}
	}
}
