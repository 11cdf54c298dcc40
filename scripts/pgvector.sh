# shellcheck shell=bash
# Installs pgvector 0.8 or newer for one PostgreSQL of a Debian-like system.
# Sourced by setup.sh, whose functions and names it uses.
# shellcheck disable=SC2154

# install_pgvector BIN MAJOR: the system's package where it is new enough, else
# a build of the distribution's own source package.
install_pgvector() {
  local bin=$1 major=$2 candidate
  read_package_lists
  candidate=$(candidate_version "postgresql-$major-pgvector")
  if [ -n "$candidate" ] && version_at_least "$candidate" "$vector_wanted"; then
    apt_install "postgresql-$major-pgvector"
    return
  fi
  say "this system has no package of pgvector $vector_wanted for PostgreSQL $major: building it from source, about 10 s"
  apt_install "postgresql-server-dev-$major" gcc make libc6-dev dpkg-dev ca-certificates
  build_pgvector "$bin"
}

# The release whose source package is taken: one after this system's that is kept for years.
next_release() {
  case $1 in
    bookworm) echo trixie ;;
    noble) echo resolute ;;
    *) return 1 ;;
  esac
}

# source_entry SUITE NEXT: the machine's own package sources, as sources of
# source packages of the release NEXT. Keys and addresses stay as they are.
source_entry() {
  local suite=$1 next=$2 file entry
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources; do
    [ -f "$file" ] || continue
    # The stanza of the main archive is the one that names the release itself, not only its security updates.
    entry=$(sed '/^#/d' "$file" | awk -v suite="$suite" '
      BEGIN { RS = ""; FS = "\n" }
      !done { for (i = 1; i <= NF; i++)
          if ($i ~ "^Suites:" && $i ~ "[ \t]" suite "([ \t]|$)") { print; done = 1 } }' |
      sed -e 's/^Types:.*/Types: deb-src/' -e "s/^Suites:.*/Suites: $next/")
    if [ -n "$entry" ]; then
      printf '%s\n' "$entry"
      return 0
    fi
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$file" ] || continue
    entry=$(sed -n -E "s/^deb[[:space:]]+(\[[^]]*\][[:space:]]+)?([^[:space:]]+)[[:space:]]+${suite}[[:space:]]+([a-z].*)/deb-src \1\2 $next \3/p" "$file" | head -n 1)
    if [ -n "$entry" ]; then
      printf '%s\n' "$entry"
      return 0
    fi
  done
}

# A subshell, so that its trap and its folder are its own.
build_pgvector() (
  bin=$1
  # shellcheck disable=SC1091 # the system's own file
  suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  next=$(next_release "$suite") ||
    fail "no source of pgvector $vector_wanted is known for the release '$suite'. Install pgvector $vector_wanted or newer for this PostgreSQL, then run this again."
  text=$(source_entry "$suite" "$next")
  [ -n "$text" ] || fail "the system's package sources name no release '$suite', so pgvector's source package cannot be found. Install pgvector $vector_wanted or newer, then run this again."
  entry=/etc/apt/sources.list.d/magpie-pgvector.sources
  case $text in deb-src*) entry=${entry%.sources}.list ;; esac
  work=$(mktemp -d)
  # The entry goes again whatever happens, and the package lists without it come back.
  trap 'as_root rm -f "$entry"; as_root apt-get update -qq >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM
  printf '%s\n' "$text" | as_root tee "$entry" >/dev/null
  as_root chmod 644 "$entry"
  as_root apt-get update -qq || fail "the list of source packages of $next could not be read; check the network."
  cd "$work" || exit 1
  chmod 755 "$work"
  apt-get source -qq pgvector >fetch.log 2>&1 ||
    { tail -n 20 fetch.log >&2; fail "the source package of pgvector could not be fetched. Install pgvector $vector_wanted or newer for this PostgreSQL, then run this again."; }
  cd pgvector-*/ || exit 1
  # OPTFLAGS="": a build for any processor of this kind, not for this very one.
  make -j2 OPTFLAGS="" PG_CONFIG="$bin/pg_config" >"$work/build.log" 2>&1 ||
    { tail -n 20 "$work/build.log" >&2; fail "pgvector could not be built."; }
  as_root make OPTFLAGS="" PG_CONFIG="$bin/pg_config" install >"$work/install.log" 2>&1 ||
    { tail -n 20 "$work/install.log" >&2; fail "pgvector could not be installed."; }
)
