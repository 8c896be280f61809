-- The tables of Tenure. `@` stands for the schema's name and is put in, quoted, by the program that applies this file.
--
-- Ids are 16 bytes, hashes 32, times microseconds since 1970. Nothing here decides anything: what is refused here was
-- decided wrongly, or written by something that is not Tenure.

create table @.meta (
    name text collate "C" primary key,
    value text
);
-- Whoever has this row locked reads the inbox.
insert into @.meta values ('inbox', null);
-- Grows with every change to the lifecycles, so that other processes learn of it.
insert into @.meta values ('catalog', '1');

create table @.lifecycles (
    lifecycle integer generated always as identity primary key,
    hash bytea not null unique,
    kind text collate "C" not null,
    source text not null,
    in_force boolean not null
);
create unique index lifecycles_in_force on @.lifecycles (kind) where in_force;

create table @.states (
    lifecycle integer not null,
    state smallint not null,
    name text not null,
    phase text not null,
    primary key (lifecycle, state)
);

-- The legal moves, as data: a new lifecycle needs no change to the hot table.
create table @.moves (
    lifecycle integer not null,
    from_state smallint not null,
    to_state smallint not null,
    primary key (lifecycle, from_state, to_state)
);

create table @.queues (
    queue integer generated always as identity primary key,
    store text collate "C" not null,
    kind text collate "C" not null,
    unique (store, kind)
);

-- slot: which index holds the row. 0 none, 1 scheduled, 2 ready, 3 active, 4 ready behind its lane, -1 quarantined.
create table @.items (
    id uuid primary key,
    queue integer not null,
    lifecycle integer not null,
    state smallint not null,
    slot smallint not null check (slot between -1 and 4),
    rank bigint not null,
    version bigint not null check (version >= 1),
    fence bigint not null check (fence >= 0),
    run_at bigint not null,
    created bigint not null,
    updated bigint not null,
    key text collate "C",
    exclusive text collate "C",
    owner text collate "C",
    heartbeat bigint,
    expires bigint,
    window_ends bigint,
    session uuid,
    committed bigint,
    segment bigint not null,
    head bytea not null,
    payload_hash bytea not null,
    payload bytea,
    rest bytea not null,
    constraint items_committed_was_leased check (committed <= fence),
    constraint items_held_while_active check (slot = -1 or (slot = 3) = (owner is not null)),
    constraint items_lease_is_whole
        check ((owner is null) = (expires is null) and (owner is null) = (heartbeat is null))
) with (
    -- A started or renewed item is written to its own page again, so that no index is touched.
    fillfactor = 75,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
create index items_ready on @.items (queue, rank, id) where slot = 2;
create index items_scheduled on @.items (queue, run_at, id) where slot = 1;
-- Not on the expiry: a renewal would write the index.
create index items_active on @.items (id) where slot = 3;
-- The second running item of a key is refused here.
create unique index items_one_running_a_key on @.items (queue, exclusive) where exclusive is not null;
create index items_of_lane on @.items (queue, key, slot, created, id) where slot in (1, 4) and key is not null;
create index items_session on @.items (session) where session is not null;

-- seat: 0 for the execution that committed, of which there is one; otherwise its fence.
create table @.executions (
    item uuid not null,
    seat bigint not null,
    fence bigint not null,
    status smallint not null check (status between 3 and 5),
    rest bytea not null,
    primary key (item, seat),
    constraint executions_one_committed check ((seat = 0) = (status in (3, 4))),
    constraint executions_seat check (seat in (0, fence))
);

create table @.names (
    store text collate "C" not null,
    scope text collate "C" not null,
    name text collate "C" not null,
    value bytea not null,
    primary key (store, scope, name)
);

-- next: the oldest item that is ready behind this lane, and its rank. Claims on exclusive kinds walk over lanes, so a busy
-- key costs nothing however many items wait for it.
create table @.lanes (
    queue integer not null,
    key text collate "C" not null,
    running uuid,
    open uuid,
    latest uuid,
    next_id uuid,
    next_rank bigint,
    primary key (queue, key)
) with (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index lanes_free on @.lanes (queue, next_rank, next_id) where running is null and next_id is not null;

create table @.records (
    id uuid primary key,
    item uuid not null,
    fence bigint,
    label text collate "C" not null,
    name text collate "C" not null,
    hash bytea not null,
    version bigint not null,
    at bigint not null,
    body bytea
);
create index records_of_item on @.records (item, version);

-- part: 0 payload, 1 output.
create table @.bodies (
    item uuid not null,
    part smallint not null,
    body bytea not null,
    primary key (item, part)
);

create table @.outbox (
    item uuid not null,
    version bigint not null,
    ordinal integer not null,
    label text collate "C" not null,
    body bytea not null,
    primary key (item, version, ordinal)
);

-- One row a transaction. The number is an identity, drawn early; `seq` is drawn last before the commit, after all locks,
-- so that for one item its order is the order of commits; `pos` and `chain` are given by a sequencer, once.
create sequence @.segment_numbers;
create sequence @.segment_order;
create table @.segments (
    segment bigint primary key,
    batch uuid not null unique,
    seq bigint not null,
    pos bigint,
    entries integer not null,
    at bigint not null,
    lines bytea not null,
    chain bytea,
    constraint segments_placed_whole check ((pos is null) = (chain is null))
);
-- They are pressed together already.
alter table @.segments alter column lines set storage external;
create unique index segments_placed on @.segments (pos) where pos is not null;
create index segments_waiting on @.segments (seq) where pos is null and entries > 0;

create table @.quarantine (
    item uuid primary key,
    why text not null,
    at bigint not null
);

-- Anybody's own transaction may put work here. Nothing is checked, so that nothing of theirs fails for our reasons; a row
-- that makes no item stays, with the error.
create table @.tenure_inbox (
    id bigint generated by default as identity primary key,
    store text,
    kind text,
    payload text,
    idempotency_key text,
    key text,
    priority bigint,
    run_at timestamptz,
    error text,
    created_at timestamptz not null default now()
);
create index tenure_inbox_waiting on @.tenure_inbox (id) where error is null;
