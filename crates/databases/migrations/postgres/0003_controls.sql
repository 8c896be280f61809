-- What holds kinds back: limits that several processes keep together, and an operator's word.

-- value: JSON; who paused it, when and why, and what the engine remembers of its pace. Whoever leases items of a limited kind has
-- this row locked.
create table @.controls (
    queue integer primary key,
    value text not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- By kind, so that the held items of one are counted without reading the others'.
drop index @.items_active;
create index items_active on @.items (queue, id) where slot = 3;

-- Of a key several may run. running: their ids, 16 bytes each. room: how many more may be leased; more_at: when time alone makes
-- it more; starts and over_at: what was leased of it lately, and when that is over.
drop index @.lanes_free;
alter table @.lanes rename column running to runs;
alter table @.lanes
    add column running bytea not null default '',
    add column starts bytea,
    add column room integer not null default 0,
    add column more_at bigint,
    add column over_at bigint;
-- Until now a kind that had lanes to wait behind ran one of a key at a time.
update @.lanes set running = coalesce(uuid_send(runs), ''), room = (runs is null)::integer;
alter table @.lanes drop column runs;

create index lanes_free on @.lanes (queue, next_rank, next_id) where room > 0 and next_id is not null;
create index lanes_more on @.lanes (queue, more_at) where more_at is not null and next_id is not null;
create index lanes_over on @.lanes (queue, over_at) where over_at is not null and next_id is null;
