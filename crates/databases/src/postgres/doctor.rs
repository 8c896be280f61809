//! What the doctor asks of PostgreSQL: questions that can not write, the second wall, and the server's settings.
//!
//! What a setting means is judged in `judge`, which asks nothing.

mod judge;
mod wall;

use tenure_core::id::ItemId;
use tenure_core::time::Time;
use tokio_postgres::types::Type;

use super::Postgres;
use super::value::Uuid;
use crate::Error;
use crate::doctor::{Check, Examined, Found, Limits, Patient, ROWS_MAX, Row, Value, spoken, thousands};
use judge::{Facts, Pin};

const DIALECT: [(&str, &str); 5] = [
    ("{behind}", "i.slot = 4 and i.key is not null"),
    ("{in_lane}", "position(uuid_send(x.id) in l.running) > 0"),
    ("{log}", "(select pos, entries, lines, chain from @.segments where pos is not null)"),
    (
        "{segments}",
        "(select pos, entries from @.segments where pos is not null order by pos desc limit {rows})",
    ),
    ("{posted}", "(extract(epoch from p.created_at) * 1000000)::bigint"),
];

const WALL: Check = Check::wrong(
    "the second wall stands",
    "K-02, K-05, K-21",
    "somebody took constraints, triggers or indexes away: `tenure verify` the database, then `tenure export` it and \
             `tenure replay` it into a new one",
);
const SEQUENCER: Check = Check::wrong(
    "the log is given its order",
    "K-45",
    "nothing sequences it: start the server or a worker; if one runs, look at its log",
);

impl Patient for Postgres {
    async fn ask(&self, sql: &str) -> Result<Vec<Row>, Error> {
        let sql = spoken(sql, &DIALECT, &format!("{}.", self.schema));
        let rows = self.pool.lend().await?.look(&sql).await?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|column| value(row, column)).collect()).collect())
    }

    fn literal(id: ItemId) -> String {
        format!("'{:032x}'::uuid", id.0)
    }

    async fn now(&self) -> Result<Time, Error> {
        let sql = "select (extract(epoch from statement_timestamp()) * 1000000)::bigint";
        let rows = self.ask(sql).await?;
        Ok(Time::from_micros(rows.first().map_or(0, |row| row[0].number())))
    }

    async fn own(&self, limits: &Limits) -> Vec<Examined> {
        let mut all = vec![
            Examined::of(WALL, self.wall().await),
            Examined::of(SEQUENCER, self.sequencer(limits).await),
        ];
        match self.facts().await {
            Ok(facts) => all.extend(facts.judge(limits)),
            Err(why) => all.push(Examined::of(judge::SETTINGS, Err(why))),
        }
        all
    }
}

fn value(row: &tokio_postgres::Row, column: usize) -> Value {
    let of = row.columns()[column].type_();
    let number = |number: Option<i64>| number.map_or(Value::Null, Value::Number);
    match *of {
        Type::INT8 => number(row.get(column)),
        Type::INT4 => number(row.get::<_, Option<i32>>(column).map(i64::from)),
        Type::INT2 => number(row.get::<_, Option<i16>>(column).map(i64::from)),
        Type::BOOL => number(row.get::<_, Option<bool>>(column).map(i64::from)),
        Type::BYTEA => row.get::<_, Option<Vec<u8>>>(column).map_or(Value::Null, Value::Bytes),
        Type::UUID => {
            let id: Option<Uuid> = row.get(column);
            id.map_or(Value::Null, |id| Value::Bytes(id.0.to_be_bytes().to_vec()))
        }
        Type::TEXT | Type::VARCHAR | Type::NAME => {
            row.get::<_, Option<String>>(column).map_or(Value::Null, Value::Text)
        }
        _ => unreachable!("no question answers with {of}"),
    }
}

impl Postgres {
    /// Everything that stands beside the rows has its name in the migrations; what is not there by that name, or is switched off, is
    /// no wall.
    async fn wall(&self) -> Result<Examined, Error> {
        let schema = self.schema.trim_matches('"');
        let there = self
            .ask(&format!(
                "select 'trigger ' || t.tgname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid \
                 join pg_namespace n on n.oid = c.relnamespace \
                 where n.nspname = '{schema}' and not t.tgisinternal and t.tgenabled in ('O', 'A') \
                 union all select 'constraint ' || o.conname::text from pg_constraint o \
                 join pg_namespace n on n.oid = o.connamespace where n.nspname = '{schema}' and o.convalidated \
                 union all select 'index ' || c.relname::text from pg_index x join pg_class c on c.oid = x.indexrelid \
                 join pg_namespace n on n.oid = c.relnamespace where n.nspname = '{schema}' and x.indisvalid"
            ))
            .await?;
        let meant = wall::stones();
        let missing = meant.iter().filter(|stone| !there.iter().any(|row| row[0].text() == **stone));
        let found = missing.map(|stone| Found::new(stone, "is gone, or switched off")).collect();
        Ok(Examined::new(WALL, meant.len() as u64, found))
    }

    async fn sequencer(&self, limits: &Limits) -> Result<Examined, Error> {
        let late = self.now().await?.before(limits.late).micros();
        let rows = self
            .ask(
                "select count(*), min(w.at) from (select s.at from @.segments s where s.pos is null and s.entries > 0 \
                 order by s.seq limit {rows}) w",
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(Examined::new(SEQUENCER, 0, Vec::new())) };
        let (count, oldest) = (row[0].number(), row[1].number());
        let mut found = Vec::new();
        if count > 0 && oldest < late {
            let what =
                format!("{count} segments have no place, the oldest since {}", Time::from_micros(oldest));
            found.push(Found::new("the log", what));
        }
        let only = (count >= ROWS_MAX as i64).then(|| format!("the first {} segments", thousands(ROWS_MAX)));
        Ok(Examined::new(SEQUENCER, count.unsigned_abs(), found).only(only))
    }

    async fn facts(&self) -> Result<Facts, Error> {
        let schema = self.schema.trim_matches('"');
        let settings = self.ask("select name, setting from pg_settings").await?;
        let settings = settings.iter().map(|row| (row[0].text().to_string(), row[1].text().to_string()));
        let unvacuumed = self
            .ask(&format!(
                "select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace, \
                 lateral pg_options_to_table(c.reloptions) o where n.nspname = '{schema}' and c.relkind = 'r' \
                 and o.option_name = 'autovacuum_enabled' and not o.option_value::boolean order by 1"
            ))
            .await?;
        let frozen = self
            .ask(
                "select greatest(age(d.datfrozenxid), mxid_age(d.datminmxid)) from pg_database d \
                 where d.datname = current_database()",
            )
            .await?;
        Ok(Facts {
            settings: settings.collect(),
            unvacuumed: unvacuumed.iter().map(|row| row[0].text().to_string()).collect(),
            oldest_transaction: frozen.first().map_or(0, |row| row[0].number()),
            pins: self.pins().await?,
        })
    }

    /// Whoever keeps the server from removing dead rows. A backend of another database does not, but for those that send the log.
    async fn pins(&self) -> Result<Vec<Pin>, Error> {
        let rows = self
            .ask(
                "select 'process ' || a.pid, coalesce(a.usename::text, '?') || ', ' || coalesce(a.application_name, '') || ', ' \
                    || coalesce(a.state, '?'), extract(epoch from clock_timestamp() - a.xact_start)::bigint, \
                    age(a.backend_xmin)::bigint \
                 from pg_stat_activity a where a.backend_xmin is not null and a.pid <> pg_backend_pid() \
                    and (a.datname = current_database() or a.backend_type = 'walsender') \
                 union all select 'prepared transaction ' || p.gid, p.owner::text, \
                    extract(epoch from clock_timestamp() - p.prepared)::bigint, age(p.transaction)::bigint \
                 from pg_prepared_xacts p where p.database = current_database() \
                 union all select 'replication slot ' || s.slot_name::text, case when s.active then 'in use' else 'not in use' end, \
                    null, greatest(age(s.xmin), age(s.catalog_xmin))::bigint \
                 from pg_replication_slots s where s.xmin is not null or s.catalog_xmin is not null",
            )
            .await?;
        let pin = |row: &Row| Pin {
            who: row[0].text().to_string(),
            about: row[1].text().to_string(),
            seconds: matches!(row[2], Value::Number(_)).then(|| row[2].number().unsigned_abs()),
            transactions: row[3].number(),
        };
        Ok(rows.iter().map(pin).collect())
    }
}
