package testkit_test

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"testing"

	"github.com/magpie-search/magpie/internal/testkit"

	"github.com/jackc/pgx/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/redis/go-redis/v9"
)

func query(t *testing.T, database, statement string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.Background()) }()
	var text string
	if err := connection.QueryRow(t.Context(), statement).Scan(&text); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return text
}

func execute(t *testing.T, database, statement string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.Background()) }()
	if _, err := connection.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func TestDatabasesAreMigratedAndSeparate(t *testing.T) {
	t.Parallel()
	first, second := testkit.Database(t), testkit.Database(t)
	if got := query(t, first.AppURL, "SELECT current_user || ' ' || (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"); got != "magpie_app false" {
		t.Errorf("the application connects as %s", got)
	}
	if got := query(t, first.AppURL, "SELECT current_database()::text"); got != first.Name {
		t.Errorf("connected to %s, want %s", got, first.Name)
	}
	if got := query(t, first.OwnerURL, "SELECT count(*)::text FROM goose_db_version"); got == "0" {
		t.Error("no migration was applied")
	}
	execute(t, first.OwnerURL, "CREATE TABLE mine ()")
	if got := query(t, second.OwnerURL, "SELECT coalesce(to_regclass('mine')::text, 'absent')"); got != "absent" {
		t.Error("one test sees the table of another")
	}
}

func TestDatabasesAreDroppedWithOpenConnections(t *testing.T) {
	t.Parallel()
	var name string
	var open *pgx.Conn
	t.Run("inner", func(t *testing.T) {
		db := testkit.Database(t)
		name = db.Name
		connection, err := pgx.Connect(t.Context(), db.AppURL)
		if err != nil {
			t.Fatal(err)
		}
		open = connection
	})
	defer func() { _ = open.Close(context.Background()) }()
	other := testkit.EmptyDatabase(t)
	if got := query(t, other.OwnerURL, "SELECT count(*)::text FROM pg_database WHERE datname = '"+name+"'"); got != "0" {
		t.Errorf("the database of a finished test exists")
	}
}

func TestAnEmptyDatabaseHasPgvectorAndNoTables(t *testing.T) {
	t.Parallel()
	db := testkit.EmptyDatabase(t)
	if got := query(t, db.OwnerURL, "SELECT '[1,2,3]'::vector::text"); got != "[1,2,3]" {
		t.Errorf("vectors read %s", got)
	}
	if got := query(t, db.OwnerURL, "SELECT count(*)::text FROM pg_tables WHERE schemaname = 'public'"); got != "0" {
		t.Errorf("%s tables", got)
	}
}

func TestRedisServersAreSeparate(t *testing.T) {
	t.Parallel()
	client := func() *redis.Client {
		options, err := redis.ParseURL(testkit.Redis(t))
		if err != nil {
			t.Fatal(err)
		}
		c := redis.NewClient(options)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	first, second := client(), client()
	if err := first.Set(t.Context(), "key", "value", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if size, err := second.DBSize(t.Context()).Result(); err != nil || size != 0 {
		t.Errorf("the other server holds %d keys (%v)", size, err)
	}
}

func TestS3StoresListsAndDeletesObjects(t *testing.T) {
	t.Parallel()
	server := testkit.S3(t)
	endpoint, err := url.Parse(server.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(server.AccessKey, server.SecretKey, ""), Region: server.Region, BucketLookup: minio.BucketLookupPath,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.MakeBucket(t.Context(), "documents", minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{"guide/start.md": "# Start", "guide/größe 1+1.md": "umlauts, spaces and signs", "empty.txt": "", "z/y/x.md": "deep"}
	tags := map[string]string{}
	for name, content := range contents {
		info, err := client.PutObject(t.Context(), "documents", name, bytes.NewReader([]byte(content)), int64(len(content)),
			minio.PutObjectOptions{ContentType: "text/markdown", UserMetadata: map[string]string{"Author": "somebody"}})
		if err != nil {
			t.Fatal(err)
		}
		tags[name] = info.ETag
	}
	listed := 0
	for object := range client.ListObjects(t.Context(), "documents", minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}
		listed++
		if object.ETag != tags[object.Key] || object.ETag == "" {
			t.Errorf("%s is listed with tag %q, was stored with %q", object.Key, object.ETag, tags[object.Key])
		}
		if object.Size != int64(len(contents[object.Key])) {
			t.Errorf("%s is listed with %d bytes", object.Key, object.Size)
		}
	}
	if listed != len(contents) {
		t.Errorf("%d objects are listed, want %d", listed, len(contents))
	}
	for name, want := range contents {
		object, err := client.GetObject(t.Context(), "documents", name, minio.GetObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(object)
		if err != nil || string(got) != want {
			t.Errorf("%s reads %q (%v)", name, got, err)
		}
		info, err := object.Stat()
		if err != nil || info.ContentType != "text/markdown" || info.UserMetadata["Author"] != "somebody" {
			t.Errorf("%s has attributes %+v (%v)", name, info, err)
		}
		_ = object.Close()
		if err := client.RemoveObject(t.Context(), "documents", name, minio.RemoveObjectOptions{}); err != nil {
			t.Error(err)
		}
	}
	for object := range client.ListObjects(t.Context(), "documents", minio.ListObjectsOptions{Recursive: true}) {
		t.Errorf("%s exists after its deletion (%v)", object.Key, object.Err)
	}
}

func TestAStackCanBeRestarted(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := stack.RestartPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	query(t, stack.DatabaseURL, "SELECT 'answers'")
}

func BenchmarkDatabase(b *testing.B) {
	for b.Loop() {
		testkit.Database(b)
	}
}
