-- How far a reader of the log has come, by its name. It only grows: who has read on never reads back.
create table @.marks (
    name text collate "C" primary key,
    value bigint not null check (value >= 0)
);
create trigger marks_grow before update on @.marks
    for each row when (new.value < old.value or new.name <> old.name)
    execute function @.refuse('a mark only grows');
