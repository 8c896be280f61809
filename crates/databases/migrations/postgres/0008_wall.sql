-- What the second wall let through.

-- An execution that committed is done, and nothing else: its seat, which no second one gets, is not left.
drop trigger executions_final on @.executions;
create trigger executions_final before update on @.executions
    for each row when (old.status <> 3 or new.status <> 4
        or new.item <> old.item or new.fence <> old.fence or new.seat <> old.seat)
    execute function @.refuse('an execution that ended never changes');

-- An item of a key that runs must say so in `exclusive` where others of its lifecycle do: the index that refuses a second one holds no
-- row without it. Only a lease of an item with a key that does not say so is looked at.
create or replace function @.judge_items() returns trigger language plpgsql as $$
declare
    wrong record;
begin
    select coalesce(o.id, n.id) as id,
        case
            when o.id is null or n.id is null then 'the id of an item never changes'
            when n.lifecycle <> o.lifecycle or n.queue <> o.queue or n.created <> o.created
                or n.key is distinct from o.key or n.payload_hash <> o.payload_hash
                then 'an item keeps its lifecycle, queue, key, payload and time of creation'
            when n.fence < o.fence then 'a fence never falls'
            when o.committed is not null and n.committed is distinct from o.committed
                then 'what has committed stays committed'
            when (n.state <> o.state or n.fence <> o.fence or n.head <> o.head) and n.version <> o.version + 1
                then 'a step makes the version grow by one'
            when n.version <> o.version and n.head = o.head then 'a version is a step, and a step has an entry'
            when n.state <> o.state and not exists (
                select from @.moves m
                where m.lifecycle = n.lifecycle and m.from_state = o.state and m.to_state = n.state)
                then 'its lifecycle has no such move'
            else 'one of a key runs at a time'
        end as why
    into wrong
    from stale o full join fresh n on n.id = o.id
    where o.id is null or n.id is null
        or n.lifecycle <> o.lifecycle or n.queue <> o.queue or n.created <> o.created
        or n.key is distinct from o.key or n.payload_hash <> o.payload_hash
        or n.fence < o.fence
        or (o.committed is not null and n.committed is distinct from o.committed)
        or ((n.state <> o.state or n.fence <> o.fence or n.head <> o.head) and n.version <> o.version + 1)
        or (n.version <> o.version and n.head = o.head)
        or (n.state <> o.state and not exists (
            select from @.moves m
            where m.lifecycle = n.lifecycle and m.from_state = o.state and m.to_state = n.state))
        -- Not `exists`, which may be planned as one look at all rows beforehand.
        or (n.slot = 3 and n.key is not null and n.exclusive is null and (
            select true from @.items x
            where x.queue = n.queue and x.exclusive = n.key and x.lifecycle = n.lifecycle limit 1))
    limit 1;
    if found then
        raise exception 'tenure: items refuses this: % (item %)', wrong.why, wrong.id
            using errcode = 'restrict_violation';
    end if;
    return null;
end $$;
