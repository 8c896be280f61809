-- Removing what was kept for long enough, and finding what ended badly.

-- Which item (second) has or had a link to which (first). Only items with links have rows here.
create table linked (
    target blob not null,
    item blob not null,
    primary key (target, item)
) strict, without rowid;

-- Rows on their way out. A mark counts for the transaction that will write the next segment of the log, and goes with its item.
create table leaving (
    item blob not null primary key,
    version integer not null,
    segment integer not null
) strict, without rowid;

create trigger only_what_has_ended_for_good_leaves before insert on leaving
when new.segment is not coalesce((select segment + entries from segments order by segment desc limit 1), 1)
    or not exists (
        select 1 from items i join states s on s.lifecycle = i.lifecycle and s.state = i.state
        where i.id = new.item and i.version = new.version and i.slot = 0 and i.owner is null
            and s.phase in ('succeeded', 'failed', 'stopped')
            and not exists (select 1 from moves m where m.lifecycle = i.lifecycle and m.from_state = i.state))
begin
    select raise(rollback, 'tenure: only an item that has ended for good is removed');
end;

create trigger a_mark_is_not_changed before update on leaving
begin
    select raise(rollback, 'tenure: only an item that has ended for good is removed');
end;

drop trigger an_item_stays;
create trigger an_item_stays before delete on items
when not exists (
    select 1 from leaving
    where item = old.id and version = old.version
        and segment = coalesce((select segment + entries from segments order by segment desc limit 1), 1))
begin
    select raise(rollback, 'tenure: an item is not deleted but by its retention; erase its bodies instead');
end;

create trigger a_mark_goes_with_its_item after delete on items
begin
    delete from leaving where item = old.id;
end;

drop trigger an_execution_stays;
create trigger an_execution_stays before delete on executions
when not exists (
    select 1 from leaving
    where item = old.item
        and segment = coalesce((select segment + entries from segments order by segment desc limit 1), 1))
begin
    select raise(rollback, 'tenure: an execution is not deleted but with its item');
end;

-- An item that failed or was stopped has no place in a queue; its rank says which of the two. So a list of them reads no other.
update items set rank = -1 where slot = 0
    and (lifecycle, state) in (select lifecycle, state from states where phase = 'failed');
update items set rank = -2 where slot = 0
    and (lifecycle, state) in (select lifecycle, state from states where phase = 'stopped');
create index items_ended_badly on items (queue, rank, id) where slot = 0 and rank < 0;
