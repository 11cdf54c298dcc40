package texttosql

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Set is a folder of CSV files with questions, and of SQL scripts that make the databases
// in PostgreSQL, named DATABASE_pgsql.sql.
type Set struct {
	Questions []Question
	// Scripts are the paths of the scripts by the name of the database.
	Scripts map[string]string
}

// A Question is a line of a CSV file.
type Question struct {
	// File is the name of the file, Line the number of the record, from 1 for the header.
	File string
	Line int
	// Database is the name of the database, Type the connector type of its dialect.
	Database, Type string
	Category       string
	Text           string
	// Instructions say what the words of the question mean, "" for nothing.
	Instructions string
	// Gold are statements whose rows are right, each by itself.
	Gold []string
}

// Answerable reports whether the database has the answer. The gold of other questions reads
// no table.
func (q Question) Answerable() bool { return len(Tables(q.Gold[0])) > 0 }

const (
	scriptEnd = "_pgsql.sql"
	maxFile   = 16 << 20 // bytes
)

// Load reads the set in a folder. An error names the file and the record.
func Load(folder string) (*Set, error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("load a set of questions: %w", err)
	}
	set := &Set{Scripts: map[string]string{}}
	for _, file := range files {
		path := filepath.Join(folder, file.Name())
		if name, ok := strings.CutSuffix(file.Name(), scriptEnd); ok {
			set.Scripts[name] = path
		}
		if filepath.Ext(file.Name()) != ".csv" {
			continue
		}
		questions, err := readFile(path)
		if err != nil {
			return nil, err
		}
		set.Questions = append(set.Questions, questions...)
	}
	if len(set.Questions) == 0 {
		return nil, fmt.Errorf("%s has no CSV file with questions: it needs the columns question, query and db_name", folder)
	}
	return set, nil
}

// notSQL are lines of dumps that only psql understands, or that make the database.
var notSQL = regexp.MustCompile(`(?im)^(\\.*|drop database.*|create database.*)$`)

// ReadScript reads a script that makes the tables of a database, without what psql alone
// understands.
func ReadScript(path string) (string, error) {
	text, err := os.ReadFile(path) //nolint:gosec // a file that the caller gave
	if err != nil {
		return "", fmt.Errorf("read a sample database: %w", err)
	}
	return notSQL.ReplaceAllString(string(text), ""), nil
}

var (
	publicSchema = regexp.MustCompile(`(?im)^(\s*(?:create table|insert into|alter table(?: only)?)\s+(?:if not exists\s+)?)public\.`)
	onlyTable    = regexp.MustCompile(`(?im)^(\s*alter table)\s+only\b`)
	emptyDefault = regexp.MustCompile(`(?im)(default '')::text`)
	settings     = regexp.MustCompile(`(?im)^(set |select pg_catalog\.).*;$`)
)

// Portable returns a script of PostgreSQL without the schema public, casts of empty defaults,
// and the settings of dumps. What else only PostgreSQL understands stays.
func Portable(script string) string {
	script = settings.ReplaceAllString(script, "")
	script = publicSchema.ReplaceAllString(script, "$1")
	script = onlyTable.ReplaceAllString(script, "$1")
	return emptyDefault.ReplaceAllString(script, "$1")
}

// Count returns the number of questions in the dialect of a connector type.
func (s *Set) Count(kind string) int { return s.CountOf(kind, "") }

// CountOf is Count for the questions about one database, or all for "".
func (s *Set) CountOf(kind, database string) int {
	n := 0
	for _, q := range s.Questions {
		if q.Type == kind && (database == "" || strings.EqualFold(q.Database, database)) {
			n++
		}
	}
	return n
}

func readFile(path string) ([]Question, error) {
	file, err := os.Open(path) //nolint:gosec // a file of the folder that the caller gave
	if err != nil {
		return nil, fmt.Errorf("load a set of questions: %w", err)
	}
	defer func() { _ = file.Close() }() // was only read
	questions, err := read(filepath.Base(path), io.LimitReader(file, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return questions, nil
}

func read(name string, from io.Reader) ([]Question, error) {
	in := csv.NewReader(from)
	header, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	column := func(record []string, names ...string) string {
		for _, name := range names {
			if at := slices.Index(header, name); at >= 0 {
				return strings.TrimSpace(record[at])
			}
		}
		return ""
	}
	var questions []Question
	for line := 2; ; line++ {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return questions, nil
		}
		if err != nil {
			return nil, err
		}
		q := Question{
			File: name, Line: line, Database: column(record, "db_name", "database"), Category: column(record, "query_category"),
			Text: column(record, "question"), Instructions: column(record, "instructions"), Gold: alternatives(column(record, "query", "sql_postgres")),
		}
		if q.Type, err = dialect(name, column(record, "db_type")); err != nil {
			return nil, fmt.Errorf("record %d: %w", line, err)
		}
		if q.Database == "" || q.Text == "" || len(q.Gold) == 0 {
			return nil, fmt.Errorf("record %d needs db_name, question and query", line)
		}
		questions = append(questions, q)
	}
}

// dialect returns the connector type of a file's statements, by the value of db_type or else
// by the end of the file's name. The default is PostgreSQL.
func dialect(file, value string) (string, error) {
	known := map[string]string{"postgres": "postgresql", "postgresql": "postgresql", "mysql": "mysql", "tsql": "mssql", "mssql": "mssql", "clickhouse": "clickhouse"}
	if value != "" {
		kind, ok := known[value]
		if !ok {
			return "", fmt.Errorf("db_type %q is none of postgres, mysql, tsql and clickhouse", value)
		}
		return kind, nil
	}
	base := strings.TrimSuffix(file, filepath.Ext(file))
	if kind, ok := known[base[strings.LastIndex(base, "_")+1:]]; ok {
		return kind, nil
	}
	return "postgresql", nil
}
