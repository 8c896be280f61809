//! Where a command about tasks works: the list, the workspace, and who asks.
//!
//! Without a server the list is a database of the repository, `.tenure/todo.db`, the same for every subfolder and every worktree.
//! Any number of short-lived processes share it.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tenure_core::word::Store;
use tenure_databases::url::SecretUrl;
use tenure_systems::todos::Settings;
use tenure_systems::todos::workspace::{FOLDER, Facts, Protected, Workspace};

use crate::cli::{Guarded, Place, Reach, TodoAt};
use crate::client::{Client, Loops, Reply, Target};
use crate::database::Access;
use crate::outcome::{Error, Refused};

/// The namespace of a repository's own list.
const STORE: &str = "repo";
/// What Git ignores in the folder: everything, this file too, except for logs that were exported to be committed.
const IGNORED: &str = "*\n!*.jsonl\n";
/// The task that is being decided, for whatever a gate runs.
pub const DECIDING: &str = "TENURE_DECIDING";

pub struct Desk {
    pub client: Client,
    pub workspace: Option<Workspace>,
    session: Option<String>,
    /// `ROLE:NAME`.
    who: String,
}

/// Of a session.
#[derive(Deserialize)]
struct Whose {
    agent_id: String,
}

impl Desk {
    /// For a change: what time has ended is ended first.
    pub async fn open(at: &TodoAt) -> Result<Desk, Error> {
        Desk::with(at, Loops::Once).await
    }

    /// For a look, which writes nothing: a list that came from elsewhere stays what it was.
    pub async fn look(at: &TodoAt) -> Result<Desk, Error> {
        Desk::with(at, Loops::LeftToOthers).await
    }

    async fn with(at: &TodoAt, loops: Loops) -> Result<Desk, Error> {
        let workspace = here()?;
        let (reach, store) = match &at.there.0 {
            Some(reach) => (reach.clone(), at.store.clone()),
            None => {
                let home = workspace.as_ref().ok_or(Error::NoRepository)?;
                let (reach, own) = repository(&made(home)?)?;
                (reach, Some(at.store.clone().unwrap_or(own)))
            }
        };
        let client = Client::with(&reach, store, Access::MayCreate, loops, settings(&at.guarded)).await?;
        let who = actor(at.agent.as_deref());
        Ok(Desk { client: client.acting(&who), workspace, session: at.session.clone(), who })
    }

    /// Who does it and from where, in the body of every change.
    pub fn by(&self, more: Value) -> Value {
        self.from(self.workspace.as_ref().map(Workspace::facts), more)
    }

    /// The same, with more about the workspace.
    pub fn from(&self, facts: Option<Facts>, more: Value) -> Value {
        let mut body = Map::new();
        body.insert("session".into(), json!(self.session));
        body.insert("workspace".into(), json!(facts));
        if let Value::Object(more) = more {
            body.extend(more);
        }
        Value::Object(body)
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// A look is a command of the session too: what is claimed in it lasts from now on. Whose it is, if it lives. Neither a session that
    /// has ended nor a list that can not be written to hinders a look.
    pub async fn attend(&self) -> Option<String> {
        self.whose().await.ok().flatten()
    }

    /// Whose the session is, which lasts from now on. None: none is named.
    pub async fn whose(&self) -> Result<Option<String>, Error> {
        let Some(session) = &self.session else { return Ok(None) };
        let reply = self.client.post(sessions(), &json!({ "session": session })).await?;
        Ok(Some(reply.read::<Whose>()?.agent_id))
    }

    /// Who asks, where no session says it.
    pub fn me(&self) -> String {
        self.who.split_once(':').map_or("", |(_, name)| name).to_string()
    }

    /// Changes a task. A gate never changes the task that it decides.
    pub async fn change(&self, id: &str, what: &str, more: Value) -> Result<Reply, Error> {
        decided(id)?;
        let asked = self.post(Target::new(["v1", "todos", id, what]), &more).await;
        asked.map_err(|error| match error {
            Error::Refused(mut no) => {
                no.allowed = no.allowed.iter().filter_map(|event| command(event, id)).collect();
                Error::Refused(no)
            }
            error => error,
        })
    }

    /// Asks for a change. What is refused because of the workspace comes back with a command that works in this one.
    pub async fn post(&self, target: Target, body: &Value) -> Result<Reply, Error> {
        self.client.post(target, body).await.map_err(|error| match error {
            Error::Refused(mut no) if no.code == "WORKSPACE_REQUIRED" => {
                let proposed = self.workspace.as_ref().zip(no.fix.as_deref());
                let way_out = proposed.and_then(|(workspace, fix)| workspace.way_out(fix).ok().flatten());
                no.fix = way_out.or(no.fix.take());
                Error::Refused(no)
            }
            error => error,
        })
    }
}

/// The command that does what an event of the lifecycle stands for. None: nobody has to, time does.
fn command(event: &str, id: &str) -> Option<String> {
    match event {
        "lease" => Some(format!("`tenure todo claim {id}`")),
        "commit" => Some(format!("`tenure todo done {id}`")),
        "release" => Some(format!("`tenure todo release {id}`")),
        "abandon" => Some(format!("`tenure todo abandon {id} --reason WHY`")),
        _ => None,
    }
}

/// Refuses what would change the task that a gate decides, from within that gate.
pub fn decided(id: &str) -> Result<(), Error> {
    if deciding().as_deref() != Some(id) {
        return Ok(());
    }
    let detail = format!("{id} is being decided by the gate that this runs in");
    let code = "TRANSITION_REFUSED".to_string();
    Err(Error::Refused(Box::new(Refused { code, detail, ..Refused::default() })))
}

pub fn deciding() -> Option<String> {
    std::env::var(DECIDING).ok()
}

pub fn sessions() -> Target {
    Target::new(["v1", "sessions"])
}

pub fn todos() -> Target {
    Target::new(["v1", "todos"])
}

/// The working copy that the current folder is in.
pub fn here() -> Result<Option<Workspace>, Error> {
    let unreadable = |why| Error::Unreadable { file: ".git".to_string(), why, near: None };
    Workspace::find(&std::env::current_dir()?).map_err(unreadable)
}

/// The database of a repository.
pub fn file(workspace: &Workspace) -> PathBuf {
    workspace.home.join(FOLDER).join("todo.db")
}

pub fn url(file: &Path) -> SecretUrl {
    format!("sqlite:{}", file.display()).into()
}

/// How the list in that file is reached, and in which store it is.
pub fn repository(file: &Path) -> Result<(Reach, Store), Error> {
    let place = Place::Database(url(file));
    let own = STORE.parse().map_err(tenure::Error::from)?;
    Ok((Reach { place, is_named: true, token: None, token_file: None, files: None }, own))
}

/// The same, with its folder made. Several may make it at once.
pub fn made(workspace: &Workspace) -> Result<PathBuf, Error> {
    let folder = workspace.home.join(FOLDER);
    let unwritable = |why| Error::Unwritable { file: folder.display().to_string(), why };
    fs::create_dir_all(&folder).map_err(unwritable)?;
    let ignore = folder.join(".gitignore");
    match fs::metadata(&ignore) {
        Ok(_) => {}
        Err(why) if why.kind() == ErrorKind::NotFound => fs::write(&ignore, IGNORED).map_err(unwritable)?,
        Err(why) => return Err(unwritable(why)),
    }
    Ok(folder.join("todo.db"))
}

pub fn settings(guarded: &Guarded) -> Settings {
    let patterns = guarded.protected.split(',').map(str::trim).filter(|pattern| !pattern.is_empty());
    Settings { protected: Protected::new(patterns), add_anywhere: !guarded.guard_adding }
}

/// An agent by its name, or the person who is logged in.
pub fn actor(agent: Option<&str>) -> String {
    let word = |text: &str| -> String {
        text.chars()
            .map(|letter| if letter.is_ascii_graphic() && letter != '/' { letter } else { '-' })
            .collect()
    };
    match agent {
        Some(agent) => format!("worker:{}", word(agent)),
        None => {
            let named = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
            format!("human:{}", word(&named.filter(|name| !name.is_empty()).unwrap_or("local".into())))
        }
    }
}
