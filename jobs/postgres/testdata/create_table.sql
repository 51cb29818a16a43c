CREATE TABLE queue.own (v int)
