//! Where a command finds its database.
//!
//! A place that the command line or the environment names is the only one. Without one, a command looks into the database of this
//! folder (`tenure.db`, or the place that `tenure.toml` configures) and then into the task list of this git repository. A command
//! that creates a database creates that of the folder. Commands about tasks begin with the task list: [`crate::commands::todo::desk`].

use tenure_core::word::Store;
use tenure_databases::url::SecretUrl;

use crate::cli::{At, Place, Reach};
use crate::commands::todo::desk::{self, here};
use crate::database::{Access, parse};
use crate::outcome::Error;

/// The places to look into, in this order: at least one. A place without a database is left out if there is another.
pub fn of(reach: &Reach, store: Option<&Store>, access: Access) -> Result<Vec<At>, Error> {
    let own = At { reach: reach.clone(), store: store.cloned() };
    if reach.is_named || access == Access::MayCreate {
        return Ok(vec![own]);
    }
    let Some((list, in_list)) = list()? else { return Ok(vec![own]) };
    let list = Reach { token: reach.token.clone(), token_file: reach.token_file.clone(), ..list };
    let list = At { reach: list, store: Some(store.cloned().unwrap_or(in_list)) };
    Ok(if is_there(&reach.place) { vec![own, list] } else { vec![list] })
}

/// The same for a command that opens the database itself: the first of the places.
pub fn database(url: &SecretUrl, access: Access) -> Result<SecretUrl, Error> {
    if access == Access::MayCreate || is_there(&Place::Database(url.clone())) {
        return Ok(url.clone());
    }
    match list()? {
        Some((Reach { place: Place::Database(list), .. }, _)) => Ok(list),
        Some(_) | None => Ok(url.clone()),
    }
}

/// The task list of this repository, if it has one, and the store that it is in.
fn list() -> Result<Option<(Reach, Store)>, Error> {
    let file = here()?.map(|workspace| desk::file(&workspace)).filter(|file| file.is_file());
    file.map(|file| desk::repository(&file)).transpose()
}

fn is_there(place: &Place) -> bool {
    match place {
        Place::Server(_) => true,
        Place::Database(url) => !matches!(parse(url, Access::Existing), Err(Error::NoDatabase { .. })),
    }
}
