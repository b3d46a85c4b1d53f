#!/bin/sh
# First start of the compose file's PostgreSQL: the daemons' role is no superuser, so that row-level security binds it.
set -eu
psql -v ON_ERROR_STOP=1 -U "$POSTGRES_USER" -d postgres <<EOF
CREATE ROLE tabella LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD '$TABELLA_DB_PASSWORD';
CREATE DATABASE tabella OWNER tabella;
EOF
