// Package testkit gives tests real servers: a PostgreSQL database of their own, a Redis of their own, an S3 server, a
// MariaDB server.
//
// All test binaries share one PostgreSQL, in .magpie/test of the checkout; the first one starts it (under two seconds, four
// the first time ever). Each test clones its database from a template that the migrations have made once for their content,
// so that tests of any number of packages run in parallel and see nothing of each other. `make test` stops this PostgreSQL
// at its end; after a lone `go test` it ends by itself once it has been idle for a quarter of an hour.
// MAGPIE_TEST_DATABASE_URL, the URL of a superuser, puts another PostgreSQL in its place.
//
// A missing server fails the test, it never skips it.
//
// Allowed imports: internal/devstack, ent/migrate/migrations, pgx and the standard library. Only tests import it.
package testkit
