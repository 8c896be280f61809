-- The view for people, in words that every SQLite since 3.37 understands: one that can not read a view can not read the file, and
-- then its owner's programs could not write to the inbox either.

drop view tenure_items;
create view tenure_items as
select
    -- An id as it is shown everywhere else: 26 characters of Crockford's alphabet, five bits each, from the right.
    (with recursive shown (bit, text) as (
        select 0, ''
        union all
        select bit + 5, substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + ((
                ((instr('0123456789ABCDEF', substr(hex(i.id), 32 - bit / 4, 1)) - 1)
                | ((instr('0123456789ABCDEF', substr(hex(i.id), 31 - bit / 4, 1)) - 1) << 4)) >> (bit % 4)) & 31), 1) || text
        from shown where bit < 130)
    select text from shown where bit = 130) as id,
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
