#!/bin/sh
# The roles and the database of the compose file's PostgreSQL. It runs at the first start by itself; in an
# installation that is there already, once more after deploy/make-secrets has added passwords:
#   docker compose --env-file deploy/.env exec postgres /docker-entrypoint-initdb.d/10-tabella.sh
# The daemons' roles are no superusers and own nothing, so that row-level security binds them.
set -eu
run_in() { psql -qX -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -o /dev/null -d "$1"; }
passwords=
for role in api data_connector inference jobs keys metering reports; do
    name=TABELLA_DB_PASSWORD_$(echo $role | tr a-z A-Z)
    eval "password=\${$name:-}"
    [ "${#password}" -ge 32 ] || { echo "$name is not set: run deploy/make-secrets" >&2; exit 1; }
    passwords="$passwords SELECT set_config('password.tabella_$role', '$password', false);"
done
there=$(psql -XqtA -U "$POSTGRES_USER" -d postgres -c "SELECT 1 FROM pg_database WHERE datname = 'tabella'")
if [ -z "$there" ]; then
    run_in postgres <<EOF
CREATE ROLE tabella LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '$TABELLA_DB_PASSWORD';
CREATE DATABASE tabella OWNER tabella;
EOF
fi
{ echo "$passwords"; cat "${TABELLA_ROLES_SQL:-/usr/share/tabella/postgres-roles.sql}"; } | run_in tabella
