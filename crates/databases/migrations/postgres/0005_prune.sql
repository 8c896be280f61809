-- Removing what was kept for long enough, and finding what ended badly.

-- Which item (second) has or had a link to which (first). Only items with links have rows here.
create table @.linked (
    target uuid not null,
    item uuid not null,
    primary key (target, item)
);

-- Rows on their way out: there within the transaction that removes them, and for it alone.
create table @.leaving (
    item uuid primary key,
    version bigint not null,
    segment bigint not null,
    tx xid8 not null default pg_current_xact_id()
);

create function @.judge_leaving() returns trigger language plpgsql as $$
begin
    if not exists (
        select from @.items i join @.states s using (lifecycle, state)
        where i.id = new.item and i.version = new.version and i.slot = 0 and i.owner is null
            and s.phase in ('succeeded', 'failed', 'stopped')
            and not exists (select from @.moves m where m.lifecycle = i.lifecycle and m.from_state = i.state))
        or new.tx <> pg_current_xact_id()
    then
        raise exception 'tenure: items refuses this: only an item that has ended for good is removed (item %)', new.item
            using errcode = 'restrict_violation';
    end if;
    return new;
end $$;

create trigger leaving_judged before insert or update on @.leaving
    for each row execute function @.judge_leaving();

-- At the end of the transaction: its own segment of the log, which says what was removed, must be there.
create function @.judge_left() returns trigger language plpgsql as $$
begin
    if not exists (
        select from @.segments s
        where s.segment = new.segment and s.entries > 0 and s.xmin = pg_current_xact_id()::xid)
    then
        raise exception 'tenure: items refuses this: what is removed is in the log (item %)', new.item
            using errcode = 'restrict_violation';
    end if;
    return null;
end $$;

create constraint trigger leaving_logged after insert on @.leaving
    deferrable initially deferred for each row execute function @.judge_left();

create function @.judge_removed() returns trigger language plpgsql as $$
begin
    if tg_table_name = 'items' then
        if exists (select from @.leaving l
            where l.item = old.id and l.version = old.version and l.tx = pg_current_xact_id())
        then
            return old;
        end if;
        raise exception 'tenure: items refuses this: an item is never deleted but by its retention'
            using errcode = 'restrict_violation';
    end if;
    if exists (select from @.leaving l where l.item = old.item and l.tx = pg_current_xact_id()) then
        return old;
    end if;
    raise exception 'tenure: executions refuses this: an execution is never deleted but with its item'
        using errcode = 'restrict_violation';
end $$;

drop trigger items_kept on @.items;
create trigger items_kept before truncate on @.items
    for each statement execute function @.refuse('an item is never deleted');
create trigger items_removed before delete on @.items
    for each row execute function @.judge_removed();
drop trigger executions_kept on @.executions;
create trigger executions_kept before truncate on @.executions
    for each statement execute function @.refuse('an execution is never deleted');
create trigger executions_removed before delete on @.executions
    for each row execute function @.judge_removed();

-- An item that failed or was stopped has no place in a queue; its rank says which of the two. So a list of them reads no other.
update @.items i set rank = case s.phase when 'failed' then -1 else -2 end
from @.states s
where s.lifecycle = i.lifecycle and s.state = i.state and i.slot = 0 and s.phase in ('failed', 'stopped');
create index items_ended_badly on @.items (queue, rank, id) where slot = 0 and rank < 0;
