//! Tenure's own work: schedules and their ticks, webhooks and their deliveries, tokens. It is items too, and read as such by everybody.
//! But whoever made or leased one by hand would write in the name of the engine (a tick creates whatever a schedule says), or send to
//! where no administrator has looked at. So what is written to it goes through the routes that are for it, whoever asks.
//!
//! One thing is done by hand: a delivery that failed is sent again (`redrive`), as its lifecycle says.

use tenure::core::actor::Role;
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::shipped::{has_own_create, is_own, system_of};
use tenure::core::lifecycle::tables::Tables;
use tenure::core::request::EffectMove;
use tenure::core::word::Kind;

use crate::problem::Problem;

const DELIVERY: &str = "delivery";

/// A no to whoever would make or hold an item of Tenure's own.
pub fn not_by_hand(kind: &Kind) -> Result<(), Problem> {
    if !is_own(kind) {
        return Ok(());
    }
    let (route, command) = match kind.as_str() {
        "schedule" | "tick" => ("/v1/schedules", "tenure schedule"),
        "token" => ("/v1/tokens", "tenure token"),
        _ => ("/v1/webhooks", "tenure webhook"),
    };
    let detail = format!("a {kind} is Tenure's own work: ask {route}, or use `{command}`");
    Err(Problem::forbidden(detail).with("instead", route))
}

/// Refuses a general create of a kind that only a dedicated call creates.
pub fn not_created_by_hand(kind: &Kind) -> Result<(), Problem> {
    not_by_hand(kind)?;
    if !has_own_create(kind) {
        return Ok(());
    }
    let detail =
        format!("a {kind} comes by upload alone: POST its bytes to /v1/documents, or use `tenure doc add`");
    Err(Problem::forbidden(detail).with("instead", "/v1/documents"))
}

/// A no to whoever would move one.
pub fn not_moved_by_hand(kind: &Kind) -> Result<(), Problem> {
    if kind.as_str() == DELIVERY { Ok(()) } else { not_by_hand(kind) }
}

/// Whether a move may be one of an item of Tenure's own. Of any other event it need not be known which item it is about.
pub fn may_be_moved(tables: &Tables, step: &EffectMove) -> bool {
    let event = Event::Plain(step.event.clone());
    tables.versions().any(|table| is_own(&table.kind) && !table.roles_of(&event).is_empty())
}

/// The system whose rows alone make items of this kind, if it ships and nobody but the engine makes one. Those rows say what comes
/// before: a work order follows an approval. A row of another kind that lets anything be created means nothing of that sort.
pub fn maker_of(tables: &Tables, kind: &Kind) -> Option<&'static str> {
    let roles = tables.current(kind)?.roles_of(&Event::Create);
    let is_the_engines = roles.iter().all(|role| role == Role::System);
    if is_the_engines { system_of(kind) } else { None }
}
