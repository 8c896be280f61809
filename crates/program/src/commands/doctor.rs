//! `tenure doctor`: does everything hold that should hold in a live database, and do its settings endanger it?

use serde::Serialize;
use tenure_databases::doctor::{self, Check, Examined, Found, Limits, Verdict};
use tenure_databases::durability::Durability;
use tenure_databases::postgres::Postgres;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::url::{self, SecretUrl, Url};

use crate::cli::Doctor;
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, FAINT, GOOD, NOTE, Output, STRONG, count, grouped, styled};

pub fn run(arguments: &Doctor, output: &mut Output) -> Result<Outcome, Error> {
    let given = &arguments.db.url(Access::Existing)?;
    let url = database::parse(given, Access::Existing)?;
    let all = output.meanwhile("asking …", || examine(&url, given))?;
    if arguments.form.json {
        for examined in &all {
            output.json(&Shown::of(examined))?;
        }
    } else {
        for examined in &all {
            output.text(&text(examined))?;
        }
        output.line(sums(&url, &all))?;
    }
    Ok(outcome(&all))
}

/// A file does not know how it is written: the address says it.
const DURABLE: Check = Check::note(
    "an answer is on the disk before it is given",
    "K-03",
    "leave ?durability=relaxed out of the address that the server and the workers use",
);

/// None: nothing is said about it.
fn durable(given: &str) -> Option<Examined> {
    let relaxed = url::durability(given) == Ok(Durability::Relaxed);
    let found = || Found::new("durability", "is relaxed: a power cut may take the last answers back");
    relaxed.then(|| Examined::new(DURABLE, 1, vec![found()]))
}

fn examine(url: &Url, given: &SecretUrl) -> Result<Vec<Examined>, Error> {
    let limits = Limits::default();
    let all: Vec<Examined> = database::run(async {
        Ok(match url {
            // It is empty every time, and gone with this command.
            Url::Memory => return Err(Error::NoDatabase { url: given.clone() }),
            Url::Sqlite(path) => doctor::examine(&Sqlite::look(path)?, &limits).await?,
            Url::Postgres(url) => doctor::examine(&Postgres::look(url.reveal()).await?, &limits).await?,
        })
    })?;
    Ok(all.into_iter().chain(durable(given.reveal())).collect())
}

/// What is wrong is an answer, also where something else could not be looked at.
fn outcome(all: &[Examined]) -> Outcome {
    if all.iter().any(|examined| examined.verdict == Verdict::Wrong) {
        return Outcome::Refused;
    }
    let failed = all.iter().any(|examined| matches!(examined.verdict, Verdict::CouldNot(_)));
    if failed { Outcome::CouldNot } else { Outcome::Done }
}

/// One line a check; what was found, and what to do about it, is under it.
fn text(examined: &Examined) -> String {
    let check = &examined.check;
    let mark = match &examined.verdict {
        Verdict::Well => styled(GOOD, "✓"),
        Verdict::Noted => styled(NOTE, "•"),
        Verdict::Wrong => styled(BAD, "✗"),
        Verdict::CouldNot(_) => styled(BAD, "?"),
    };
    let only = examined.only.iter().map(|only| format!(", only {only}"));
    let looked_at = format!("{} looked at{}", grouped(examined.looked_at), only.collect::<String>());
    let aside = styled(FAINT, format!("{:<16}  {looked_at}", check.requirement));
    let mut text = format!("{mark} {:<WIDTH$}  {aside}\n", check.name);
    for found in &examined.found {
        text.push_str(&format!("    {}: {}\n", styled(STRONG, &found.id), found.what));
    }
    if examined.more {
        text.push_str("    … and more\n");
    }
    if let Verdict::CouldNot(why) = &examined.verdict {
        text.push_str(&format!("    could not look: {why}\n"));
    }
    if !examined.found.is_empty() {
        text.push_str(&format!("    → {}\n", check.advice));
    }
    text
}

/// The longest name of a check.
const WIDTH: usize = 50;

fn sums(url: &Url, all: &[Examined]) -> String {
    let number = |is: fn(&Verdict) -> bool| all.iter().filter(|examined| is(&examined.verdict)).count();
    let wrong = number(|verdict| *verdict == Verdict::Wrong);
    let failed = number(|verdict| matches!(verdict, Verdict::CouldNot(_)));
    let notes = number(|verdict| *verdict == Verdict::Noted);
    let mut parts = vec![match (wrong, failed) {
        (0, 0) => styled(GOOD, "all is well"),
        (0, failed) => styled(BAD, format!("{failed} could not be looked at")),
        (wrong, 0) => styled(BAD, format!("{wrong} wrong")),
        (wrong, failed) => styled(BAD, format!("{wrong} wrong, {failed} could not be looked at")),
    }];
    parts.push(count(all.len(), "check"));
    if notes > 0 {
        parts.push(count(notes, "note"));
    }
    format!("{}: {}", styled(STRONG, url), parts.join(" · "))
}

/// A check as `--json` prints it.
#[derive(Serialize)]
struct Shown<'a> {
    check: &'a str,
    requirement: &'a str,
    /// Nothing is wrong; a note is none.
    ok: bool,
    verdict: &'a str,
    looked_at: u64,
    only: Option<&'a str>,
    found: Vec<ShownFound<'a>>,
    more: bool,
    error: Option<&'a str>,
    advice: &'a str,
}

#[derive(Serialize)]
struct ShownFound<'a> {
    id: &'a str,
    what: &'a str,
}

impl<'a> Shown<'a> {
    fn of(examined: &'a Examined) -> Shown<'a> {
        let (ok, verdict, error) = match &examined.verdict {
            Verdict::Well => (true, "well", None),
            Verdict::Noted => (true, "noted", None),
            Verdict::Wrong => (false, "wrong", None),
            Verdict::CouldNot(why) => (false, "could not", Some(why.as_str())),
        };
        Shown {
            check: examined.check.name,
            requirement: examined.check.requirement,
            ok,
            verdict,
            looked_at: examined.looked_at,
            only: examined.only.as_deref(),
            found: examined
                .found
                .iter()
                .map(|found| ShownFound { id: &found.id, what: &found.what })
                .collect(),
            more: examined.more,
            error,
            advice: examined.check.advice,
        }
    }
}
