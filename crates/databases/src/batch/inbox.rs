//! The inbox: rows that somebody's own transaction left become items, in order, each exactly once.
//!
//! Taking a row in and creating its item is one transaction. A row that can not become an item is kept with the reason
//! and never blocks the rest.

use tenure_core::actor::{Actor, Role};
use tenure_core::answer::Answer;
use tenure_core::body::{BODY_BYTES_MAX, Body};
use tenure_core::code::{Code, Problem};
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::lifecycle::shipped::has_own_create;
use tenure_core::request::{Command, Create, Need, Request};
use tenure_core::time::Time;
use tenure_core::word::Store;

use super::patience::Patience;
use super::{Plan, finish};
use crate::{BatchId, Database, Error, Posted, Tx};

/// The store of a row that names none.
pub const STORE_DEFAULT: &str = "default";
/// One turn takes in at most so many, so that it never holds the rows of others for long.
pub const TURN_MAX: usize = 512;
/// Nor takes more than this into memory: sixteen of the longest payloads, or thousands of usual ones.
pub(crate) const TURN_BYTES_MAX: usize = 16 * BODY_BYTES_MAX;
/// A longer text is no store, kind or key: so much of one tells that, and no more of it is read.
pub(crate) const WORD_CHARACTERS_MAX: usize = 1_024;

/// What one turn came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Turn {
    /// Rows that became items, or were answered by one that was there: a repeated key, a coalesced create.
    pub taken: usize,
    /// Rows that stay in the inbox with the reason.
    pub refused: usize,
}

/// Takes in the oldest rows. None left is a turn of zeros.
pub async fn take_in<D: Database>(database: &D, limit: usize, draw: &mut Draw) -> Result<Turn, Error> {
    let mut limit = limit.clamp(1, TURN_MAX);
    let mut patience = Patience::new();
    loop {
        let batch = BatchId(u128::from(draw.number()) << 64 | u128::from(draw.number()));
        match attempt(database, batch, limit, draw, None).await {
            Ok(turn) => return Ok(turn),
            Err(Error::LostRace(_)) if patience.wait(database, draw).await => {}
            // The database refuses what one of the rows asks for: fewer at once, until that row stands alone.
            Err(Error::Statement(_)) if limit > 1 => limit /= 2,
            Err(Error::Statement(why)) => return attempt(database, batch, 1, draw, Some(&why)).await,
            Err(error) => return Err(error),
        }
    }
}

/// One transaction. With `refuse`, the oldest row is not tried but kept with that reason.
async fn attempt<D: Database>(
    database: &D,
    batch: BatchId,
    limit: usize,
    draw: &mut Draw,
    refuse: Option<&str>,
) -> Result<Turn, Error> {
    let mut tx = database.begin(batch).await?;
    let rows = tx.inbox(limit).await?;
    if rows.is_empty() {
        return Ok(Turn::default());
    }
    let asked: Vec<(i64, Result<Request, Problem>)> = rows
        .into_iter()
        .map(|row| match refuse {
            Some(why) => (row.id, Err(Problem::invalid(why))),
            None => (row.id, request(row)),
        })
        .collect();
    let tables = tx.tables();
    let mut need = Need::default();
    for request in asked.iter().filter_map(|(_, request)| request.as_ref().ok()) {
        request.needs(&tables, &mut need);
    }
    let mut world = tx.lock(&need).await?;
    let mut plan = Plan::default();
    let mut judged = Vec::with_capacity(asked.len());
    for (ordinal, (id, request)) in (0..).zip(asked) {
        let answer = match request {
            Ok(request) => {
                let mut seed = Draw::numbered(draw.number(), ordinal);
                let decision = decide(&world, &request, &mut seed);
                plan.take(&mut world, decision).answer
            }
            Err(problem) => Answer::Invalid(problem),
        };
        judged.push((id, reason(&answer)));
    }
    plan.write(&mut tx).await?;
    tx.judged(&judged).await?;
    finish(database, tx, batch, &plan.entries).await?;
    let refused = judged.iter().filter(|(_, reason)| reason.is_some()).count();
    Ok(Turn { taken: judged.len() - refused, refused })
}

/// Why a payload is not even read: it has so many bytes.
pub(crate) fn too_long(bytes: i64) -> Option<Problem> {
    let is_too_long = usize::try_from(bytes).is_ok_and(|bytes| bytes > BODY_BYTES_MAX);
    let detail = || {
        format!(
            "the payload has {bytes} bytes and at most {BODY_BYTES_MAX} are kept; store it elsewhere and send a reference"
        )
    };
    is_too_long.then(|| Problem::new(Code::PayloadTooLarge, detail()))
}

/// Why a row stays, in the words an API would answer with.
fn reason(answer: &Answer) -> Option<String> {
    let code = answer.code()?;
    Some(match answer {
        Answer::Invalid(problem) => format!("{code}: {}", problem.detail),
        Answer::Conflict { name, item } => {
            format!("{code}: the idempotency key {name} was used for another request, which made item {item}")
        }
        Answer::Forbidden { event, roles } => format!("{code}: {event} is for {roles}"),
        other => format!("{code}: {other:?}"),
    })
}

fn request(row: Posted) -> Result<Request, Problem> {
    fn word<T: std::str::FromStr<Err = tenure_core::word::NotAWord>>(
        column: &str,
        text: Option<String>,
    ) -> Result<Option<T>, Problem> {
        let word = text.map(|text| text.parse()).transpose();
        word.map_err(|why| Problem::invalid(format!("{column} is {why}")))
    }
    if let Some(wrong) = row.wrong {
        return Err(wrong);
    }
    let missing = |column: &str| Problem::invalid(format!("{column} is missing"));
    let kind = word("kind", row.kind)?.ok_or_else(|| missing("kind"))?;
    if has_own_create(&kind) {
        let detail = format!("a {kind} is created by its own call alone, over HTTP or with `tenure`");
        return Err(Problem::new(Code::Forbidden, detail));
    }
    let payload = Body::json(row.payload.ok_or_else(|| missing("payload"))?)?;
    let store = match word("store", row.store)? {
        Some(store) => store,
        None => STORE_DEFAULT.parse::<Store>().expect("the default store is a word"),
    };
    let priority = row.priority.map(i8::try_from).transpose();
    let mut create = Create::new(kind, payload);
    create.name = word("idempotency_key", row.idempotency_key)?;
    create.key = word("key", row.key)?;
    create.priority = priority.map_err(|_| Problem::invalid("priority is out of range"))?;
    let out_of_range = |micros| {
        let (first, last) = (Time::EARLIEST, Time::LATEST);
        Problem::invalid(format!(
            "run_at is {micros} in microseconds since 1970; the earliest is {first} and the latest {last}"
        ))
    };
    create.run_at =
        row.run_at.map(|micros| Time::checked(micros).ok_or_else(|| out_of_range(micros))).transpose()?;
    let actor = Actor::new(Role::Api, "inbox".parse().expect("the inbox has a name"));
    Ok(Request { store, actor, command: Command::Create(create) })
}
