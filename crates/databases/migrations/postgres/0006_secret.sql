-- What only this database knows: servers on it sign leases with it. A copy that is replayed has its own.
insert into @.meta values ('secret', encode(sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')), 'hex'));
