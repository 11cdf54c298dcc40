// Package devstack runs a private PostgreSQL and Redis for a data folder, and private S3, MariaDB and ClickHouse
// servers for demonstrations and tests.
//
// PostgreSQL and Redis listen on Unix sockets only, in a folder that no other user can enter. They belong to the data
// folder and not to the process that started them: they survive a killed process, and the next Start adopts them. Several
// processes can hold one data folder; Stop stops the servers when the last holder stops.
//
// The data folder has postgres/ and redis/ (data and logs of the servers), place.json (the paths of data and sockets), and
// two lock files. When Magpie runs as root, PostgreSQL and Redis run as an unprivileged user. When that user cannot reach
// the data folder, their data is in another folder, which place.json names.
//
// Allowed imports: the standard library, pgx and go-redis.
package devstack
