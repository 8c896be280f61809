-- What only this database knows: servers on it sign leases with it. A copy that is replayed has its own.
insert into meta (name, value) values ('secret', lower(hex(randomblob(32))));
