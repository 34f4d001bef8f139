#!/usr/bin/env bash
# Two real servers of PostgreSQL on this machine for the tests: a primary and its synchronous standby.
#
#   test/postgres/servers.sh up DIR           starts them on 127.0.0.1, on free ports, and prints what the tests have to be told
#                                             (TEST_POSTGRES_…)
#   test/postgres/servers.sh start DIR NAME   starts the one named a or b again
#   test/postgres/servers.sh down DIR         stops them and removes DIR
#
# POSTGRES_SETTINGS has lines for postgresql.conf that come after its own.
#
# Needs the package postgresql. As root it runs them as the user postgres, who must be able to enter the folders above DIR.
set -Eeuo pipefail

password=annals-tests

fail() {
  echo "servers.sh: $*" >&2
  exit 1
}

free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; do :; done
  echo "$port"
}

# The newest one that is installed: Debian has a folder for each version.
bin_folder() {
  local path
  path=$(find /usr/lib/postgresql -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
  [ -n "$path" ] || path=$(command -v initdb) || return 1
  dirname "$path"
}

# PostgreSQL refuses to run as root.
as_user() {
  if [ "$(id -u)" = 0 ]; then
    # From a folder that this user can enter.
    (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@")
  else
    "$@"
  fi
}

start() {
  local pid
  # A killed process that nobody waits for, as in a container without init, stays as one without a program; PostgreSQL takes it for
  # a server that runs.
  pid=$(head -n 1 "$1/$2/postmaster.pid" 2>/dev/null) || pid=
  [ -z "$pid" ] || readlink "/proc/$pid/exe" >/dev/null || rm "$1/$2/postmaster.pid"
  as_user "$bin/pg_ctl" start --pgdata="$1/$2" --log="$1/$2.log" --wait --timeout=60 --silent
}

down() {
  local dir=$1 name
  for name in b a; do
    [ -e "$dir/$name/postmaster.pid" ] && readlink "/proc/$(head -n 1 "$dir/$name/postmaster.pid")/exe" >/dev/null || continue
    as_user "$bin/pg_ctl" stop --pgdata="$dir/$name" --mode=immediate --silent ||
      echo "servers.sh: the server $name does not end" >&2
  done
  rm -rf "$dir"
}

give_up() {
  trap - ERR
  exec >&3 2>&4
  tail -n 20 "$1"/*.log >&2
  down "$1"
  fail 'PostgreSQL did not start'
}

# Small, and as safe as one in use: a test of what is lost must not lose it here.
common() {
  cat <<CONF
port = $1
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_buffers = 16MB
max_connections = 60
max_wal_senders = 4
max_replication_slots = 4
wal_keep_size = 64MB
max_wal_size = 256MB
# In the folder, and gone with it: a killed server leaves it behind.
dynamic_shared_memory_type = mmap
hot_standby = on
wal_receiver_status_interval = 1s
wal_retrieve_retry_interval = 100ms
logging_collector = off
autovacuum_naptime = 10s
${POSTGRES_SETTINGS:-}
CONF
}

up() {
  local dir=$1 first second
  [ ! -e "$dir" ] || fail "$dir is there already; servers.sh down $dir"
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  [ "$(id -u)" != 0 ] || chown postgres: "$dir"
  as_user test -w "$dir" || {
    rmdir "$dir"
    fail "the user postgres cannot enter $dir"
  }
  first=$(free_port)
  second=$(free_port)
  exec 3>&1 4>&2 >"$dir/up.log" 2>&1
  trap 'give_up "$dir"' ERR
  as_user sh -c 'umask 077 && echo "$1" >"$2"' sh "$password" "$dir/password"
  as_user "$bin/initdb" --pgdata="$dir/a" --username=admin --auth=scram-sha-256 --pwfile="$dir/password" \
    --encoding=UTF8 --locale=C --no-sync
  common "$first" >>"$dir/a/postgresql.conf"
  echo 'host replication admin 127.0.0.1/32 scram-sha-256' >>"$dir/a/pg_hba.conf"
  start "$dir" a 3>&- 4>&-
  PGPASSWORD=$password as_user "$bin/pg_basebackup" --host=127.0.0.1 --port="$first" --username=admin --pgdata="$dir/b" \
    --checkpoint=fast --no-sync
  common "$second" >>"$dir/b/postgresql.conf"
  # Each is the standby of the other, once it is told to be one.
  echo "primary_conninfo = 'host=127.0.0.1 port=$first user=admin password=$password application_name=b'" >>"$dir/b/postgresql.conf"
  echo "primary_conninfo = 'host=127.0.0.1 port=$second user=admin password=$password application_name=a'" >>"$dir/a/postgresql.conf"
  as_user touch "$dir/b/standby.signal"
  start "$dir" b 3>&- 4>&-
  # Only now: until there is a standby, no commit would end.
  as_user "$bin/psql" "host=127.0.0.1 port=$first user=admin password=$password dbname=postgres" --no-psqlrc --quiet \
    --command="ALTER SYSTEM SET synchronous_standby_names = 'b'" --command='SELECT pg_reload_conf()'
  trap - ERR
  exec >&3 2>&4
  echo "export TEST_POSTGRES_HOSTS=127.0.0.1:$first,127.0.0.1:$second"
  echo "export TEST_POSTGRES_USER=admin"
  echo "export TEST_POSTGRES_PASSWORD=$password"
  echo "export TEST_POSTGRES_FOLDER=$dir"
}

bin=$(bin_folder) || {
  # Nothing was ever started without it.
  [ "${1:-}" != down ] || exit 0
  fail 'initdb is missing; apt-get install postgresql'
}
case "${1:-} $#" in
  'up 2') up "$2" ;;
  'start 3') start "$2" "$3" ;;
  'down 2') down "$2" ;;
  *) fail 'usage: servers.sh up DIR | start DIR a|b | down DIR' ;;
esac
