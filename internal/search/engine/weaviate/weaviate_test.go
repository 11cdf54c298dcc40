package weaviate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/status"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/enginetest"
	"github.com/magpie-search/magpie/internal/search/engine/weaviate"
	"github.com/magpie-search/magpie/internal/search/rank"
)

func TestBackend(t *testing.T) {
	t.Parallel()
	for name, nodes := range map[string]int{"OneNode": 1, "ThreeNodes": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, nodes)
			f.key = "secret"
			enginetest.Run(t, func(t *testing.T) engine.Backend { return f.open(t) })
		})
	}
}

const class = "M1_c"

// created returns a client of an engine that has a class of one shard, and of vectors with
// two dimensions.
func created(t *testing.T, f *fake) *weaviate.Backend {
	t.Helper()
	b := f.opened(t)
	if err := b.Create(t.Context(), engine.Class{Name: class, Dimensions: 2, Shards: 1, Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b *weaviate.Backend, objects ...engine.Object) {
	t.Helper()
	if err := b.Put(t.Context(), class, objects); err != nil {
		t.Fatal(err)
	}
}

func passage(change int64, terms ...string) engine.Object {
	o := engine.Object{Passage: uuid.New(), Document: uuid.New(), Change: change}
	o.Fields[index.FieldBody] = terms
	return o
}

func words(terms ...string) *engine.Query { return &engine.Query{Terms: terms, Limit: 10} }

// render writes a condition as a text.
func render(m fields) string {
	list := func(sign string) string {
		var parts []string
		for _, p := range m.messages(3) {
			parts = append(parts, render(p))
		}
		return "(" + strings.Join(parts, sign) + ")"
	}
	var property string
	for _, target := range m.messages(20) {
		property = target.text(1)
	}
	values := func() string {
		var out []string
		for _, l := range m.messages(9) {
			out = append(out, l.texts(1)...)
		}
		return "[" + strings.Join(out, " ") + "]"
	}
	switch m.number(1) {
	case 1:
		return fmt.Sprintf("%s=%t", property, m.number(6) == 1)
	case 4:
		return fmt.Sprintf("%s>=%d", property, int64(m.number(5)))
	case 5:
		return fmt.Sprintf("%s<%d", property, int64(m.number(5)))
	case 6:
		return fmt.Sprintf("%s<=%d", property, int64(m.number(5)))
	case 7:
		return list(" & ")
	case 8:
		return list(" | ")
	case 12:
		return property + " any " + values()
	case 14:
		return property + " none " + values()
	}
	return fmt.Sprint("operator ", m.number(1))
}

func TestFiltersAreTranslated(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	id := uuid.MustParse("01a203d3-f3bb-8006-af0b-d40802b08d4d")
	at := time.Unix(1700000000, 123456789)
	values := func(facet rank.Facet, list ...string) *rank.Filter {
		out := &rank.Filter{}
		out.Values[facet] = list
		return out
	}
	const last = "9007199254740991"
	for name, c := range map[string]struct {
		filter *rank.Filter
		want   string // "nothing" for no request
	}{
		"nil":           {nil, ""},
		"zero":          {&rank.Filter{}, ""},
		"section":       {values(rank.FacetSection, "API", "a b"), "section any [API a%20b]"},
		"version":       {values(rank.FacetVersion, "1"), "version any [1]"},
		"language":      {values(rank.FacetLanguage, "de"), "language any [de]"},
		"doctype":       {values(rank.FacetDocType, "pdf"), "doctype any [pdf]"},
		"source":        {values(rank.FacetSource, "s3"), "source any [s3]"},
		"connector":     {values(rank.FacetConnector, "x"), "connector any [x]"},
		"tags":          {values(rank.FacetTag, "x", "", "x", "y"), "tags any [x y]"},
		"empty value":   {values(rank.FacetTag, ""), "nothing"},
		"document":      {&rank.Filter{Documents: []uuid.UUID{id}}, "doc any [01a203d3-f3bb-8006-af0b-d40802b08d4d]"},
		"from":          {&rank.Filter{From: at}, "time>=1700000000123457"},
		"until":         {&rank.Filter{Until: at}, "time<1700000000123457"},
		"whole bounds":  {&rank.Filter{From: at.Truncate(time.Microsecond), Until: at.Truncate(time.Second)}, "(time>=1700000000123456 & time<1700000000000000)"},
		"far bounds":    {&rank.Filter{From: time.Date(2900, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}, "(time>=" + last + " & time>=-" + last + ")"},
		"early bounds":  {&rank.Filter{From: time.Date(5, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(6, 1, 1, 0, 0, 0, 0, time.UTC)}, "(time>=-" + last + " & time<=-" + last + ")"},
		"nobody":        {&rank.Filter{Readers: []string{}}, "(everyone=true & unrestricted=true)"},
		"readers":       {&rank.Filter{Readers: []string{"u:1", ""}}, "((everyone=true | readers any [u:1 %]) & (unrestricted=true | restricted any [u:1 %]))"},
		"phrase":        {&rank.Filter{Phrases: []rank.Phrase{{{"a", "b"}, {}}, {}}}, "(title any [a b] | heading any [a b] | path any [a b] | body any [a b])"},
		"no such word":  {&rank.Filter{Phrases: []rank.Phrase{{{""}}}}, "nothing"},
		"excluded word": {&rank.Filter{Excluded: []rank.Phrase{{{"a", "b"}}}}, "(title none [a b] & heading none [a b] & path none [a b] & body none [a b])"},
		"excluded":      {&rank.Filter{Excluded: []rank.Phrase{{{"a"}, {"b"}}, {}, {{}}, {{""}}}}, ""},
		"several":       {&rank.Filter{Documents: []uuid.UUID{id}, Readers: []string{}}, "(doc any [01a203d3-f3bb-8006-af0b-d40802b08d4d] & everyone=true & unrestricted=true)"},
	} {
		f.last = nil
		if _, err := b.Search(t.Context(), class, &engine.Query{Terms: []string{"x"}, Limit: 3, Filter: c.filter}); err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		if f.last != nil {
			if got = ""; len(f.last[40]) > 0 {
				got = render(f.last.messages(40)[0])
			}
		}
		if got != c.want {
			t.Errorf("%s: the condition is\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func TestQueriesAreTranslated(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	search := func(q *engine.Query) fields {
		t.Helper()
		f.last = nil
		if _, err := b.Search(t.Context(), class, q); err != nil {
			t.Fatal(err)
		}
		return f.last
	}
	m := search(&engine.Query{Terms: []string{"a b", "c", "", "c"}, Limit: 7})
	bm25 := m.messages(42)[0]
	if text, properties := bm25.text(1), bm25.texts(2); text != "a%20b c" || !slices.Equal(properties, []string{"title^3", "heading^2", "path^1", "body"}) {
		t.Errorf("the words are %q in %q", text, properties)
	}
	if m.text(1) != class || m.number(11) != 1 || m.number(30) != 7 || m.number(102) != 1 || len(m[43]) > 0 || !slices.Equal(m.messages(20)[0].texts(1), []string{"doc"}) {
		t.Errorf("the request is %v", m)
	}
	m = search(&engine.Query{Vector: []float32{0.6, -0.8}, Limit: 1 << 40})
	if got := floats(m.messages(43)[0].text(4)); !slices.Equal(got, []float32{0.6, -0.8}) || m.number(30) != maxResults || len(m[42]) > 0 {
		t.Errorf("the vector is %v, the limit %d", got, m.number(30))
	}
}

func TestObjectsAreTranslated(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	o := passage(42, "a b", "c", "", "c", "\xff")
	o.Fields[index.FieldTitle] = []string{"Title"}
	o.Vector, o.Time = []float32{0.6, 0.8}, time.Unix(1, 1999)
	o.Readers, o.Restriction = []string{"anna", "b c", ""}, []string{}
	o.Values[rank.FacetSource], o.Values[rank.FacetTag] = []string{"web site"}, []string{"x", "", "x"}
	plain := passage(0)
	put(t, b, o, plain)
	got, want := f.nodes[0].objects[class][o.Passage], &stored{
		shard: "s0", vector: o.Vector,
		numbers: map[string]float64{"change": 42, "time": 1000001},
		bools:   map[string]bool{"everyone": false, "unrestricted": false},
		texts: map[string][]string{"doc": {o.Document.String()}, "title": {"Title"}, "body": {"a%20b c c %ff"},
			"readers": {"anna", "b%20c", "%"}, "source": {"web%20site"}, "tags": {"x"}},
	}
	got.tokens = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the object is\n%+v\nwant\n%+v", got, want)
	}
	got = f.nodes[0].objects[class][plain.Passage]
	want = &stored{shard: "s0", numbers: map[string]float64{"change": 0}, bools: map[string]bool{"everyone": true, "unrestricted": true}, texts: map[string][]string{"doc": {plain.Document.String()}}}
	got.tokens = nil
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the plain object is\n%+v\nwant\n%+v", got, want)
	}
	for name, bad := range map[string]func(*engine.Object){
		"no passage": func(o *engine.Object) { o.Passage = uuid.Nil }, "no document": func(o *engine.Object) { o.Document = uuid.Nil },
		"change": func(o *engine.Object) { o.Change = math.MaxInt64 }, "two sources": func(o *engine.Object) { o.Values[rank.FacetSource] = []string{"a", "b"} },
	} {
		o := passage(1)
		bad(&o)
		if err := b.Put(t.Context(), class, []engine.Object{o}); err == nil || errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestClassesAreTranslated(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := f.opened(t)
	if err := b.Create(t.Context(), engine.Class{Name: class, Dimensions: 2, Replicas: 2}); err != nil {
		t.Fatal(err)
	}
	got := f.classes[class]
	at := func(path ...string) string {
		var v any = got
		for _, name := range path {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		return fmt.Sprint(v)
	}
	for want, path := range map[string][]string{
		"none": {"vectorizer"}, "dot": {"vectorIndexConfig", "distance"}, "1.8": {"invertedIndexConfig", "bm25", "k1"}, "0.75": {"invertedIndexConfig", "bm25", "b"},
		"map[preset:none]": {"invertedIndexConfig", "stopwords"}, "2": {"replicationConfig", "factor"}, "true": {"replicationConfig", "asyncEnabled"}, "map[enabled:true]": {"multiTenancyConfig"}, "Magpie, 2 dimensions, 6 shards": {"description"},
	} {
		if at(path...) != want {
			t.Errorf("%v is %s, want %s", path, at(path...), want)
		}
	}
	for name, want := range map[string]string{"title": "text whitespace", "body": "text whitespace", "section": "text field", "tags": "text[] field", "readers": "text[] field", "doc": "uuid", "change": "int", "everyone": "boolean"} {
		p := f.property(class, name)
		if got := strings.TrimSuffix(fmt.Sprint(p["dataType"].([]any)[0], " ", p["tokenization"]), " <nil>"); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	open := func(urls ...string) error {
		b, err := weaviate.Open(t.Context(), urls, weaviate.Options{})
		if err == nil {
			err = b.Close()
		}
		return err
	}
	for _, good := range []string{"http://127.0.0.1:1?grpc=2", "weaviate://127.0.0.1?grpc=2", "https://127.0.0.1:1", "http://[::1]:1/?grpc=2", " http://127.0.0.1:1 "} {
		if err := open(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range [][]string{
		{}, {""}, {"127.0.0.1:8080"}, {"/path"}, {"ftp://127.0.0.1"}, {"http://"}, {"http://127.0.0.1/v1"}, {"http://127.0.0.1?grpc=0"}, {"http://127.0.0.1?grpc=65536"},
		{"http://127.0.0.1?grpc=x"}, {"http://127.0.0.1?grpc=1&grpc=2"}, {"http://127.0.0.1?port=1"}, {"http://127.0.0.1#x"}, {"http://a\x00b"},
		{"http://127.0.0.1:1?grpc=3", "http://127.0.0.1:1?grpc=4"}, {"http://127.0.0.1:1", "http://127.0.0.1:2"}, {"http://x:hunter2@127.0.0.1"},
	} {
		if err := open(bad...); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error is %v", bad, err)
		}
	}
}

func TestVersionsThatAreNotKnownAreRefused(t *testing.T) {
	t.Parallel()
	for version, ok := range map[string]bool{"1.39.0": true, "1.40.1-rc.0": true, "1.38.9": false, "2.0.0": false, "": false, "x": false} {
		f := newFake(t, 1)
		f.version = version
		b, err := weaviate.Open(t.Context(), f.addresses(), weaviate.Options{})
		if err == nil {
			err = b.Close()
		}
		if (err == nil) != ok {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestASearchAsksOtherNodes(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	o := passage(1, "word")
	put(t, b, o)
	broken := map[int]bool{}
	f.refuse = func(_ context.Context, node int, _ string) error {
		if broken[node] {
			return errors.New("remote shard object search: connection refused")
		}
		return nil
	}
	search := func() error {
		found, err := b.Search(t.Context(), class, words("word"))
		if err == nil && !slices.Equal(found, []engine.Found{{Passage: o.Passage, Document: o.Document}}) {
			t.Errorf("found %v", found)
		}
		return err
	}
	broken[1] = true
	for range 6 {
		if err := search(); err != nil {
			t.Error(err)
		}
	}
	for node := range 3 {
		if f.count(fmt.Sprint(node, " /weaviate.v1.Weaviate/Search")) < 2 {
			t.Errorf("node %d was asked less than twice", node)
		}
	}
	broken[0], broken[2] = true, true
	before := f.count("Search")
	if err := search(); !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNoClass) {
		t.Errorf("with all nodes broken the error is %v", err)
	}
	if n := f.count("Search") - before; n != 3 {
		t.Errorf("%d nodes were asked, want 3", n)
	}
}

func TestANodeThatHangsTakesHalfOfTheTime(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	b := created(t, f)
	put(t, b, passage(1, "word"))
	f.refuse = func(ctx context.Context, node int, _ string) error {
		if node == 0 {
			<-ctx.Done()
			return status.FromContextError(ctx.Err()).Err()
		}
		return nil
	}
	for range 4 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if found, err := b.Search(ctx, class, words("word")); err != nil || len(found) != 1 {
			t.Errorf("found %v (%v)", found, err)
		}
		cancel()
	}
	if n := f.count("0 /weaviate.v1.Weaviate/Search"); n > 2 {
		t.Errorf("the node that hangs was asked %d times within a moment", n)
	}
	f.refuse = func(ctx context.Context, _ int, _ string) error {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Search(ctx, class, words("word")); !errors.Is(err, engine.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("when all hang the error is %v", err)
	}
}

func TestAStoppedNodeIsNotMissedExceptByMissing(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	o := passage(1, "word")
	put(t, b, o)
	f.nodes[1].stop()
	for range 4 {
		put(t, b, o)
		if found, err := b.Search(t.Context(), class, words("word")); err != nil || len(found) != 1 {
			t.Errorf("found %v (%v)", found, err)
		}
		if _, err := b.Classes(t.Context(), "M"); err != nil {
			t.Error(err)
		}
		if _, err := b.Missing(t.Context(), class, []uuid.UUID{o.Passage}, 1); !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("Missing with a stopped node: %v", err)
		}
	}
	f.nodes[0].stop()
	f.nodes[2].stop()
	_, search := b.Search(t.Context(), class, words("word"))
	_, nodes := b.Nodes(t.Context())
	for name, err := range map[string]error{"Search": search, "Nodes": nodes, "Put": b.Put(t.Context(), class, []engine.Object{o}), "Create": b.Create(t.Context(), engine.Class{Name: "X", Replicas: 1}), "Drop": b.Drop(t.Context(), class)} {
		if !errors.Is(err, engine.ErrUnavailable) {
			t.Errorf("%s without nodes: %v", name, err)
		}
	}
}

func TestAReplicaThatIsBehindIsReported(t *testing.T) {
	t.Parallel()
	f := newFake(t, 3)
	b := created(t, f)
	kept, changed, late := passage(1, "word"), passage(1, "word"), passage(2, "word")
	put(t, b, kept, changed)
	f.nodes[2].behind = true
	changed.Change = 2
	put(t, b, changed, late)
	all := []uuid.UUID{kept.Passage, changed.Passage, late.Passage}
	missing := func(change int64) []uuid.UUID {
		t.Helper()
		out, err := b.Missing(t.Context(), class, all, change)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := missing(1); !slices.Equal(got, all[2:]) {
		t.Errorf("missing are %v", got)
	}
	if got := missing(2); !slices.Equal(got, all) {
		t.Errorf("missing at the later change are %v", got)
	}
	f.nodes[2].behind = false
	put(t, b, changed, late)
	if got := missing(1); len(got) > 0 {
		t.Errorf("after a second Put missing are %v", got)
	}
	f.extra = []string{"node4"}
	if _, err := b.Missing(t.Context(), class, all, 1); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "node4") {
		t.Errorf("with a node that is not listed: %v", err)
	}
}

func TestWhatTheEngineSaysOfAnObjectIsAnError(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	good, bad := passage(1, "word"), passage(1, "word")
	text := "broadcast: cannot reach enough replicas"
	f.complain = func(id string) string {
		if id == bad.Passage.String() {
			return text
		}
		return ""
	}
	if err := b.Put(t.Context(), class, []engine.Object{good, bad}); !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), bad.Passage.String()) {
		t.Errorf("the error is %v", err)
	}
	text = "invalid text property"
	var refused *engine.RefusedError
	if err := b.Put(t.Context(), class, []engine.Object{bad, good}); !errors.As(err, &refused) || errors.Is(err, engine.ErrUnavailable) ||
		len(refused.Reasons) != 1 || refused.Reasons[bad.Passage] != text {
		t.Errorf("the error is %v", err)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	many := make([]engine.Object, 1200)
	for i := range many {
		many[i] = passage(1, "word")
	}
	put(t, b, many...)
	if n := f.count("BatchObjects"); n != 12 {
		t.Errorf("1200 objects were put in %d batches, want 12", n)
	}
	large := []string{strings.Repeat("x", 1<<18)}
	put(t, b, passage(1, large...), passage(1, large...), passage(1, large...), passage(1, large...), passage(1, large...))
	if n := f.count("BatchObjects") - 12; n != 2 {
		t.Errorf("5 times 256 KiB were put in %d batches, want 2", n)
	}
}

func TestMoreObjectsThanASearchFindsAreDeleted(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	many, document := make([]engine.Object, maxResults+10), uuid.New()
	for i := range many {
		many[i] = passage(1, "word")
		many[i].Document = document
	}
	put(t, b, many...)
	if err := b.Delete(t.Context(), class, []uuid.UUID{document}, 2); err != nil {
		t.Fatal(err)
	}
	if n := len(f.nodes[0].objects[class]); n > 0 {
		t.Errorf("%d objects are left", n)
	}
}

func TestTheKeyIsSentAndARefusalIsNoFailureOfTheEngine(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	f.key = "right"
	created(t, f)
	b, err := weaviate.Open(t.Context(), f.addresses(), weaviate.Options{APIKey: "wrong"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	if _, err := b.Nodes(t.Context()); err == nil || errors.Is(err, engine.ErrUnavailable) || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong key the error is %v", err)
	}
}

func TestAClassThatIsGoneIsNotFoundAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t, 2)
	b, other := created(t, f), f.opened(t)
	put(t, b, passage(1, "word"))
	if err := other.Drop(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Search(t.Context(), class, words("word")); !errors.Is(err, engine.ErrNoClass) {
		t.Errorf("Search: %v", err)
	}
	if err := b.Put(t.Context(), class, []engine.Object{passage(1)}); !errors.Is(err, engine.ErrNoClass) {
		t.Errorf("Put: %v", err)
	}
	f.classes["Foreign"] = map[string]any{"class": "Foreign", "description": "of somebody else"}
	if err := b.Put(t.Context(), "Foreign", []engine.Object{passage(1)}); err == nil || errors.Is(err, engine.ErrNoClass) {
		t.Errorf("Put into a class of somebody else: %v", err)
	}
}

func TestAnswersThatAreCutOffAreErrors(t *testing.T) {
	t.Parallel()
	f := newFake(t, 1)
	b := created(t, f)
	o := passage(1, "word")
	put(t, b, o)
	for name, garble := range map[string]func([]byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)-1] }, "noise": func([]byte) []byte { return []byte{0xff, 0xff, 0xff} },
		"no id": func([]byte) []byte { return appendMessage(nil, 2, nil) }, "a short id": func([]byte) []byte { return appendMessage(nil, 2, appendMessage(nil, 2, appendText(nil, 20, "x"))) },
	} {
		f.garble = garble
		if found, err := b.Search(t.Context(), class, words("word")); err == nil {
			t.Errorf("%s: found %v", name, found)
		}
		if missing, err := b.Missing(t.Context(), class, []uuid.UUID{o.Passage}, 1); err == nil {
			t.Errorf("%s: missing %v", name, missing)
		}
	}
	f.garble = func([]byte) []byte { return nil }
	if missing, err := b.Missing(t.Context(), class, []uuid.UUID{o.Passage}, 1); err != nil || len(missing) != 1 {
		t.Errorf("an empty answer: missing %v (%v)", missing, err)
	}
}
