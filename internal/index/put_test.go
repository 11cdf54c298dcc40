package index_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestPutStoresADocumentWithEverythingThatBelongsToIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	r := id.record("a", "first passage", "second passage")
	r.Section, r.Tags, r.Metadata = "guides", []string{"x", "y"}, map[string]any{"stars": 3}
	r.UpdatedAt = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r.Pages, r.Bytes, r.SourceVersion = 4, 99, "etag-1"
	out := f.put(id, r)
	if !out.Added {
		t.Error("a new document does not count as added")
	}
	if kind, _ := gid.KindOf(out.Document); kind != gid.Document {
		t.Errorf("the id %s is not a document's", out.Document)
	}
	if n := f.count(id, `select count(*) from documents where id = $1 and status = 'INDEXED' and title = 'Title of a' and section = 'guides'
			and tags = '["x", "y"]' and metadata = '{"stars": 3}' and source_updated_at = '2026-03-01Z' and source_created_at is null
			and pages = 4 and bytes = 99 and source_version = 'etag-1' and content_hash = 'a' and passage_count = 2 and url is null
			and processed_at = indexed_at and deleted_at is null`, out.Document); n != 1 {
		t.Error("the document's row is not what was put")
	}
	if n := f.count(id, `select count(*) from passages where document_id = $1 and headings = '{Guide,Part}' and anchor = 'part'
			and body = (array['first passage', 'second passage'])[ordinal + 1]
			and (start_byte, end_byte) = (case ordinal when 0 then 0 else 13 end, case ordinal when 0 then 13 else 27 end)`, out.Document); n != 2 {
		t.Errorf("%d passages are what was put", n)
	}
	if n := f.count(id, `select count(*) from passage_index where document_id = $1 and lexemes @@ 'passag:D & titl:A & guid:B & part:B'
			and (title_words, heading_words, path_words, body_words) = (1, 1, 1, 2)`, out.Document); n != 2 {
		t.Errorf("%d rows of the index are what was put", n)
	}
	want := index.Stats{Documents: 1, Embeddings: 2, ChangeNumber: 1, StorageBytes: int64(2*len("first passagesecond passage") + 2*2*dimensions)}
	if got := f.stats(id); got != want {
		t.Errorf("statistics are %+v, want %+v", got, want)
	}
}

func TestPutAgainKeepsTheIdAndReplacesThePassages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	first := f.put(id, id.record("a", "one", "two", "three"))
	second := f.put(id, id.record("a", "four"))
	if second.Document != first.Document || second.Added {
		t.Errorf("the second Put is %+v after %+v", second, first)
	}
	if n := f.count(id, "select count(*) from passages where body = 'four'"); n != 1 {
		t.Error("the new passage is missing")
	}
	if n := f.count(id, "select count(*) from passages") + f.count(id, "select count(*) from passage_index"); n != 2 {
		t.Errorf("%d rows of passages are left", n)
	}
	if got := f.stats(id); got.Documents != 1 || got.Embeddings != 1 || got.ChangeNumber != 2 {
		t.Errorf("statistics are %+v", got)
	}
	empty := id.record("a")
	empty.Text = "nothing to cut"
	f.put(id, empty)
	if got := f.stats(id); got.Documents != 1 || got.Embeddings != 0 {
		t.Errorf("statistics without passages are %+v", got)
	}
}

func TestPutOfADeletedDocumentBringsItBackUnderItsId(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	first := f.put(id, id.record("a", "one"))
	if n, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{first.Document}); err != nil || n != 1 {
		t.Fatalf("SoftDelete = %d, %v", n, err)
	}
	again := f.put(id, id.record("a", "two"))
	if again.Document != first.Document || !again.Added {
		t.Errorf("the document came back as %+v, it was %s", again, first.Document)
	}
	if got := f.stats(id); got.Documents != 1 || got.Embeddings != 1 {
		t.Errorf("statistics are %+v", got)
	}
}

func TestPutCleansWhatPostgresCannotStore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	dirty := "a\x00b\xff\xfec \u2028 \xed\xa0\x80"
	r := id.record("src\x00\xff", dirty)
	r.Title, r.Path, r.URL, r.Section, r.Author, r.SourceVersion, r.Summary = dirty, dirty, dirty, dirty, dirty, dirty, dirty
	r.Tags, r.Metadata = []string{dirty}, map[string]any{dirty: []any{dirty, map[string]any{"k": dirty}}}
	r.Passages[0].Headings, r.Passages[0].Anchor = []string{dirty, "x\x1fy"}, dirty
	out := f.put(id, r)
	text, err := f.store.Content(t.Context(), id.scope, out.Document)
	if err != nil || text != "a b??c \u2028 ???" {
		t.Errorf("Content = %q, %v", text, err)
	}
	if len(text) != len(dirty) {
		t.Error("offsets into the text have moved")
	}
	if n := f.count(id, "select count(*) from passages where headings[2] = 'x y' and array_length(headings, 1) = 2"); n != 1 {
		t.Error("the headings are not kept apart")
	}
	if again := f.put(id, r); again.Document != out.Document {
		t.Error("the same dirty source id made a second document")
	}
}

func TestPutKeepsToTheLimitsOfATsvector(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	var words strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	var long strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&long, "%s%d ", strings.Repeat("long", 12), i)
	}
	for name, text := range map[string]string{
		"many words": words.String(), "one word often": strings.Repeat("again ", 40_000), "long words": long.String(),
		"no spaces": strings.Repeat("x", 300_000), "no words": strings.Repeat("… ", 1000), "pairs": strings.Repeat("数据库", 20_000),
		"quotes": `it's 'quoted' \ back\slash ''`, "hostile": "'); drop table documents; --\x00",
	} {
		r := id.record(name, text)
		r.Title, r.Passages[0].Headings = text, []string{text, text}
		f.put(id, r)
	}
	if n := f.count(id, "select count(*) from passage_index where lexemes @@ 'again' and body_words = 40000"); n != 1 {
		t.Error("a word that stands often is not found")
	}
	if n := f.count(id, "select count(*) from passage_index where lexemes @@ 'w0:D & w12000:D'"); n != 1 {
		t.Error("words of a long passage are not found")
	}
}

func FuzzPutTakesAnyText(f *testing.F) {
	x := newFixture(f)
	id := x.tenant()
	for _, text := range []string{
		"", " ", "a\x00b", "\xff", "it's 'quoted' \\ back\\slash ''", "#collection", "a:1A,2B", "'); drop table documents; --", "\x1f\x1f",
		"ab-cd_ef.gh/ij:kl@mn", "v1.2.3 C++ C#", "数据库ไทย", "ß\u0301\u200d👍🏽", strings.Repeat("{}[]\"", 50),
	} {
		f.Add(text, "en", text)
		f.Add("Title", "", text)
	}
	f.Fuzz(func(t *testing.T, title, language, text string) {
		r := id.record("fuzzed", text, text+" again")
		r.Title, r.Language, r.Section, r.Tags = title, language, title, []string{title, text}
		r.Passages[1].Headings, r.Metadata = []string{title, text}, map[string]any{text: title}
		out, err := x.store.Put(t.Context(), id.scope, index.Fence{}, r)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := x.store.Content(t.Context(), id.scope, out.Document)
		if err != nil || len(stored) != len(r.Text) || utf8.ValidString(r.Text) && stored != strings.ReplaceAll(r.Text, "\x00", " ") {
			t.Errorf("%q came back as %q, %v", r.Text, stored, err)
		}
	})
}

func TestPutStoresVeryLongDocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	texts := make([]string, 2100)
	for i := range texts {
		texts[i] = fmt.Sprintf("passage number %d", i)
	}
	f.put(id, id.record("book", texts...))
	if n := f.count(id, "select count(*) from passages p join passage_index i on i.passage_id = p.id and i.ordinal = p.ordinal where p.body = 'passage number ' || p.ordinal"); n != len(texts) {
		t.Errorf("%d passages", n)
	}
}

func TestPutRefusesUnusableRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for name, change := range map[string]func(*index.Record){
		"no source id":         func(r *index.Record) { r.SourceID = "" },
		"a long source id":     func(r *index.Record) { r.SourceID = strings.Repeat("x", 1025) },
		"a missing vector":     func(r *index.Record) { r.Vectors = r.Vectors[:1] },
		"an empty vector":      func(r *index.Record) { r.Vectors[1] = nil },
		"unequal vectors":      func(r *index.Record) { r.Vectors[1] = []float32{1} },
		"a vector of NaN":      func(r *index.Record) { r.Vectors[1][0] = float32(math.NaN()) },
		"a vector of infinity": func(r *index.Record) { r.Vectors[1][0] = float32(math.Inf(1)) },
		"no model":             func(r *index.Record) { r.Model = "" },
		"unspeakable metadata": func(r *index.Record) { r.Metadata = map[string]any{"x": math.NaN()} },
		"no connector":         func(r *index.Record) { r.Connector = uuid.Nil },
		"a vector of 20,000":   func(r *index.Record) { r.Vectors = [][]float32{make([]float32, 20000), make([]float32, 20000)} },
	} {
		r := id.record("a", "one", "two")
		change(r)
		if _, err := f.store.Put(t.Context(), id.scope, index.Fence{}, r); !errors.Is(err, index.ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.count(id, "select count(*) from documents"); n != 0 {
		t.Errorf("%d documents were stored", n)
	}
}

func TestPutStaysWithinItsScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine)
	if _, err := f.store.Put(t.Context(), viewer.Scope{}, index.Fence{}, mine.record("a", "x")); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("the zero scope: %v", err)
	}
	narrow, err := mine.scope.Narrow(second.collection)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Put(t.Context(), narrow, index.Fence{}, mine.record("a", "x")); !errors.Is(err, viewer.ErrOutOfScope) {
		t.Errorf("a collection out of reach: %v", err)
	}
	notFound := func(name string, r *index.Record) {
		t.Helper()
		if _, err := f.store.Put(t.Context(), mine.scope, index.Fence{}, r); apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	foreign := theirs.record("a", "x")
	notFound("another workspace's collection and connector", foreign)
	mixed := mine.record("a", "x")
	mixed.Connector = theirs.connector
	notFound("another workspace's connector", mixed)
	mixed = mine.record("a", "x")
	mixed.Connector = second.connector
	notFound("another collection's connector", mixed)
	stored := f.put(theirs, theirs.record("secret", "theirs"))
	named := mine.record("secret", "x")
	named.Document = stored.Document
	notFound("another workspace's document", named)
	named = mine.record("a", "x")
	named.Document = uuid.New()
	notFound("a document that does not exist", named)
	if n := f.count(mine, "select count(*) from documents where workspace_id = $1", mine.workspace); n != 0 {
		t.Errorf("%d documents were stored", n)
	}
	if text, err := f.store.Content(t.Context(), theirs.scope, stored.Document); err != nil || text != "theirs" {
		t.Errorf("their document is %q, %v", text, err)
	}
}

func TestConcurrentPutsOfOneItemMakeOneDocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	var group sync.WaitGroup
	outcomes := make([]index.Outcome, 24)
	for i := range outcomes {
		group.Go(func() {
			out, err := f.store.Put(t.Context(), id.scope, index.Fence{}, id.record("same", fmt.Sprint("text ", i), "more"))
			if err != nil {
				t.Error(err)
			}
			outcomes[i] = out
		})
	}
	group.Wait()
	added := 0
	for _, out := range outcomes {
		if out.Document != outcomes[0].Document {
			t.Errorf("two documents: %s and %s", out.Document, outcomes[0].Document)
		}
		if out.Added {
			added++
		}
	}
	if added != 1 {
		t.Errorf("%d Puts say that they added it", added)
	}
	if got := f.stats(id); got.Documents != 1 || got.Embeddings != 2 || got.ChangeNumber != 24 {
		t.Errorf("statistics are %+v", got)
	}
}

func TestConcurrentWritersLeaveTrueCounters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	var group sync.WaitGroup
	for w := range 6 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 3))
			for range 40 {
				name := fmt.Sprint("doc", random.IntN(12))
				texts := []string{"one", "two", "three"}[:1+random.IntN(3)]
				out, err := f.store.Put(t.Context(), id.scope, index.Fence{}, id.record(name, texts...))
				if err != nil {
					t.Error(err)
					return
				}
				switch random.IntN(4) {
				case 0:
					_, err = f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{out.Document})
				case 1:
					_, err = f.store.Restore(t.Context(), id.scope, index.Fence{}, []uuid.UUID{out.Document})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	kept := f.stats(id)
	counted, err := f.store.Recount(t.Context(), id.scope, id.collection)
	if err != nil {
		t.Fatal(err)
	}
	counted.ChangeNumber = kept.ChangeNumber
	if kept != counted {
		t.Errorf("the counters say %+v, the rows %+v", kept, counted)
	}
}

func TestADocumentThatIsTheSameKeepsItsPassages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	ids := func() []string {
		t.Helper()
		rows, err := f.owner.Query(t.Context(), "select id::text from passages order by ordinal")
		if err != nil {
			t.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	f.exec("select set_config('magpie.workspace', $1, false)", id.workspace.String())
	with := func(change func(*index.Record)) *index.Record {
		r := id.record("a", "first", "second")
		r.Metadata, r.Tags = map[string]any{"a": 1}, []string{"x"}
		r.UpdatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
		if change != nil {
			change(r)
		}
		return r
	}
	f.put(id, with(nil))
	before := ids()
	f.put(id, with(nil))
	if after := ids(); len(after) != 2 || !slices.Equal(after, before) {
		t.Errorf("the same document has passages %v, and had %v", after, before)
	}
	if got := f.stats(id); got.Embeddings != 2 || got.ChangeNumber != 2 {
		t.Errorf("statistics are %+v", got)
	}
	for name, change := range map[string]func(*index.Record){
		"title":    func(r *index.Record) { r.Title = "other" },
		"address":  func(r *index.Record) { r.URL = "https://other.example" },
		"version":  func(r *index.Record) { r.Version = "2" },
		"tags":     func(r *index.Record) { r.Tags = []string{"y"} },
		"metadata": func(r *index.Record) { r.Metadata = map[string]any{"a": 2} },
		"time":     func(r *index.Record) { r.UpdatedAt = r.UpdatedAt.Add(time.Hour) },
		"text":     func(r *index.Record) { r.Passages[1].Text = "third" },
		"headings": func(r *index.Record) { r.Passages[1].Headings = []string{"Other"} },
		"anchor":   func(r *index.Record) { r.Passages[1].Anchor = "other" },
		"page":     func(r *index.Record) { r.Passages[1].Page = 7 },
	} {
		f.put(id, with(nil))
		before := ids()
		f.put(id, with(change))
		for _, now := range ids() {
			if slices.Contains(before, now) {
				t.Errorf("another %s: a passage of before is there", name)
			}
		}
	}
}
