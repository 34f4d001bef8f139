#!/bin/bash
# Run once, when the database is made: makes the role of the nodes, lets the standby of compose-nodes.yaml copy the server, and has
# commits wait for that standby. The last is a setting of the next start: until there is a standby, no commit would end.
set -e
echo "host replication $POSTGRES_USER samenet scram-sha-256" >>"$PGDATA/pg_hba.conf"
psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --set=ON_ERROR_STOP=1 \
  --set=password="$(cat "$POSTGRES_PASSWORD_FILE")" <<'SQL'
CREATE ROLE annals LOGIN PASSWORD :'password';
ALTER DATABASE annals OWNER TO annals;
GRANT pg_monitor, pg_checkpoint TO annals;
GRANT EXECUTE ON FUNCTION pg_switch_wal() TO annals;
ALTER SYSTEM SET synchronous_standby_names = 'b';
SQL
