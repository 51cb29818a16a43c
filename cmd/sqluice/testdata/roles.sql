-- Roles as a database's owner makes them. The password has every character that a URL gives a meaning to.
CREATE ROLE guarded LOGIN PASSWORD 'a@b/c?d#e%f&g=h:i+secret''"\ j';
CREATE ROLE stranger LOGIN;
CREATE ROLE reader LOGIN;
CREATE ROLE runner LOGIN;
CREATE ROLE crowded LOGIN CONNECTION LIMIT 0;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guarded, runner;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO guarded, runner;
