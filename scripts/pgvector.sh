# Installs pgvector 0.8 or newer for one PostgreSQL of a Debian-like system.
# Sourced by setup.sh, whose functions it uses.

# install_pgvector BIN MAJOR: the system's package where it is new enough, else
# a build of the distribution's own source package.
install_pgvector() {
  local bin=$1 major=$2 candidate
  if ! $apt_updated; then
    say "reading the package lists"
    as_root apt-get update -qq || fail "the package lists could not be read; check the network and the package sources."
    apt_updated=true
  fi
  candidate=$(apt-cache policy "postgresql-$major-pgvector" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][0-9.]*\).*/\1/p')
  if [ -n "$candidate" ] && version_at_least "$candidate" 0.8; then
    apt_install "postgresql-$major-pgvector"
    return
  fi
  say "this system has no package of pgvector 0.8 for PostgreSQL $major: building it from source, about 10 s"
  apt_install "postgresql-server-dev-$major" gcc make libc6-dev dpkg-dev ca-certificates
  build_pgvector "$bin"
}

# The release whose source package is taken: the one after this system's.
next_release() {
  case $1 in
    bookworm) echo trixie ;;
    jammy) echo plucky ;;
    noble) echo plucky ;;
    *) return 1 ;;
  esac
}

# source_entry SUITE NEXT: the machine's own package sources, as sources of
# source packages of the release NEXT. Keys and addresses stay as they are.
source_entry() {
  local file suite=$1 next=$2
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
    if [ -f "$file" ]; then
      # The first stanza is the main archive.
      awk 'BEGIN { RS = ""; ORS = "\n\n" } NR == 1' "$file" |
        sed -e '/^#/d' -e 's/^Types:.*/Types: deb-src/' -e "s/^Suites:.*/Suites: $next/"
      return 0
    fi
  done
  if [ -f /etc/apt/sources.list ]; then
    sed -n -E "s/^deb(-src)? (\[[^]]*\] )?([^ ]+) $suite ([a-z].*)/deb-src \2\3 $next \4/p" /etc/apt/sources.list | head -n 1
  fi
}

build_pgvector() (
  bin=$1
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  next=$(next_release "$suite") ||
    fail "no source of pgvector 0.8 is known for the release '$suite'. Install pgvector 0.8 or newer for this PostgreSQL, then run this again."
  entry=/etc/apt/sources.list.d/magpie-pgvector.sources
  text=$(source_entry "$suite" "$next")
  [ -n "$text" ] || fail "the system's package sources could not be read, so pgvector's source package cannot be found."
  case $text in deb-src*) entry=${entry%.sources}.list ;; esac
  work=$(mktemp -d)
  # The entry goes again whatever happens, and the lists without it come back.
  trap 'as_root rm -f "$entry"; as_root apt-get update -qq >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
  printf '%s\n' "$text" | as_root tee "$entry" >/dev/null
  as_root apt-get update -qq || fail "the list of source packages of $next could not be read."
  cd "$work"
  chmod 755 "$work"
  apt-get source -qq pgvector >/dev/null 2>&1 || fail "the source package of pgvector could not be fetched."
  cd pgvector-*/
  # OPTFLAGS="": a build for any processor of this kind, not for this very one.
  make -j2 OPTFLAGS="" PG_CONFIG="$bin/pg_config" >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; fail "pgvector could not be built."; }
  as_root make OPTFLAGS="" PG_CONFIG="$bin/pg_config" install >"$work/install.log" 2>&1 || { tail -n 20 "$work/install.log" >&2; fail "pgvector could not be installed."; }
)
