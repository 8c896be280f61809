-- Tenure on SQLite. Ids are 16 bytes, hashes 32, times are microseconds since 1970. What a column means is said in
-- src/row/; which columns there are is said here. Nothing here decides anything: constraints and triggers only refuse
-- what the kernel never writes.

create table meta (
    name text primary key,
    value any
) strict, without rowid;

-- Grows with every lifecycle that is put in force, so that a connection knows when to read them again.
insert into meta (name, value) values ('lifecycles', 0);

-- Every version ever added. Items keep the one they were created under.
create table lifecycles (
    lifecycle integer primary key,
    hash blob not null unique,
    kind text not null,
    source text not null,
    in_force integer not null check (in_force in (0, 1))
) strict;

create unique index lifecycles_in_force on lifecycles (kind) where in_force = 1;

-- The legal moves, as data.
create table moves (
    lifecycle integer not null references lifecycles,
    from_state integer not null,
    to_state integer not null,
    primary key (lifecycle, from_state, to_state)
) strict, without rowid;

create table states (
    lifecycle integer not null references lifecycles,
    state integer not null,
    name text not null,
    phase text not null,
    primary key (lifecycle, state)
) strict, without rowid;

-- A store's items of one kind. A number once committed never means anything else.
create table queues (
    queue integer primary key,
    store text not null,
    kind text not null,
    unique (store, kind)
) strict;

-- slot: -1 quarantined, 0 none, 1 scheduled, 2 ready, 3 active.
-- laned: 1 where a key has its turn (an item of an exclusive kind with a key): it is claimed over `lanes`.
create table items (
    id blob not null unique check (length(id) = 16),
    queue integer not null,
    lifecycle integer not null,
    state integer not null,
    slot integer not null,
    laned integer not null,
    rank integer not null,
    version integer not null,
    fence integer not null,
    run_at integer not null,
    created integer not null,
    updated integer not null,
    key text,
    exclusive text,
    owner text,
    heartbeat integer,
    expires integer,
    window_ends integer,
    session blob,
    committed integer,
    segment integer not null,
    head blob not null,
    payload_hash blob not null,
    payload blob,
    rest blob not null,
    constraint an_item_has_a_version check (version >= 1),
    constraint a_fence_is_no_less_than_what_committed check (fence >= coalesce(committed, 0)),
    constraint there_is_such_a_slot check (slot between -1 and 3),
    constraint an_item_is_leased_while_it_is_active check (
        case slot
            when 3 then owner is not null and expires is not null and heartbeat is not null
            when -1 then true
            else owner is null and expires is null
        end
    )
) strict;

-- What a claim looks at, in the order in which it offers.
create index items_ready on items (queue, rank, id) where slot = 2 and laned = 0;
create index items_scheduled on items (queue, run_at, id) where slot = 1;
-- Not by expiry: a renewal would have to move its row.
create index items_active on items (id) where slot = 3;
-- The next of a key is the oldest of it.
create index items_in_lane on items (queue, key, created, id) where slot = 2 and laned = 1;
-- The second wall of K-31: one running a key.
create unique index one_is_running_a_key on items (queue, exclusive) where exclusive is not null;

-- seat: 0 for the one that committed, otherwise its fence. So the key itself refuses a second commit.
-- status: 3 committed, 4 done, 5 aborted.
create table executions (
    item blob not null,
    seat integer not null check (seat in (0, fence)),
    fence integer not null,
    status integer not null check (status between 3 and 5),
    rest blob not null,
    primary key (item, seat),
    constraint the_committed_one_has_the_first_seat check ((seat = 0) = (status in (3, 4)))
) strict, without rowid;

create table names (
    store text not null,
    scope text not null,
    name text not null,
    value blob not null,
    primary key (store, scope, name)
) strict, without rowid;

-- running, open, latest are the kernel's lane; next_id and next_rank are which ready item of the key comes next.
create table lanes (
    queue integer not null,
    key text not null,
    running blob,
    open blob,
    latest blob,
    next_id blob,
    next_rank integer,
    primary key (queue, key)
) strict, without rowid;

create index lanes_next on lanes (queue, next_rank, next_id) where running is null and next_id is not null;

create table records (
    id blob not null primary key,
    item blob not null,
    fence integer,
    label text not null,
    name text not null,
    hash blob not null,
    version integer not null,
    at integer not null,
    body blob
) strict, without rowid;

create index records_of_item on records (item, version);

-- part: 0 a payload that is too long for its row, 1 an output.
create table bodies (
    item blob not null,
    part integer not null check (part in (0, 1)),
    body blob not null,
    primary key (item, part)
) strict, without rowid;

create table outbox (
    item blob not null,
    version integer not null,
    ordinal integer not null,
    label text not null,
    body blob not null,
    primary key (item, version, ordinal)
) strict, without rowid;

-- The log: one row a transaction, named by the position of its first entry. chain is the log's chain after its last. A batch
-- is looked for only after a commit that was not heard of, and then among the last: no index is worth its upkeep.
create table segments (
    segment integer primary key,
    batch blob not null,
    entries integer not null check (entries >= 1),
    at integer not null,
    lines blob not null,
    chain blob not null
) strict;

-- Items whose row can not be read. They are offered to nobody.
create table quarantine (
    item blob not null primary key,
    why text not null,
    at integer not null
) strict, without rowid;

-- For anybody's own transaction: insert a kind and a payload. A row with an error was judged and is kept for its owner.
-- No constraint here may break the transaction it is written in.
create table tenure_inbox (
    id integer primary key autoincrement,
    kind,
    payload,
    idempotency_key,
    key,
    priority,
    run_at,
    store,
    error text,
    created_at text default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

create index inbox_waiting on tenure_inbox (id) where error is null;

-- ── The second wall: what no program may do to these rows, Tenure's own included.
-- They roll the whole transaction back: a trigger that undoes only its statement makes SQLite copy every page that a
-- statement changes before it changes it, which costs a third of all writes.

create trigger a_step_is_a_step after update of id, queue, lifecycle, created, state, version, fence, committed, head on items
when new.version is not old.version + (new.state <> old.state or new.fence <> old.fence or new.head <> old.head)
    or new.fence < old.fence
    or (new.state <> old.state and not exists (
        select 1 from moves
        where lifecycle = old.lifecycle and from_state = old.state and to_state = new.state))
    or (old.committed is not null and new.committed is not old.committed)
    or new.lifecycle <> old.lifecycle or new.queue <> old.queue or new.created <> old.created or new.id <> old.id
begin
    select raise(rollback, 'tenure: an item keeps its id, queue, lifecycle and creation time')
    where new.id <> old.id or new.queue <> old.queue or new.lifecycle <> old.lifecycle or new.created <> old.created;
    select raise(rollback, 'tenure: a claim version never falls') where new.fence < old.fence;
    select raise(rollback, 'tenure: an item commits once, and what committed stays')
    where old.committed is not null and new.committed is not old.committed;
    select raise(rollback, 'tenure: the lifecycle has no such move')
    where new.state <> old.state and not exists (
        select 1 from moves
        where lifecycle = old.lifecycle and from_state = old.state and to_state = new.state);
    select raise(rollback, 'tenure: the version grows by one with every step, and with nothing else');
end;

create trigger an_item_stays before delete on items
begin
    select raise(rollback, 'tenure: an item is not deleted; erase its bodies instead');
end;

create trigger an_execution_that_ended_stays_so before update on executions
when old.status <> 3 or new.status <> 4 or new.fence <> old.fence or new.item <> old.item or new.seat <> old.seat
begin
    select raise(rollback, 'tenure: an execution that ended or committed does not change, but for its finish');
end;

create trigger an_execution_stays before delete on executions
begin
    select raise(rollback, 'tenure: an execution is not deleted');
end;

create trigger the_log_is_not_changed before update on segments
begin
    select raise(rollback, 'tenure: the log is append-only');
end;

create trigger the_log_is_not_cut before delete on segments
begin
    select raise(rollback, 'tenure: the log is append-only');
end;

create trigger the_log_has_no_holes before insert on segments
when new.segment <> coalesce((select segment + entries from segments order by segment desc limit 1), 1)
begin
    select raise(rollback, 'tenure: the log is append-only');
end;

create trigger a_move_stays before delete on moves
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

create trigger a_move_is_not_changed before update on moves
begin
    select raise(rollback, 'tenure: a lifecycle that was added is never changed');
end;

-- ── For people.

create view tenure_items as
select
    (select group_concat(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((
            ((instr('0123456789ABCDEF', substr(hex(i.id), 32 - o / 4, 1)) - 1)
            | ((instr('0123456789ABCDEF', substr(hex(i.id), 31 - o / 4, 1)) - 1) << 4)) >> (o % 4)) & 31), 1), ''
            order by o desc)
        from (select value * 5 as o from json_each('[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]'))
    ) as id,
    q.store,
    q.kind,
    s.name as state,
    s.phase,
    i.version,
    i.fence as claim_version,
    i.key,
    i.owner,
    strftime('%Y-%m-%dT%H:%M:%fZ', i.expires / 1000000.0, 'unixepoch') as lease_expires_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', i.run_at / 1000000.0, 'unixepoch') as run_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', i.created / 1000000.0, 'unixepoch') as created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', i.updated / 1000000.0, 'unixepoch') as updated_at,
    (select why from quarantine where item = i.id) as quarantined
from items i
join queues q using (queue)
left join states s on s.lifecycle = i.lifecycle and s.state = i.state;
