package fingerprint

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// Same is the mean cosine from which vectors count as those of the same model. Another number format of the same weights
// is well above it, another model far below.
const Same = 0.95

// sentences returns the fixed sentences. They must never change.
func sentences() []string {
	return []string{
		"The signing key is rotated once a year, by hand.",
		"How do I restore a backup of the database?",
		"Der Vertrag endet am letzten Tag des Monats.",
		"数据库的备份保存在另一个城市。",
		"Penguins raise their young on the ice.",
		"for i := range rows { total += rows[i].Price }",
		"El pedido llegó tarde y la caja estaba abierta.",
		"invoice 4711",
	}
}

// Options has useful zero values. Defaults are in the comments.
type Options struct {
	Every time.Duration // between two comparisons: 24 hours
	Again time.Duration // after a comparison that failed: 10 minutes
	// Wait waits; provider.Sleep when nil. For tests.
	Wait func(context.Context, time.Duration) error
	Log  *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Every <= 0 {
		o.Every = 24 * time.Hour
	}
	if o.Again <= 0 {
		o.Again = 10 * time.Minute
	}
	if o.Wait == nil {
		o.Wait = provider.Sleep
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Fingerprints keeps and compares the fingerprints of the models of services. It is safe for concurrent use.
type Fingerprints struct {
	pool   *pgxpool.Pool
	models *embed.Registry
	opt    Options
}

// New returns the Fingerprints of an installation.
func New(pool *pgxpool.Pool, models *embed.Registry, o Options) *Fingerprints {
	return &Fingerprints{pool: pool, models: models, opt: o.withDefaults()}
}

// Watch compares the models that collections use until ctx ends. A service that is away is asked again later.
func (f *Fingerprints) Watch(ctx context.Context) {
	for {
		wait := f.opt.Every
		if err := f.compareUsed(ctx); err != nil {
			if ctx.Err() != nil {
				return
			}
			f.opt.Log.WarnContext(ctx, "embedding models not compared with their fingerprints, will retry", slog.Any("error", err))
			wait = f.opt.Again
		}
		if f.opt.Wait(ctx, wait) != nil {
			return
		}
	}
}

// compareUsed compares all models that collections have or change to.
func (f *Fingerprints) compareUsed(ctx context.Context) error {
	rows, err := f.pool.Query(ctx, `select embedding_model from collections union select next_model from collections where next_model is not null`)
	if err != nil {
		return fmt.Errorf("list the models of collections: %w", err)
	}
	used, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list the models of collections: %w", err)
	}
	var failures []error
	for _, name := range used {
		if model, ok := f.models.Lookup(name); ok {
			failures = append(failures, f.Compare(ctx, model))
		}
	}
	return errors.Join(failures...)
}

// Compare embeds the sentences and compares the vectors with those that are kept, or keeps them if there are none. A model
// that gives other vectors is no error: it is noted, and logged when that is new. Errors are those of the model and of the
// database. The builtin model, which cannot change, is not compared.
func (f *Fingerprints) Compare(ctx context.Context, model embed.Embedder) error {
	if model.Model() == embed.BuiltinModel {
		return nil
	}
	kept, found, err := f.kept(ctx, model.Model())
	if err != nil {
		return err
	}
	vectors, err := model.Embed(ctx, sentences(), embed.Passage)
	var failure *provider.Error
	switch {
	// An invalid response with advice is one of another length; missing credentials have advice, too.
	case found && errors.As(err, &failure) && failure.Kind == provider.KindInvalid && failure.Advice != "":
		return errors.Join(f.note(ctx, model.Model(), failure.Advice), err)
	case err != nil:
		return fmt.Errorf("embed the sentences of the fingerprint: %w", err)
	case !found:
		return f.keep(ctx, model, vectors)
	}
	return f.note(ctx, model.Model(), difference(kept, vectors))
}

// difference returns a sentence about two lists of vectors, or "" if they are of the same model.
func difference(kept, now [][]float32) string {
	if len(kept[0]) != len(now[0]) {
		return fmt.Sprintf("Its vectors have %d dimensions instead of %d.", len(now[0]), len(kept[0]))
	}
	sum := 0.0
	for i := range kept {
		for at := range kept[i] {
			sum += float64(kept[i][at]) * float64(now[i][at])
		}
	}
	if mean := sum / float64(len(kept)); mean < Same {
		return fmt.Sprintf("The similarity of the same sentences is %.2f.", mean)
	}
	return ""
}

// kept returns the vectors that are kept of a model.
func (f *Fingerprints) kept(ctx context.Context, model string) (vectors [][]float32, found bool, err error) {
	var dimensions int
	var packed []byte
	err = f.pool.QueryRow(ctx, "select dimensions, vectors from embedding_fingerprints where model = $1", model).Scan(&dimensions, &packed)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read the fingerprint of a model: %w", err)
	case len(packed) != 4*dimensions*len(sentences()):
		return nil, false, errors.New("read the fingerprint of a model: it is damaged; accept the model to keep a new one")
	}
	for len(packed) > 0 {
		vector := make([]float32, dimensions)
		for i := range vector {
			vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
		}
		vectors, packed = append(vectors, vector), packed[4*dimensions:]
	}
	return vectors, true, nil
}

// keep keeps the vectors of a model, unless another process was first.
func (f *Fingerprints) keep(ctx context.Context, model embed.Embedder, vectors [][]float32) error {
	var packed []byte
	for _, vector := range vectors {
		for _, value := range vector {
			packed = binary.LittleEndian.AppendUint32(packed, math.Float32bits(value))
		}
	}
	_, err := f.pool.Exec(ctx, "insert into embedding_fingerprints (model, dimensions, vectors) values ($1, $2, $3) on conflict do nothing",
		model.Model(), model.Dimensions(), packed)
	if err != nil {
		return fmt.Errorf("keep the fingerprint of a model: %w", err)
	}
	return nil
}

// note notes how a model differs, or that it does not if reason is "".
func (f *Fingerprints) note(ctx context.Context, model, reason string) error {
	if reason == "" {
		tag, err := f.pool.Exec(ctx, "update embedding_fingerprints set changed_at = null, reason = null where model = $1 and changed_at is not null", model)
		if err != nil {
			return fmt.Errorf("note the fingerprint of a model: %w", err)
		}
		if tag.RowsAffected() > 0 {
			f.opt.Log.InfoContext(ctx, "embedding model gives its former vectors again", slog.String("model", model))
		}
		return nil
	}
	_, err := f.pool.Exec(ctx, "update embedding_fingerprints set changed_at = coalesce(changed_at, now()), reason = $2 where model = $1", model, reason)
	if err != nil {
		return fmt.Errorf("note the fingerprint of a model: %w", err)
	}
	f.opt.Log.WarnContext(ctx, "embedding model gives other vectors than before, collections should change to a new name of it",
		slog.String("model", model), slog.String("reason", reason))
	return nil
}

// Accept forgets the vectors that are kept of a model, and keeps new ones if the service gives some. It reports whether
// there were any.
func (f *Fingerprints) Accept(ctx context.Context, name string) (found bool, err error) {
	tag, err := f.pool.Exec(ctx, "delete from embedding_fingerprints where model = $1", name)
	if err != nil {
		return false, fmt.Errorf("forget the fingerprint of a model: %w", err)
	}
	if model, ok := f.models.Lookup(name); ok {
		err = f.Compare(ctx, model)
	}
	return tag.RowsAffected() > 0, err
}

// Probe finds out whether a model works, and compares its vectors. A difference is no error.
func (f *Fingerprints) Probe(ctx context.Context, model embed.Embedder) error {
	if err := embed.Probe(ctx, model); err != nil {
		return err
	}
	if err := f.Compare(ctx, model); err != nil {
		f.opt.Log.WarnContext(ctx, "embedding model not compared with its fingerprint", slog.String("model", model.Model()), slog.Any("error", err))
	}
	return nil
}
