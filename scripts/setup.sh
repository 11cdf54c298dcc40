#!/usr/bin/env bash
# Installs what Magpie needs and is missing: Go's C compiler, PostgreSQL 15 or
# newer with pgvector 0.8 or newer, Redis. Prints each step; with everything in
# place it changes nothing and ends at once. It never starts a system service.
#
#   scripts/setup.sh          install what is missing
#   scripts/setup.sh --check  only say what is missing; exit 1 if anything is
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/pgvector.sh"

check_only=false
[ "${1:-}" = --check ] && check_only=true

say()  { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# version_at_least 1.26.8 1.26
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

go_version() { go env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//'; }

check_go() {
  local want; want=$(sed -n 's/^go //p' "$here/../go.mod")
  have go || fail "Go $want or newer is needed and was not found. Install it from the Go project's site and put its bin folder in PATH."
  version_at_least "$(go_version)" "${want%.0}" ||
    fail "Go $want or newer is needed; this is Go $(go_version). Install a newer one from the Go project's site."
}

# The bin folders where a PostgreSQL server may be, newest first.
postgres_bins() {
  { have postgres && dirname "$(readlink -f "$(command -v postgres)")"
    ls -d /usr/lib/postgresql/*/bin 2>/dev/null
    ls -d /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin 2>/dev/null
  } | sort -u -V -r
}

# The newest server program of version 15 or later, as its bin folder.
postgres_bin() {
  local bin major
  while read -r bin; do
    [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ] || continue
    major=$("$bin/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    if [ "${major:-0}" -ge 15 ]; then echo "$bin"; return 0; fi
  done < <(postgres_bins)
  return 1
}

# The version of pgvector beside a PostgreSQL's bin folder.
pgvector_version() {
  local share
  # Debian keeps pg_config apart from the server, in its development package.
  share=$("$1/pg_config" --sharedir 2>/dev/null) || share=$(printf '%s' "${1%/bin}" | sed 's|/lib/|/share/|')
  sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$share/extension/vector.control" 2>/dev/null
}

pgvector_ready() {
  local bin version
  bin=$(postgres_bin) || return 1
  version=$(pgvector_version "$bin")
  [ -n "$version" ] && version_at_least "$version" 0.8
}

missing() {
  have gcc || have cc || echo compiler
  have make || echo make
  postgres_bin >/dev/null || echo postgresql
  have redis-server || echo redis
  pgvector_ready || echo pgvector
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif have sudo; then sudo "$@"
  else fail "installing packages needs root or sudo, and this user has neither. Ask an administrator to run: scripts/setup.sh"
  fi
}

apt_updated=false
apt_install() {
  if ! $apt_updated; then
    say "reading the package lists"
    as_root apt-get update -qq || fail "the package lists could not be read; check the network and the package sources."
    apt_updated=true
  fi
  say "installing $*"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
    fail "apt-get could not install: $*"
}

# Packages of servers like to make a cluster and to start services: ours are
# private, so both are held off while packages are installed.
quiet_services() {
  quiet_policy=false quiet_cluster=false
  trap loud_services EXIT
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
    as_root chmod 755 /usr/sbin/policy-rc.d
    quiet_policy=true
  fi
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    as_root mkdir -p /etc/postgresql-common/createcluster.d
    echo 'create_main_cluster = false' | as_root tee /etc/postgresql-common/createcluster.d/magpie-setup.conf >/dev/null
    quiet_cluster=true
  fi
}

loud_services() {
  if ${quiet_policy:-false}; then as_root rm -f /usr/sbin/policy-rc.d; fi
  if ${quiet_cluster:-false}; then as_root rm -f /etc/postgresql-common/createcluster.d/magpie-setup.conf; fi
  quiet_policy=false quiet_cluster=false
}

setup_debian() {
  local need="$1" packages=()
  quiet_services
  case $need in *compiler*) packages+=(gcc libc6-dev) ;; esac
  case $need in *make*) packages+=(make) ;; esac
  case $need in *postgresql*) packages+=(postgresql) ;; esac
  case $need in *redis*) packages+=(redis-server) ;; esac
  [ ${#packages[@]} = 0 ] || apt_install "${packages[@]}"
  if ! pgvector_ready; then
    local bin major
    bin=$(postgres_bin) || fail "this system's PostgreSQL is older than 15. Install a newer one, or give DATABASE_URL and REDIS_URL."
    major=$("$bin/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    install_pgvector "$bin" "$major"
  fi
  loud_services
  trap - EXIT
}

setup_homebrew() {
  have brew || fail "Homebrew was not found. Install it, or install PostgreSQL 15+, pgvector 0.8+ and Redis yourself."
  case $1 in *compiler*|*make*) fail "the command line developer tools are missing; run: xcode-select --install" ;; esac
  case $1 in *postgresql*|*pgvector*) say "installing PostgreSQL 17 and pgvector"; brew install postgresql@17 pgvector ;; esac
  case $1 in *redis*) say "installing Redis"; brew install redis ;; esac
}

check_go
need=$(missing | tr '\n' ' ')
need=${need% }
if [ -z "$need" ]; then
  $check_only && say "everything is installed"
  exit 0
fi
say "missing: $need"
$check_only && exit 1
case $(uname -s) in
  Linux)
    have apt-get || fail "this system has no apt-get. Install these yourself, then run this again: $need (PostgreSQL 15+, pgvector 0.8+, Redis 7)."
    setup_debian "$need" ;;
  Darwin) setup_homebrew "$need" ;;
  *) fail "no way is known to install on $(uname -s). Install these yourself: $need (PostgreSQL 15+, pgvector 0.8+, Redis 7)." ;;
esac
need=$(missing | tr '\n' ' ')
[ -z "${need% }" ] || fail "still missing after installing: ${need% }"
say "done"
