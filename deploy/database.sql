-- Creates Magpie's logins and its database, as the superuser of PostgreSQL. The
-- passwords come from the environment. It can run again, and then changes the
-- passwords. The schema follows by: magpie migrate up --grant magpie_login
\set ON_ERROR_STOP on
\getenv owner MAGPIE_OWNER_PASSWORD
\getenv login MAGPIE_LOGIN_PASSWORD
select 'create role magpie_owner login createrole' where not exists (select from pg_roles where rolname = 'magpie_owner') \gexec
select 'create role magpie_login login' where not exists (select from pg_roles where rolname = 'magpie_login') \gexec
alter role magpie_owner password :'owner';
alter role magpie_login password :'login';
select 'create database magpie owner magpie_owner' where not exists (select from pg_database where datname = 'magpie') \gexec
\connect magpie
set client_min_messages = warning;
create extension if not exists vector;
