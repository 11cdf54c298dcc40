#!/usr/bin/env bash
# Runs the official conformance suite of the Model Context Protocol: its client
# scenarios against package agents/mcp, its server scenarios that need no tools of
# their own against /mcp of a Magpie that it starts. The suite and the Node.js that it
# needs come from npm and stay in Go's build cache. Every check must pass.
#
#   scripts/test-mcp.sh            everything
#   scripts/test-mcp.sh --client   the client scenarios alone, which need no database
#   scripts/test-mcp.sh --server   the server scenarios alone
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
suite_version=0.1.16 node_version=22
cache=$(go env GOCACHE)/magpie-mcp-conformance-$suite_version-node$node_version

say()  { printf 'test-mcp: %s\n' "$*"; }
fail() { printf 'test-mcp: %s\n' "$*" >&2; exit 1; }

client=true server=true
case ${1:-} in
  '') ;;
  --client) server=false ;;
  --server) client=false ;;
  *) fail "unknown argument $1; there are --client and --server" ;;
esac

# Installed beside the cache first, so that an installation that ends early is not used.
if [ ! -x "$cache/node_modules/node/bin/node" ]; then
  command -v npm >/dev/null || fail 'npm is missing; install Node.js'
  say "installing the suite $suite_version and Node.js $node_version from npm"
  rm -rf "$cache.new" && mkdir -p "$cache.new"
  (cd "$cache.new" && npm install --no-audit --no-fund --loglevel=error "@modelcontextprotocol/conformance@$suite_version" "node@$node_version") ||
    fail 'npm cannot install the suite: its registry cannot be reached, or refuses. Nothing was tested.'
  [ -x "$cache.new/node_modules/node/bin/node" ] || fail 'npm installed no Node.js for this machine. Nothing was tested.'
  rm -rf "$cache" && mv "$cache.new" "$cache"
fi
work=$(mktemp -d)
proxy=''
cleanup() {
  [ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true
  [ ! -x "$work/magpie" ] || "$work/magpie" --data "$work/data" down --purge >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

# conformance ROLE ARGUMENTS...: runs a part of the suite, shows its end, and fails
# unless all of its checks pass.
conformance() {
  (cd "$work" && "$cache/node_modules/node/bin/node" "$cache/node_modules/@modelcontextprotocol/conformance/dist/index.js" "$@" >log 2>&1) || {
    tail -n 40 "$work/log"
    fail "$* failed"
  }
  grep -aE '^(Total|Passed):' "$work/log" | tail -n 1 | sed "s|^|test-mcp: ${*: -1}: |"
}

say 'building the probe'
(cd "$root" && go build -o "$work/mcpprobe" ./internal/tools/mcpprobe)
if $client; then
  for suite in core auth; do conformance client --command "$work/mcpprobe" --suite "$suite"; done
  for scenario in auth/2025-03-26-oauth-endpoint-fallback auth/resource-mismatch auth/offline-access-scope auth/offline-access-not-supported; do
    conformance client --command "$work/mcpprobe" --scenario "$scenario"
  done
fi
$server || exit 0

say 'starting a Magpie'
(cd "$root" && go build -o "$work/magpie" ./cmd/magpie)
port=$((20000 + RANDOM % 10000))
(cd "$root" && "$work/magpie" --data "$work/data" up --listen "127.0.0.1:$port" >"$work/up" 2>&1) || { cat "$work/up"; fail 'Magpie did not start'; }
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/data/dev.json" | head -n 1; }
MAGPIE_API_KEY=$(field secret_key) "$work/mcpprobe" proxy "http://127.0.0.1:$port" >"$work/address" &
proxy=$!
for _ in $(seq 50); do [ -s "$work/address" ] && break; read -rt 0.1 <> <(:) || true; done
for scenario in server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection server-sse-multiple-streams; do
  conformance server --url "$(cat "$work/address")/mcp" --scenario "$scenario"
done
