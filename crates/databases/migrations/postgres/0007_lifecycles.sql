-- What the wall itself reads stays as it is: lifecycles and queues.

-- A lifecycle is added whole; which version of a kind is in force may change. Not complete while its states and moves are being
-- written, in the transaction that adds it.
alter table @.lifecycles add column complete boolean not null default false;
update @.lifecycles set complete = true;

create function @.judge_part() returns trigger language plpgsql as $$
begin
    if not exists (select from @.lifecycles l where l.lifecycle = new.lifecycle and not l.complete) then
        raise exception 'tenure: % refuses this: a lifecycle that was added is never changed', tg_table_name
            using errcode = 'restrict_violation';
    end if;
    return new;
end $$;

create trigger moves_added before insert on @.moves
    for each row execute function @.judge_part();
create trigger moves_kept before update or delete or truncate on @.moves
    for each statement execute function @.refuse('a lifecycle that was added is never changed');
create trigger states_added before insert on @.states
    for each row execute function @.judge_part();
create trigger states_kept before update or delete or truncate on @.states
    for each statement execute function @.refuse('a lifecycle that was added is never changed');
create trigger lifecycles_unchanged before update on @.lifecycles
    for each row when (new.lifecycle <> old.lifecycle or new.hash <> old.hash or new.kind <> old.kind
        or new.complete < old.complete)
    execute function @.refuse('a lifecycle that was added is never changed');
create trigger lifecycles_kept before delete or truncate on @.lifecycles
    for each statement execute function @.refuse('a lifecycle that was added is never changed');

create trigger queues_kept before update or delete or truncate on @.queues
    for each statement execute function @.refuse('the number of a queue always means the same');

create trigger marks_kept before truncate on @.marks
    for each statement execute function @.refuse('a mark only grows');
