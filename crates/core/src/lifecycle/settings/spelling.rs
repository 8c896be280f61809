//! How each setting is written: one entry a setting, with its name, its form in words, its reader and its writer.
//!
//! What is written can be read again, and gives the same settings. Only values that differ from the default are
//! written, so that a setting that is added later changes the hash of no table that does not use it.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use super::value::{
    Part, count_of, limit, number, pace, pointer, rate_of, show_limit, show_rate, unless, within,
};
use super::{
    ATTEMPTS_MAX, BACKOFF_MAX, HEAD_START_MAX, INTERRUPTIONS_MAX, KEY_CONCURRENCY_MAX, LEASE_MAX, LEASE_MIN,
    PACE_MIN, PRIORITY_MAX, RETENTION_MAX, RETENTION_MIN, WINDOW_MAX,
};
use super::{Backoff, Breaker, Coalesce, Rate, Settings, span};

/// Why a row of a Settings table was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotASetting {
    Unknown,
    /// What may stand there, with its bounds and an example.
    Value {
        form: &'static str,
    },
}

struct Setting {
    name: &'static str,
    form: &'static str,
    read: fn(&mut Settings, &str) -> Option<()>,
    /// Empty where the setting is not in force.
    show: fn(&Settings) -> String,
}

/// A new setting may be put anywhere: the order only decides how a table's settings are listed.
const SETTINGS: [Setting; 16] = [
    Setting {
        name: "lease",
        form: "`60 s`, or `60 s, at most 120 s` where a worker may ask for more; from 1 s to 1 h",
        read: |to, text| {
            let (lease, most) = match text.split_once(',') {
                Some((lease, most)) => (lease, span::read(most.trim().strip_prefix("at most ")?)?),
                None => (text, LEASE_MAX),
            };
            to.lease_max = within(most, LEASE_MIN, LEASE_MAX)?;
            to.lease = within(span::read(lease)?, LEASE_MIN, most)?;
            Some(())
        },
        show: |of| match of.lease_max {
            LEASE_MAX => span::show(of.lease),
            most => format!("{}, at most {}", span::show(of.lease), span::show(most)),
        },
    },
    Setting {
        name: "window",
        form: "`120 s` (from 1 s to 30 d) or `none`",
        read: |to, text| {
            to.window = unless("none", text, |text| within(span::read(text)?, PACE_MIN, WINDOW_MAX))?;
            Some(())
        },
        show: |of| of.window.map_or("none".to_string(), span::show),
    },
    Setting {
        name: "attempts",
        form: "`5` (from 1 to 1000) or `unlimited`",
        read: |to, text| {
            to.attempts = unless("unlimited", text, |text| within(number(text)?, 1, ATTEMPTS_MAX))?;
            Some(())
        },
        show: |of| of.attempts.map_or("unlimited".to_string(), |count| count.to_string()),
    },
    Setting {
        name: "backoff",
        form: "`1 s doubling to 10 min`, or `5 s` for the same wait each time; at most 1 d",
        read: |to, text| {
            let (first, most) = match text.split_once(" doubling to ") {
                // Nothing doubled is still nothing, so a doubling wait begins with a millisecond at least.
                Some((first, most)) => {
                    (within(span::read(first)?, Duration::from_millis(1), BACKOFF_MAX)?, most)
                }
                None => (span::read(text)?, text),
            };
            to.backoff = Backoff { first, most: within(span::read(most)?, first, BACKOFF_MAX)? };
            Some(())
        },
        show: |of| match of.backoff {
            Backoff { first, most } if first == most => span::show(first),
            Backoff { first, most } => format!("{} doubling to {}", span::show(first), span::show(most)),
        },
    },
    Setting {
        name: "interruptions",
        form: "`100` (from 1 to 10000) or `unlimited`",
        read: |to, text| {
            to.interruptions = unless("unlimited", text, |text| within(number(text)?, 1, INTERRUPTIONS_MAX))?;
            Some(())
        },
        show: |of| of.interruptions.map_or("unlimited".to_string(), |count| count.to_string()),
    },
    Setting {
        name: "key",
        form: "a JSON pointer into the payload, as in `/document_id`",
        read: |to, text| {
            to.key = Some(pointer(text)?);
            Some(())
        },
        show: |of| of.key.clone().unwrap_or_default(),
    },
    Setting {
        name: "coalesce",
        form: "`no`, `ready` or `unfinished`",
        read: |to, text| {
            to.coalesce = match text {
                "no" => Coalesce::No,
                "ready" => Coalesce::Ready,
                "unfinished" => Coalesce::Unfinished,
                _ => return None,
            };
            Some(())
        },
        show: |of| match of.coalesce {
            Coalesce::No => "no".to_string(),
            Coalesce::Ready => "ready".to_string(),
            Coalesce::Unfinished => "unfinished".to_string(),
        },
    },
    Setting {
        name: "derived",
        form: "`yes` or `no`",
        read: |to, text| {
            to.derived = match text {
                "yes" => true,
                "no" => false,
                _ => return None,
            };
            Some(())
        },
        show: |of| if of.derived { "yes".to_string() } else { "no".to_string() },
    },
    Setting {
        name: "concurrency",
        form: "`10`, `1 per key` or `10, 1 per key`; from 1 to 1000000, per key to 1000",
        read: |to, text| {
            to.concurrency = limit(text, |part| match part.strip_suffix(" per key") {
                Some(count) => Some(Part::Key(within(count_of(count)?, 1, KEY_CONCURRENCY_MAX)?)),
                None => Some(Part::Kind(count_of(part)?)),
            })?;
            Some(())
        },
        show: |of| show_limit(of.concurrency, |count| count.to_string(), |count| format!("{count} per key")),
    },
    Setting {
        name: "rate",
        form: "`100 per 1 s`, `10 per key per 1 s` or both with a comma; from 1 to 1000000 per 1 s to 1 d",
        read: |to, text| {
            to.rate = limit(text, |part| match part.split_once(" per key per ") {
                Some((count, per)) => Some(Part::Key(rate_of(count, per)?)),
                None => {
                    part.split_once(" per ").and_then(|(count, per)| Some(Part::Kind(rate_of(count, per)?)))
                }
            })?;
            Some(())
        },
        show: |of| {
            let key = |rate: Rate| format!("{} per key per {}", rate.count, span::show(rate.per));
            show_limit(of.rate, show_rate, key)
        },
    },
    Setting {
        name: "retry budget",
        form: "`100 per 1 min`; from 1 to 1000000 per 1 s to 1 d",
        read: |to, text| {
            let (count, per) = text.split_once(" per ")?;
            to.retry_budget = Some(rate_of(count, per)?);
            Some(())
        },
        show: |of| of.retry_budget.map_or(String::new(), show_rate),
    },
    Setting {
        name: "breaker",
        form: "`10 failures in 1 min, pause 30 s`; from 1 to 1000000 failures, spans from 1 s to 1 d",
        read: |to, text| {
            let (failures, rest) = text.split_once(" failures in ")?;
            let (within, pause) = rest.split_once(", pause ")?;
            to.breaker =
                Some(Breaker { failures: count_of(failures)?, within: pace(within)?, pause: pace(pause)? });
            Some(())
        },
        show: |of| match of.breaker {
            Some(Breaker { failures, within, pause }) => {
                format!("{failures} failures in {}, pause {}", span::show(within), span::show(pause))
            }
            None => String::new(),
        },
    },
    Setting {
        name: "retention",
        form: "`30 d` (from 1 min to 3650 d) or `forever`",
        read: |to, text| {
            to.retention =
                unless("forever", text, |text| within(span::read(text)?, RETENTION_MIN, RETENTION_MAX))?;
            Some(())
        },
        show: |of| of.retention.map_or("forever".to_string(), span::show),
    },
    Setting {
        name: "priority",
        form: "a whole number from -100 to 100, as in `10`",
        read: |to, text| {
            // A minus sign as text processors write it is taken for one.
            let priority = text.replace('−', "-").parse().ok()?;
            to.priority = within(priority, -PRIORITY_MAX, PRIORITY_MAX)?;
            Some(())
        },
        show: |of| of.priority.to_string(),
    },
    Setting {
        name: "head start",
        form: "`60 s`; from 0 s to 1 d",
        read: |to, text| {
            to.head_start = within(span::read(text)?, Duration::ZERO, HEAD_START_MAX)?;
            Some(())
        },
        show: |of| span::show(of.head_start),
    },
    Setting {
        name: "resource type",
        form: "a name as in `WORKORDER`: a letter, then up to 62 of a-z, A-Z, 0-9, _ and -",
        read: |to, text| {
            to.resource_type = Some(text.parse().ok()?);
            Some(())
        },
        show: |of| of.resource_type.as_ref().map_or(String::new(), ToString::to_string),
    },
];

impl Settings {
    /// The names of all settings, in the order in which they are listed.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|setting| setting.name)
    }

    /// Reads one row of a Settings table; answers the setting's name. A value that is not taken changes nothing.
    pub fn set(&mut self, name: &str, value: &str) -> Result<&'static str, NotASetting> {
        let setting = SETTINGS.iter().find(|known| known.name == name).ok_or(NotASetting::Unknown)?;
        let mut changed = self.clone();
        // A blank more or less is how a table is laid out, not what it says.
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        (setting.read)(&mut changed, &value).ok_or(NotASetting::Value { form: setting.form })?;
        *self = changed;
        Ok(setting.name)
    }

    /// Every setting in force, defaults too: the name and the value as a Settings table would have them.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        let shown = SETTINGS.iter().map(|setting| (setting.name, (setting.show)(self)));
        shown.filter(|(_, value)| !value.is_empty())
    }

    /// What differs from the default, a line each: the name and the value as a Settings table would have them.
    pub fn canonical(&self) -> String {
        let default = Settings::default();
        let mut text = String::new();
        for setting in &SETTINGS {
            let value = (setting.show)(self);
            if value != (setting.show)(&default) {
                text.push_str(&format!("{} {value}\n", setting.name));
            }
        }
        text
    }
}
