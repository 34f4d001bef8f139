#!/bin/bash
# Run once, when the database is made: lets the standby of compose-nodes.yaml copy it, and has commits wait for that standby. That
# is a setting of the next start: until there is a standby, no commit would end.
set -e
echo 'host replication annals samenet scram-sha-256' >>"$PGDATA/pg_hba.conf"
psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --command="ALTER SYSTEM SET synchronous_standby_names = 'b'"
