-- What holds kinds back: limits that several processes keep together, and an operator's word.

-- value: JSON; who paused it, when and why, and what the engine remembers of its pace.
create table controls (
    queue integer primary key,
    value text not null
) strict;

-- By kind, so that the held items of one are counted without reading the others'.
drop index items_active;
create index items_active on items (queue, id) where slot = 3;

-- Of a key several may run. running: their ids, 16 bytes each. room: how many more may be leased; more_at: when time alone makes
-- it more; starts and over_at: what was leased of it lately, and when that is over.
drop index lanes_next;
alter table lanes rename column running to runs;
alter table lanes add column running blob not null default x'';
alter table lanes add column starts blob;
alter table lanes add column room integer not null default 0;
alter table lanes add column more_at integer;
alter table lanes add column over_at integer;
-- Until now a kind that had lanes to wait behind ran one of a key at a time.
update lanes set running = coalesce(runs, x''), room = runs is null;
alter table lanes drop column runs;

create index lanes_next on lanes (queue, next_rank, next_id) where room > 0 and next_id is not null;
create index lanes_more on lanes (queue, more_at) where more_at is not null and next_id is not null;
create index lanes_over on lanes (queue, over_at) where over_at is not null and next_id is null;
