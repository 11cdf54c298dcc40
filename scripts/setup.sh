#!/usr/bin/env bash
# Installs what Magpie needs and is missing: Go's C compiler, PostgreSQL 15 or
# newer with pgvector 0.8 or newer, Redis, and Go where the system has a package
# that is new enough. Prints each step; with everything in place it changes
# nothing and ends at once. It never starts a system service.
#
#   scripts/setup.sh          install what is missing
#   scripts/setup.sh --tests  the same, and what the tests use: a browser, PgBouncer, MariaDB, ClickHouse, FreeTDS, zsh, fish, groff, systemd,
#                             Prometheus, nginx, Node.js, and other people's GraphQL clients
#   scripts/setup.sh --check  only say what is missing; exit 1 if anything is
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
postgres_wanted=15
vector_wanted=0.8

say()  { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# shellcheck source=scripts/pgvector.sh
. "$root/scripts/pgvector.sh"

check_only=false for_tests=false
for argument; do
  case $argument in
    --check) check_only=true ;;
    --tests) for_tests=true ;;
    *) fail "unknown argument $argument; there are --tests and --check" ;;
  esac
done

# version_at_least 1.26.8 1.26: compares the first two numbers.
version_at_least() {
  local a_major a_minor b_major b_minor rest
  IFS=. read -r a_major a_minor rest <<<"$1.0"
  IFS=. read -r b_major b_minor rest <<<"$2.0"
  a_minor=${a_minor%%[!0-9]*} b_minor=${b_minor%%[!0-9]*}
  [ "$a_major" -gt "$b_major" ] || { [ "$a_major" -eq "$b_major" ] && [ "${a_minor:-0}" -ge "${b_minor:-0}" ]; }
}

go_wanted=$(sed -n 's/^go //p' "$root/go.mod")

# Asked inside the project, where Go answers with the toolchain that it would really use.
go_ready() {
  local version
  have go || return 1
  version=$(cd "$root" && go env GOVERSION 2>/dev/null) || return 1
  version=${version#go}
  case $version in [0-9]*.[0-9]*) version_at_least "$version" "$go_wanted" ;; *) return 1 ;; esac
}

# The bin folders where a PostgreSQL server may be, the newest version first.
postgres_bins() {
  local bin major
  for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
    if [ -x "$bin/postgres" ] && [ -x "$bin/initdb" ]; then
      major=$("$bin/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
      if [ "${major:-0}" -ge "$postgres_wanted" ]; then printf '%s %s\n' "$major" "$bin"; fi
    fi
  done | sort -rn | sed 's/^[0-9]* //'
}

postgres_ready() { [ -n "$(postgres_bins)" ]; }

# The version of pgvector beside a PostgreSQL's bin folder, empty when there is none.
pgvector_version() {
  local share
  share=$("$1/pg_config" --sharedir 2>/dev/null) || share=$(printf '%s' "${1%/bin}" | sed 's|/lib/|/share/|')
  if [ -r "$share/extension/vector.control" ]; then
    sed -n "s/^default_version *= *'\(.*\)'/\1/p" "$share/extension/vector.control"
  fi
}

# One PostgreSQL that has it is enough; Magpie takes that one.
pgvector_ready() {
  local bin version
  while read -r bin; do
    if [ -n "$bin" ]; then
      version=$(pgvector_version "$bin")
      if [ -n "$version" ] && version_at_least "$version" "$vector_wanted"; then return 0; fi
    fi
  done <<<"$(postgres_bins)"
  return 1
}

compiler_ready() { have gcc || have cc; }
make_ready() { have make; }
redis_ready() { have redis-server || have valkey-server; }
# Go's own downloads are checked against the system's certificates.
certificates_ready() { [ "$(uname -s)" != Linux ] || [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || [ -e /etc/ssl/cert.pem ]; }
# The names and places where the tests look for one (internal/testkit/browser). The headless shell, which has no windows to draw, is quicker.
browser_ready() {
  local name
  for name in chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome \
    '/Applications/Chromium.app/Contents/MacOS/Chromium' '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'; do
    if have "$name"; then return 0; fi
  done
  return 1
}

# The server that the tests of attached databases start, as internal/devstack looks for it.
mariadb_ready() {
  local folder
  if have mariadbd; then return 0; fi
  for folder in /usr/sbin /opt/homebrew/bin /usr/local/bin; do
    if [ -x "$folder/mariadbd" ]; then return 0; fi
  done
  return 1
}

clickhouse_ready() {
  local folder
  if have clickhouse-server; then return 0; fi
  for folder in /usr/sbin /usr/bin /usr/local/bin /opt/homebrew/bin; do
    if [ -x "$folder/clickhouse-server" ]; then return 0; fi
  done
  return 1
}
# A client of SQL Server's protocol that is not ours (internal/testkit/tdsserver).
freetds_ready() { have tsql; }
# The shells whose completion is tried, and what checks the manual pages.
zsh_ready() { have zsh; }
fish_ready() { have fish; }
groff_ready() { have groff; }
# What checks the units of deploy/systemd.
systemd_ready() { [ "$(uname -s)" != Linux ] || have systemd-analyze; }

# The pooler that the tests of the database start (internal/devstack).
pgbouncer_ready() { have pgbouncer || [ -x /usr/sbin/pgbouncer ]; }

# The servers that the tests of the tools for Prometheus start (internal/devstack).
prometheus_ready() { have prometheus && have promtool; }
alertmanager_ready() { have prometheus-alertmanager || have alertmanager; }

# The proxy that the tests of deploy start.
nginx_ready() { have nginx || [ -x /usr/sbin/nginx ]; }

# Node.js with npm, for the GraphQL clients that the tests run (cmd/magpie/conformance/node).
node_wanted=18
clients=$root/cmd/magpie/conformance/node
node_ready() {
  local version
  have node && have npm || return 1
  version=$(node --version 2>/dev/null) || return 1
  version_at_least "${version#v}" "$node_wanted"
}
# Installed as the lock file has it: a copy of the file is left beside them.
clients_ready() { cmp -s "$clients/package-lock.json" "$clients/node_modules/.magpie-lock"; }
install_clients() {
  say "installing the GraphQL clients of the tests"
  (cd "$clients" && npm ci --no-audit --no-fund --loglevel=error >&2 && cp package-lock.json node_modules/.magpie-lock) ||
    fail "npm could not install them; check the network, then run this again: scripts/setup.sh --tests"
}

# What is missing, on one line.
missing() {
  local part list='' parts='certificates go compiler make postgres pgvector redis'
  if $for_tests; then parts="$parts pgbouncer browser mariadb clickhouse freetds zsh fish groff systemd prometheus alertmanager nginx node clients"; fi
  for part in $parts; do
    "${part}_ready" || list="$list $part"
  done
  printf '%s' "${list# }"
}

needs() { case " $need " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif have sudo; then sudo "$@"
  else fail "installing packages needs root or sudo, and this user has neither. Ask an administrator to run: scripts/setup.sh"
  fi
}

lists_read=false
read_package_lists() {
  if $lists_read; then return; fi
  say "reading the package lists"
  as_root apt-get update -qq || fail "the package lists could not be read; check the network and the package sources."
  lists_read=true
}

apt_install() {
  local log
  read_package_lists
  say "installing $*"
  log=$(mktemp)
  if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install: $*"
  fi
  rm -f "$log"
}

# candidate_version PACKAGE: what apt would install, without epoch; empty when nothing.
candidate_version() {
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9][0-9.]*\).*/\2/p'
}

# Packages of servers like to make a cluster and to start services. Ours are
# private, so both are held off while packages are installed, and nothing that
# the machine has set up for itself is touched.
quiet_policy='' quiet_cluster=''
quiet_services() {
  trap loud_services EXIT
  trap 'exit 130' INT TERM
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    quiet_policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$quiet_policy" >/dev/null
    as_root chmod 755 "$quiet_policy"
  fi
  # The file in this folder is read by the main one, which comes with the package or is there already.
  if ! ls /etc/postgresql/*/main/postgresql.conf >/dev/null 2>&1; then
    as_root mkdir -p /etc/postgresql-common/createcluster.d
    quiet_cluster=/etc/postgresql-common/createcluster.d/magpie-setup.conf
    echo 'create_main_cluster = false' | as_root tee "$quiet_cluster" >/dev/null
  fi
}

loud_services() {
  if [ -n "$quiet_policy" ]; then as_root rm -f "$quiet_policy"; fi
  if [ -n "$quiet_cluster" ]; then as_root rm -f "$quiet_cluster"; fi
  quiet_policy='' quiet_cluster=''
}

setup_debian() {
  local packages=() version bin part
  read_package_lists
  if needs certificates; then packages+=(ca-certificates); fi
  if needs go; then
    version=$(candidate_version golang-go)
    if [ -n "$version" ] && version_at_least "$version" "$go_wanted"; then packages+=(golang-go); else no_go; fi
  fi
  if needs compiler; then packages+=(gcc libc6-dev); fi
  if needs make; then packages+=(make); fi
  if needs postgres; then
    version=$(candidate_version postgresql)
    if [ -z "$version" ] || ! version_at_least "${version%%+*}" "$postgres_wanted"; then
      fail "this system's PostgreSQL is ${version:-missing}, and $postgres_wanted or newer is needed. Install a newer one, or give DATABASE_URL and REDIS_URL."
    fi
    packages+=(postgresql)
  fi
  if needs redis; then packages+=(redis-server); fi
  if needs browser; then
    # Ubuntu's package of another name only installs a snap.
    if [ -n "$(candidate_version chromium-headless-shell)" ]; then packages+=(chromium-headless-shell)
    elif [ -n "$(candidate_version chromium)" ]; then packages+=(chromium)
    else fail "this system's packages have no chromium, which the tests need. Install Chromium or Chrome so that chromium or google-chrome is in PATH."
    fi
  fi
  if needs pgbouncer; then packages+=(pgbouncer); fi
  if needs mariadb; then packages+=(mariadb-server); fi
  if needs clickhouse; then
    [ -n "$(candidate_version clickhouse-server)" ] || fail "this system's packages have no clickhouse-server, which the tests need. Install ClickHouse so that clickhouse-server is in PATH."
    packages+=(clickhouse-server)
  fi
  if needs freetds; then packages+=(freetds-bin); fi
  for part in zsh fish groff systemd; do
    if needs "$part"; then packages+=("$part"); fi
  done
  if needs prometheus; then packages+=(prometheus); fi
  if needs alertmanager; then packages+=(prometheus-alertmanager); fi
  if needs nginx; then packages+=(nginx-light); fi
  if needs node; then
    version=$(candidate_version nodejs)
    { [ -n "$version" ] && version_at_least "$version" "$node_wanted"; } ||
      fail "this system's Node.js is ${version:-missing}, and $node_wanted or newer is needed by the tests. Install it with npm, so that node is in PATH."
    packages+=(nodejs npm)
  fi
  quiet_services
  if [ ${#packages[@]} -gt 0 ]; then apt_install "${packages[@]}"; fi
  if ! pgvector_ready; then
    bin=$(postgres_bins | head -n 1)
    [ -n "$bin" ] || fail "PostgreSQL $postgres_wanted or newer was installed and is not in /usr/lib/postgresql."
    install_pgvector "$bin" "$("$bin/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')"
  fi
  loud_services
}

setup_homebrew() {
  local packages=() part
  if needs compiler || needs make; then fail "the command line developer tools are missing; run: xcode-select --install"; fi
  have brew || fail "Homebrew was not found. Install it, or install these yourself: $need (PostgreSQL $postgres_wanted+, pgvector $vector_wanted+, Redis)."
  if needs go; then packages+=(go); fi
  if needs postgres || needs pgvector; then packages+=(postgresql@17 pgvector); fi
  if needs redis; then packages+=(redis); fi
  if needs browser; then fail "the tests need Chromium or Chrome; run: brew install --cask google-chrome"; fi
  if needs pgbouncer; then packages+=(pgbouncer); fi
  if needs mariadb; then packages+=(mariadb); fi
  if needs clickhouse; then fail "the tests need a ClickHouse server; run: brew install --cask clickhouse, and link clickhouse-server to it"; fi
  if needs freetds; then packages+=(freetds); fi
  for part in zsh fish groff; do
    if needs "$part"; then packages+=("$part"); fi
  done
  if needs prometheus; then packages+=(prometheus); fi
  if needs alertmanager; then packages+=(alertmanager); fi
  if needs nginx; then packages+=(nginx); fi
  if needs node; then packages+=(node); fi
  if [ ${#packages[@]} = 0 ]; then return; fi
  say "installing ${packages[*]}"
  brew install "${packages[@]}" || fail "Homebrew could not install: ${packages[*]}"
}

no_go() {
  fail "Go $go_wanted or newer is needed, and this system's packages have none. Install it from the Go project's site and put its bin folder in PATH."
}

need=$(missing)
if [ -z "$need" ]; then
  if $check_only; then say "everything is installed"; fi
  exit 0
fi
say "missing: $need"
if $check_only; then exit 1; fi
# Those alone need no package of the system.
if [ "$need" = clients ]; then
  install_clients
  say "done"
  exit 0
fi
case $(uname -s) in
  Linux)
    if ! have apt-get; then
      fail "this system has no apt-get. Install these yourself, then run this again: $need (Go $go_wanted+, PostgreSQL $postgres_wanted+, pgvector $vector_wanted+, Redis)."
    fi
    setup_debian ;;
  Darwin) setup_homebrew ;;
  *) fail "no way is known to install on $(uname -s). Install these yourself: $need (Go $go_wanted+, PostgreSQL $postgres_wanted+, pgvector $vector_wanted+, Redis)." ;;
esac
if needs clients; then install_clients; fi
need=$(missing)
[ -z "$need" ] || fail "still missing after installing: $need"
say "done"
