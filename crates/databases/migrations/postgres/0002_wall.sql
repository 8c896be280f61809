-- The second wall: what the kernel would never do is refused to everybody, psql included.

create function @.refuse() returns trigger language plpgsql as $$
begin
    raise exception 'tenure: % refuses this: %', tg_table_name, tg_argv[0] using errcode = 'restrict_violation';
end $$;

-- One look at all rows of a statement: the cheapest of the forms that were measured.
create function @.judge_items() returns trigger language plpgsql as $$
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
            else 'its lifecycle has no such move'
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
    limit 1;
    if found then
        raise exception 'tenure: items refuses this: % (item %)', wrong.why, wrong.id
            using errcode = 'restrict_violation';
    end if;
    return null;
end $$;

create trigger items_judged after update on @.items
    referencing old table as stale new table as fresh
    for each statement execute function @.judge_items();
create trigger items_kept before delete or truncate on @.items
    for each statement execute function @.refuse('an item is never deleted');

create trigger executions_final before update on @.executions
    for each row when (old.status <> 3 or new.item <> old.item or new.fence <> old.fence)
    execute function @.refuse('an execution that ended never changes');
create trigger executions_kept before delete or truncate on @.executions
    for each statement execute function @.refuse('an execution is never deleted');

-- Named columns, so that placing a segment does not read its lines.
create trigger segments_unchanged before update of segment, batch, seq, entries, at, lines on @.segments
    for each row execute function @.refuse('the log is append-only');
create trigger segments_placed_once before update of pos, chain on @.segments
    for each row when (old.pos is not null or new.pos is null)
    execute function @.refuse('a place in the log is given once');
create trigger segments_kept before delete or truncate on @.segments
    for each statement execute function @.refuse('the log is append-only');

-- For people.

-- An id as it is shown everywhere else: 26 characters of Crockford's alphabet.
create function @.shown(id uuid) returns text language plpgsql immutable strict parallel safe as $$
declare
    bytes bytea := '\x0000'::bytea || uuid_send(id);
    shown text := '';
    at integer;
    five integer;
begin
    -- 130 bits in 26 digits: the first digit has three of them.
    for digit in 0..25 loop
        five := 0;
        for bit in 0..4 loop
            at := 14 + digit * 5 + bit;
            five := five * 2 + get_bit(bytes, (at / 8) * 8 + 7 - at % 8);
        end loop;
        shown := shown || substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', five + 1, 1);
    end loop;
    return shown;
end $$;

create function @.moment(micros bigint) returns timestamptz language sql immutable strict parallel safe as
    $$ select timestamptz 'epoch' + micros * interval '1 microsecond' $$;

create view @.tenure_items as
select @.shown(i.id) as id, q.store, q.kind, s.name as state, s.phase, i.version, i.fence as claim_version, i.key,
    i.owner, @.moment(i.expires) as lease_expires_at, @.moment(i.run_at) as run_at,
    @.moment(i.created) as created_at, @.moment(i.updated) as updated_at,
    convert_from(coalesce(i.payload, b.body), 'utf8') as payload, i.id as raw_id
from @.items i
join @.queues q using (queue)
left join @.states s using (lifecycle, state)
left join @.bodies b on b.item = i.id and b.part = 0;

create view @.tenure_queues as
select q.store, q.kind, s.name as state, s.phase, count(*) as items
from @.items i join @.queues q using (queue) left join @.states s using (lifecycle, state)
group by 1, 2, 3, 4;
