-- What the second wall let through.

-- No statement of Tenure names these columns, so this is looked at for others alone.
create trigger an_item_keeps_its_key_and_payload before update of key, payload_hash on items
when new.key is not old.key or new.payload_hash <> old.payload_hash
begin
    select raise(rollback, 'tenure: an item keeps its key and its payload');
end;

-- An item of a key that runs must say so in `exclusive` where others of its lifecycle do: what refuses a second one looks at no row
-- without it. Only a lease of an item with a key that does not say so is looked at.
drop trigger a_step_is_a_step;
create trigger a_step_is_a_step after update of id, queue, lifecycle, created, state, version, fence, committed, head on items
when new.version is not old.version + (new.state <> old.state or new.fence <> old.fence or new.head <> old.head)
    or new.fence < old.fence
    or (new.state <> old.state and not exists (
        select 1 from moves
        where lifecycle = old.lifecycle and from_state = old.state and to_state = new.state))
    or (old.committed is not null and new.committed is not old.committed)
    or new.lifecycle <> old.lifecycle or new.queue <> old.queue or new.created <> old.created or new.id <> old.id
    or (new.slot = 3 and new.key is not null and new.exclusive is null and exists (
        select 1 from items
        where queue = new.queue and exclusive = new.key and lifecycle = new.lifecycle))
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
    select raise(rollback, 'tenure: the version grows by one with every step, and with nothing else')
    where new.version is not old.version + (new.state <> old.state or new.fence <> old.fence or new.head <> old.head);
    select raise(rollback, 'tenure: one of a key runs at a time');
end;
