-- Once, as a superuser: a role that migrates and owns the queue, and one that works with it.
CREATE ROLE queue_owner LOGIN;
CREATE ROLE queue_worker LOGIN;
CREATE SCHEMA queue AUTHORIZATION queue_owner;
