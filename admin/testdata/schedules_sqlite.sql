-- Schedules that no client can make: one of a program's code without a worker, and one with a fault.
INSERT INTO sqluice_schedules (name, kind, spec, origin) VALUES ('gone', 'report', '0 2 * * *', 'code');
INSERT INTO sqluice_schedules (name, kind, spec, fault) VALUES ('broken', 'report', 'now and then', 'specification "now and then": <it> is none');
INSERT INTO sqluice_schedules (name, kind, spec, options, fault) VALUES ('odd', 'report', '0 2 * * *', '{"colour": 1}', 'options: unknown');
