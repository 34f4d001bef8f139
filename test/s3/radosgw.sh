#!/usr/bin/env bash
# A real S3 server on this machine for the tests: Debian's radosgw over one monitor and one OSD that keeps all in memory.
#
#   test/s3/radosgw.sh up DIR [PORT]    starts it on 127.0.0.1 and prints what the tests have to be told (TEST_S3_…);
#                                       without a port on a free one
#   test/s3/radosgw.sh down DIR         stops it and removes DIR
#
# Needs the packages radosgw, ceph-mon and ceph-osd.
set -Eeuo pipefail

access_key=annals-tests
secret_key=annals-tests-secret

fail() {
  echo "radosgw.sh: $*" >&2
  exit 1
}

free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); (: </dev/tcp/127.0.0.1/"$port") 2>/dev/null; do :; done
  echo "$port"
}

# Runs a command until it succeeds: wait_for SECONDS COMMAND…
wait_for() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

# radosgw spins a core when its OSD disappears, so it goes first, and none of them has anything to save.
down() {
  local dir=$1 name pid
  for name in client.rgw.a osd.0 mon.a; do
    pid=$(cat "$dir/run/$name.pid" 2>/dev/null) || continue
    # A process that ended may have left its number to another one.
    case $(cat "/proc/$pid/comm" 2>/dev/null) in radosgw | ceph-osd | ceph-mon) kill -9 "$pid" ;; esac
    wait_for 10 is_gone "$pid" || echo "radosgw.sh: process $pid of $name does not end" >&2
  done
  rm -rf "$dir"
}

# A killed process that nobody waits for, as in a container without init, stays as one without a program.
is_gone() { ! readlink "/proc/$1/exe"; }
osd_is_up() { ceph osd stat | grep -q '1 up'; }
answers() { (: </dev/tcp/127.0.0.1/"$1"); }

give_up() {
  trap - ERR
  exec >&3 2>&4
  tail -n 20 "$1/log/up.log" >&2
  down "$1"
  fail 'the S3 server did not start'
}

up() {
  local dir=$1 port=$2 monitor_port uuid
  for command in radosgw radosgw-admin ceph-mon ceph-osd monmaptool ceph; do
    command -v "$command" >/dev/null || fail "$command is missing; apt-get install radosgw ceph-mon ceph-osd"
  done
  [ ! -e "$dir/run" ] || fail "$dir is in use; radosgw.sh down $dir"
  ! answers "$port" 2>/dev/null || fail "port $port is in use"
  monitor_port=$(free_port)
  mkdir -p "$dir"/{mon,osd,run,log}
  dir=$(cd "$dir" && pwd)
  uuid=$(cat /proc/sys/kernel/random/uuid)
  # Without the lines from paxos_propose_interval on it takes ten times as long to start.
  cat >"$dir/ceph.conf" <<CONF
[global]
fsid = $uuid
mon_host = v1:127.0.0.1:$monitor_port
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_msgr2 = false
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_data_avail_crit = 1
mon_data_avail_warn = 2
admin_socket = $dir/run/\$name.asok
pid_file = $dir/run/\$name.pid
run_dir = $dir/run
crash_dir = $dir/run
log_file = $dir/log/\$name.log
mon_data = $dir/mon
osd_data = $dir/osd
keyring = $dir/keyring
osd_objectstore = memstore
memstore_device_bytes = ${S3_BYTES:-4294967296}
osd_max_object_name_len = 256
osd_class_update_on_start = false
osd_crush_update_on_start = false
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
osd_heartbeat_interval = 1
osd_mon_heartbeat_interval = 2
mon_client_hunt_interval = 0.5
mon_client_ping_interval = 2
objecter_tick_interval = 1
rgw_dns_name = localhost
rgw_thread_pool_size = 32
rgw_override_bucket_index_max_shards = 1
rgw_gc_max_objs = 4
rgw_lc_max_objs = 1
rgw_data_log_num_shards = 1
rgw_data_notify_interval_msec = 0
CONF
  export CEPH_CONF=$dir/ceph.conf
  # What the daemons inherit must not be what a caller reads to its end.
  exec 3>&1 4>&2 >"$dir/log/up.log" 2>&1
  trap 'give_up "$dir"' ERR
  monmaptool --create --addv a "[v1:127.0.0.1:$monitor_port]" --fsid "$uuid" "$dir/monmap"
  ceph-mon --mkfs -i a --monmap "$dir/monmap"
  ceph-mon -i a 3>&- 4>&-
  uuid=$(cat /proc/sys/kernel/random/uuid)
  timeout 60 ceph osd new "$uuid"
  ceph-osd -i 0 --mkfs --osd-uuid "$uuid"
  timeout 60 ceph osd crush add osd.0 1.0 host=h root=default
  ceph-osd -i 0 3>&- 4>&-
  wait_for 60 osd_is_up
  timeout 90 radosgw -n client.rgw.a --rgw-frontends="beast endpoint=127.0.0.1:$port tcp_nodelay=1" 3>&- 4>&-
  wait_for 90 answers "$port"
  timeout 60 radosgw-admin user create --uid=tests --display-name=tests \
    --access-key="$access_key" --secret-key="$secret_key"
  trap - ERR
  exec >&3 2>&4
  echo "export TEST_S3_ENDPOINT=http://127.0.0.1:$port"
  echo "export TEST_S3_ACCESS_KEY=$access_key"
  echo "export TEST_S3_SECRET_KEY=$secret_key"
}

case "${1:-} $#" in
  'up 2') up "$2" "$(free_port)" ;;
  'up 3') up "$2" "$3" ;;
  'down 2') down "$2" ;;
  *) fail 'usage: radosgw.sh up DIR [PORT] | down DIR' ;;
esac
