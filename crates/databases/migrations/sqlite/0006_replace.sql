-- The wall against REPLACE, for which SQLite deletes the rows that are in the way and fires no trigger of theirs; and around what
-- the wall itself reads: lifecycles and queues.

-- ── No row takes the place of another.

-- A rowid that nobody chose is -1 before the insert. Tenure chooses none.
create trigger an_item_takes_no_others_place before insert on items
when exists (select 1 from items where id = new.id) or new.rowid <> -1 or new.exclusive is not null
begin
    select raise(rollback, 'tenure: no item takes the place of another')
    where new.rowid <> -1 or exists (select 1 from items where id = new.id);
    select raise(rollback, 'tenure: one of a key runs at a time')
    where exists (select 1 from items where queue = new.queue and exclusive = new.exclusive);
end;

create trigger an_item_keeps_its_place before update of rowid, oid, _rowid_ on items
when new.rowid <> old.rowid
begin
    select raise(rollback, 'tenure: no item takes the place of another');
end;

create trigger one_of_a_key_runs before update of exclusive on items
when new.exclusive is not null and exists (
    select 1 from items where queue = new.queue and exclusive = new.exclusive and id <> old.id)
begin
    select raise(rollback, 'tenure: one of a key runs at a time');
end;

create trigger an_execution_takes_no_others_seat before insert on executions
when exists (select 1 from executions where item = new.item and seat = new.seat)
begin
    select raise(rollback, 'tenure: an execution that ended or committed does not change, but for its finish');
end;

create trigger a_mark_is_not_replaced before insert on marks
when exists (select 1 from marks where name = new.name)
begin
    select raise(rollback, 'tenure: a mark only grows');
end;

-- ── A lifecycle is added whole and stays as it is; which version of a kind is in force may change.

-- 0 while its states and moves are being written, in the transaction that adds it.
alter table lifecycles add column complete integer not null default 0 check (complete in (0, 1));
update lifecycles set complete = 1;

create trigger a_lifecycle_takes_no_others_place before insert on lifecycles
when exists (select 1 from lifecycles where lifecycle = new.lifecycle or hash = new.hash)
    or (new.in_force = 1 and exists (select 1 from lifecycles where kind = new.kind and in_force = 1))
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_lifecycle_is_not_changed before update on lifecycles
when new.lifecycle <> old.lifecycle or new.hash <> old.hash or new.kind <> old.kind or new.complete < old.complete
    or (new.in_force = 1 and exists (
        select 1 from lifecycles where kind = new.kind and in_force = 1 and lifecycle <> old.lifecycle))
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_lifecycle_stays before delete on lifecycles
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_move_comes_with_its_lifecycle before insert on moves
when not exists (select 1 from lifecycles where lifecycle = new.lifecycle and complete = 0)
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_state_comes_with_its_lifecycle before insert on states
when not exists (select 1 from lifecycles where lifecycle = new.lifecycle and complete = 0)
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_state_is_not_changed before update on states
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_state_stays before delete on states
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_queue_takes_no_others_number before insert on queues
when exists (select 1 from queues where queue = new.queue or (store = new.store and kind = new.kind))
begin
    select raise(rollback, 'tenure: the number of a queue always means the same');
end;

create trigger a_queue_is_not_changed before update on queues
begin
    select raise(rollback, 'tenure: the number of a queue always means the same');
end;

create trigger a_queue_stays before delete on queues
begin
    select raise(rollback, 'tenure: the number of a queue always means the same');
end;

-- ── What is removed is in the log.

-- A mark is made before the segment that says so is appended, and lets its item go after that: without a segment nothing goes.
-- A mark that somebody left behind is taken away by whoever appends next.
drop trigger an_item_stays;
create trigger an_item_stays before delete on items
when not exists (
    select 1 from leaving
    where item = old.id and version = old.version
        and segment = (select segment from segments order by segment desc limit 1))
begin
    select raise(rollback, 'tenure: an item is not deleted but by its retention; erase its bodies instead');
end;

drop trigger an_execution_stays;
create trigger an_execution_stays before delete on executions
when not exists (
    select 1 from leaving
    where item = old.item and segment = (select segment from segments order by segment desc limit 1))
begin
    select raise(rollback, 'tenure: an execution is not deleted but with its item');
end;
