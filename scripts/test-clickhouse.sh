#!/usr/bin/env bash
# Runs the tests of attached ClickHouse databases on a current engine, which npm's chdb
# has as a library (550 MB). It stays in Go's build cache.
set -euo pipefail

cd "$(dirname "$0")/.."
version=3.4.0
cache=$(go env GOCACHE)/magpie-chdb-$version

fail() { printf 'test-clickhouse: %s\n' "$*" >&2; exit 1; }

# Installed beside the cache first, so that an installation that ends early is not used.
if [ ! -d "$cache/node_modules/chdb" ]; then
  command -v npm >/dev/null || fail 'npm is missing; install Node.js'
  rm -rf "$cache.new" && mkdir -p "$cache.new"
  (cd "$cache.new" && npm install --no-audit --no-fund --loglevel=error "chdb@$version") ||
    fail 'npm cannot install the engine: its registry cannot be reached, or refuses. Nothing was tested.'
  rm -rf "$cache" && mv "$cache.new" "$cache"
fi
go test -count=1 -v -run TestCurrentClickHouse ./connectors/clickhouse -chdb "$cache"
