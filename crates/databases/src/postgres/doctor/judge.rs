//! What a server's settings mean for what Tenure promises: a function of what was read, and of nothing else.

use std::collections::BTreeMap;

use crate::doctor::{Check, Examined, Found, Limits};

/// What was read from the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Facts {
    /// As our own connections have them, by name: of the server, the database, the role or the URL.
    pub settings: BTreeMap<String, String>,
    /// Tables of ours that are never vacuumed.
    pub unvacuumed: Vec<String>,
    /// In transactions.
    pub oldest_transaction: i64,
    pub pins: Vec<Pin>,
}

/// Somebody who keeps dead rows from being removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pin {
    pub who: String,
    pub about: String,
    /// None: it is not counted in time, as a replication slot.
    pub seconds: Option<u64>,
    pub transactions: i64,
}

/// Below this the statements of Tenure were never tried.
const VERSION_MIN: i64 = 150_000;
/// The server refuses to write at two thousand million; half of it is months for most, and days for some.
const AGE_MAX: i64 = 1_000_000_000;
/// A slot that is in use is a little behind. So many transactions are minutes at the highest rate.
const SLOT_BEHIND_MAX: i64 = 1_000_000;

pub(super) const SETTINGS: Check = Check::wrong(
    "the server's settings",
    "K-03",
    "let the role read pg_settings, pg_stat_activity and pg_replication_slots: grant pg_monitor to it",
);
const FSYNC: Check =
    Check::wrong("what is committed reaches the disk", "K-03", "set fsync = on, and reload the server");
const PAGES: Check =
    Check::wrong("pages are written whole", "K-03", "set full_page_writes = on, and reload the server");
const COMMIT: Check = Check::wrong(
    "a commit is answered when it is durable",
    "K-03",
    "set synchronous_commit = on for this role and database: alter role … reset synchronous_commit",
);
const CHECKSUMS: Check = Check::wrong(
    "damage is not passed over",
    "K-53",
    "set zero_damaged_pages and ignore_checksum_failure to off: they are for rescuing data, not for work",
);
const AUTOVACUUM: Check = Check::wrong(
    "dead rows are removed",
    "K-55",
    "set autovacuum = on, and alter table … reset (autovacuum_enabled) for the tables that are named",
);
const HORIZON: Check = Check::wrong(
    "nobody keeps dead rows",
    "K-55",
    "end it: select pg_terminate_backend(PID), rollback prepared 'NAME', or select pg_drop_replication_slot('NAME')",
);
const WRAPAROUND: Check = Check::wrong(
    "transaction numbers do not run out",
    "K-53",
    "run vacuum freeze in this database, and look what keeps autovacuum from doing so",
);
const VERSION: Check = Check::wrong("the server is new enough", "K-53", "use PostgreSQL 15 or newer");
const ISOLATION: Check = Check::wrong(
    "transactions are isolated as Tenure expects",
    "K-53",
    "set default_transaction_isolation = 'read committed' for this role and database: others make batches fail for nothing",
);

impl Facts {
    pub fn judge(&self, limits: &Limits) -> Vec<Examined> {
        vec![
            self.setting(FSYNC, "fsync", |value| value == "off"),
            self.setting(PAGES, "full_page_writes", |value| value == "off"),
            self.setting(COMMIT, "synchronous_commit", |value| value == "off"),
            self.damage(),
            self.autovacuum(),
            self.horizon(limits),
            self.wraparound(),
            self.setting(VERSION, "server_version_num", |value| {
                value.parse::<i64>().is_ok_and(|number| number < VERSION_MIN)
            }),
            self.setting(ISOLATION, "default_transaction_isolation", |value| value != "read committed"),
        ]
    }

    fn off(&self, name: &str, is_bad: impl Fn(&str) -> bool) -> Option<Found> {
        let value = self.settings.get(name).filter(|value| is_bad(value))?;
        Some(Found::new(name, format!("is {value}")))
    }

    fn setting(&self, check: Check, name: &str, is_bad: impl Fn(&str) -> bool) -> Examined {
        let looked_at = u64::from(self.settings.contains_key(name));
        Examined::new(check, looked_at, self.off(name, is_bad).into_iter().collect())
    }

    fn damage(&self) -> Examined {
        let names = ["zero_damaged_pages", "ignore_checksum_failure"];
        let found = names.iter().filter_map(|name| self.off(name, |value| value == "on"));
        Examined::new(CHECKSUMS, names.len() as u64, found.collect())
    }

    fn autovacuum(&self) -> Examined {
        let mut found: Vec<Found> = self.off("autovacuum", |value| value == "off").into_iter().collect();
        found.extend(
            self.unvacuumed.iter().map(|table| Found::new(format!("table {table}"), "is never vacuumed")),
        );
        Examined::new(AUTOVACUUM, 1 + self.unvacuumed.len() as u64, found)
    }

    fn horizon(&self, limits: &Limits) -> Examined {
        let is_bad = |pin: &&Pin| match pin.seconds {
            Some(seconds) => seconds >= limits.pinned.as_secs(),
            None => pin.transactions >= SLOT_BEHIND_MAX,
        };
        let found = self.pins.iter().filter(is_bad).map(|pin| {
            let since = pin.seconds.map_or(String::new(), |seconds| format!(", since {} min", seconds / 60));
            Found::new(&pin.who, format!("{}{since}, {} transactions behind", pin.about, pin.transactions))
        });
        Examined::new(HORIZON, self.pins.len() as u64, found.collect())
    }

    fn wraparound(&self) -> Examined {
        let age = self.oldest_transaction;
        let found =
            (age > AGE_MAX).then(|| Found::new("the database", format!("its oldest is {age} behind")));
        Examined::new(WRAPAROUND, 1, found.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    /// As a server has them that nobody has touched.
    fn well() -> Facts {
        let settings = [
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
            ("zero_damaged_pages", "off"),
            ("ignore_checksum_failure", "off"),
            ("autovacuum", "on"),
            ("server_version_num", "170006"),
            ("default_transaction_isolation", "read committed"),
        ];
        let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let young = Pin {
            who: "process 7".into(),
            about: "ann, psql, active".into(),
            seconds: Some(599),
            transactions: 9,
        };
        Facts { settings, unvacuumed: Vec::new(), oldest_transaction: 200_000_000, pins: vec![young] }
    }

    fn set(name: &str, value: &str) -> Facts {
        let mut facts = well();
        facts.settings.insert(name.to_string(), value.to_string());
        facts
    }

    fn told(facts: &Facts) -> Vec<String> {
        let judged = facts.judge(&Limits::default()).into_iter().filter(|one| one.verdict != Verdict::Well);
        judged.map(|one| format!("{}: {} {}", one.check.name, one.found[0].id, one.found[0].what)).collect()
    }

    // covers: K-03, K-53, K-55
    #[test]
    fn each_setting_that_endangers_a_server_is_told_alone() {
        assert_eq!(told(&well()), [""; 0]);
        let pin = |seconds, transactions| Pin {
            who: "prepared transaction x".into(),
            about: "ann".into(),
            seconds,
            transactions,
        };
        for (facts, what) in [
            (set("fsync", "off"), "what is committed reaches the disk: fsync is off"),
            (set("full_page_writes", "off"), "pages are written whole: full_page_writes is off"),
            (
                set("synchronous_commit", "off"),
                "a commit is answered when it is durable: synchronous_commit is off",
            ),
            (set("zero_damaged_pages", "on"), "damage is not passed over: zero_damaged_pages is on"),
            (
                set("ignore_checksum_failure", "on"),
                "damage is not passed over: ignore_checksum_failure is on",
            ),
            (set("autovacuum", "off"), "dead rows are removed: autovacuum is off"),
            (
                Facts { unvacuumed: vec!["items".into()], ..well() },
                "dead rows are removed: table items is never vacuumed",
            ),
            (
                Facts { pins: vec![pin(Some(600), 5)], ..well() },
                "nobody keeps dead rows: prepared transaction x ann, since 10 min, 5 transactions behind",
            ),
            (
                Facts { pins: vec![pin(None, 1_000_000)], ..well() },
                "nobody keeps dead rows: prepared transaction x ann, 1000000 transactions behind",
            ),
            (
                Facts { oldest_transaction: 1_000_000_001, ..well() },
                "transaction numbers do not run out: the database its oldest is 1000000001 behind",
            ),
            (set("server_version_num", "140012"), "the server is new enough: server_version_num is 140012"),
            (
                set("default_transaction_isolation", "serializable"),
                "transactions are isolated as Tenure expects: default_transaction_isolation is serializable",
            ),
        ] {
            assert_eq!(told(&facts), [what]);
        }
        for weaker in ["local", "remote_write", "remote_apply"] {
            assert_eq!(
                told(&set("synchronous_commit", weaker)),
                [""; 0],
                "{weaker} is on this server's disk"
            );
        }
        let behind = Facts { pins: vec![pin(None, 999_999)], ..well() };
        assert_eq!(told(&behind), [""; 0], "a slot in use is a little behind");
    }
}
