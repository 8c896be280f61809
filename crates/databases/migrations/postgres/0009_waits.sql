-- wait: how long `run_at` may lie ahead. Null: a caller asked for that time, or the row is older than this column. A retry whose time lies further ahead than that was put
-- off by a clock that was ahead, and is due: the index finds it.
alter table @.items add column wait bigint;
create index items_retried on @.items (queue, (run_at - wait)) where slot = 1 and wait is not null;

-- The latest time in the log, in microseconds since 1970, noted when a segment is earlier than one before it.
insert into @.meta values ('latest', '0');
