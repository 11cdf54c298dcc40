// Package testkit provides real servers for tests: a PostgreSQL database, Redis, an S3 server, MariaDB and ClickHouse. It also has
// functions to wait for conditions. Its subpackages imitate external services.
//
// All test binaries share one PostgreSQL, in .magpie/test of the checkout. The first one starts it. Each test has its own
// database, a copy of a template with all migrations, so that tests of all packages can run in parallel. `make test` stops
// the shared PostgreSQL at its end; otherwise it stops after 15 idle minutes. MAGPIE_TEST_DATABASE_URL, the URL of a
// superuser, selects another PostgreSQL.
//
// A test fails when a server is missing. It is never skipped.
//
// Allowed imports: internal/devstack, ent/migrate/migrations, pgx and the standard library. Only tests import it.
package testkit
