-- How far a reader of the log has come, by its name. It only grows: who has read on never reads back.
create table marks (
    name text not null primary key,
    value integer not null check (value >= 0)
) strict, without rowid;

create trigger a_mark_only_grows before update on marks
when new.value < old.value or new.name <> old.name
begin
    select raise(rollback, 'tenure: a mark only grows');
end;
