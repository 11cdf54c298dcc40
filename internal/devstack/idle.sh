# Ends the PostgreSQL of a data folder when nobody uses it: no client is connected, and the lease file was not renewed for
# the given number of minutes. It goes away with the PostgreSQL process that it was started for.
# Arguments: PostgreSQL's pid file, lease file, socket folder, psql, minutes.
set -eu
pid_file=$1 lease=$2 sockets=$3 psql=$4 minutes=$5

running() {
	line=
	if [ -r "$pid_file" ]; then
		read -r line <"$pid_file" || true
	fi
	printf '%s' "$line"
}

watched=$(running)

watch() {
	while sleep 20; do
		[ -n "$watched" ] && [ "$(running)" = "$watched" ] || return 0
		[ -z "$(find "$lease" -mmin "-$minutes")" ] || continue
		clients=$("$psql" -X -h "$sockets" -U postgres -d postgres -Atqc \
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()") || continue
		[ "$clients" = 0 ] || continue
		kill -INT "$watched"
		return 0
	done
}

# The redirection comes first: around a function call, the shell would keep a copy of the output that its caller waits on.
(
	exec </dev/null >/dev/null 2>&1
	watch
) &
