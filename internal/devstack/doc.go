// Package devstack runs the private PostgreSQL and Redis of one data folder, and a private S3 server for demonstrations and tests.
//
// The servers listen on unix sockets only, in a folder that no other user can enter. They belong to the data folder and
// not to the process that started them: they survive a killed process, and the next Start finds and adopts them. Processes
// that use one data folder hold it together; Stop ends the servers when the last holder stops.
//
// Below the data folder: postgres/ and redis/ (the servers' data), place.json (where data and sockets are), the logs, and
// two lock files. When Magpie runs as root, PostgreSQL and Redis run as an unprivileged user; where that user cannot reach
// the data folder, their data goes to a folder that it can reach, which place.json names.
//
// Allowed imports: the standard library, pgx and go-redis.
package devstack
