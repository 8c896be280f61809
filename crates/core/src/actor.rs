//! Who acts: a role, which the lifecycle tables judge, and an id, which the log keeps.

use alloc::string::{String, ToString};
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::word::Who;

/// The six roles a lifecycle's Actor column can name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    Api,
    Orchestrator,
    Worker,
    Human,
    /// The engine itself; no token can have it.
    System,
    Admin,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Api, Role::Orchestrator, Role::Worker, Role::Human, Role::System, Role::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Api => "api",
            Role::Orchestrator => "orchestrator",
            Role::Worker => "worker",
            Role::Human => "human",
            Role::System => "system",
            Role::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The text named no role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotARole;

impl FromStr for Role {
    type Err = NotARole;

    fn from_str(text: &str) -> Result<Role, NotARole> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or(NotARole)
    }
}

/// The set of roles in a table's Actor cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Roles(u8);

impl Roles {
    pub const NONE: Roles = Roles(0);

    pub const fn with(self, role: Role) -> Roles {
        Roles(self.0 | 1 << role as u8)
    }

    pub const fn and(self, others: Roles) -> Roles {
        Roles(self.0 | others.0)
    }

    pub const fn names(self, role: Role) -> bool {
        self.0 & 1 << role as u8 != 0
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The authorization rule: a named role may, and `admin` may wherever anyone but the engine may.
    pub fn allow(self, role: Role) -> bool {
        let only_system = self == Roles::NONE.with(Role::System);
        self.names(role) || (role == Role::Admin && !self.is_empty() && !only_system)
    }

    pub fn iter(self) -> impl Iterator<Item = Role> {
        Role::ALL.into_iter().filter(move |role| self.names(*role))
    }
}

impl fmt::Display for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        for role in self.iter() {
            if !text.is_empty() {
                text.push('/');
            }
            text.push_str(role.as_str());
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Roles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whoever makes a request. Shown, stored and hashed as `role:id` or `role:id/incarnation`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    pub role: Role,
    /// Who: a token's id, a person, an agent. Stays the same over restarts.
    pub id: Who,
    /// Which incarnation: a process, a session. A restarted worker is another owner.
    pub incarnation: Option<Who>,
}

impl Actor {
    pub fn new(role: Role, id: Who) -> Actor {
        Actor { role, id, incarnation: None }
    }

    /// What owns a lease this actor takes. The role is left out: it says what one may do, not who one is.
    pub fn owner(&self) -> Owner {
        Owner { id: self.id.clone(), incarnation: self.incarnation.clone() }
    }

    pub fn is(&self, owner: &Owner) -> bool {
        self.id == owner.id && self.incarnation == owner.incarnation
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.incarnation {
            Some(incarnation) => write!(f, "{}:{}/{incarnation}", self.role, self.id),
            None => write!(f, "{}:{}", self.role, self.id),
        }
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text was not `role:id` or `role:id/incarnation`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnActor;

impl FromStr for Actor {
    type Err = NotAnActor;

    fn from_str(text: &str) -> Result<Actor, NotAnActor> {
        let (role, who) = text.split_once(':').ok_or(NotAnActor)?;
        let Owner { id, incarnation } = who.parse()?;
        Ok(Actor { role: role.parse().map_err(|NotARole| NotAnActor)?, id, incarnation })
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_string())
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Actor, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|NotAnActor| de::Error::custom("not an actor (role:id or role:id/incarnation)"))
    }
}

/// Who holds a lease: one incarnation of somebody. `owner_id` in claim records.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    pub id: Who,
    pub incarnation: Option<Who>,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.incarnation {
            Some(incarnation) => write!(f, "{}/{incarnation}", self.id),
            None => write!(f, "{}", self.id),
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Owner {
    type Err = NotAnActor;

    fn from_str(text: &str) -> Result<Owner, NotAnActor> {
        let who = |text: &str| text.parse::<Who>().map_err(|_| NotAnActor);
        Ok(match text.split_once('/') {
            Some((id, incarnation)) => Owner { id: who(id)?, incarnation: Some(who(incarnation)?) },
            None => Owner { id: who(text)?, incarnation: None },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actors_are_shown_and_read_back() {
        for text in ["api:local", "worker:token-7/p-123", "system:engine"] {
            assert_eq!(text.parse::<Actor>().unwrap().to_string(), text);
        }
        for bad in ["", "api", "api:", "root:x", "api:a/b/c", "api:a b"] {
            assert!(bad.parse::<Actor>().is_err(), "{bad:?}");
        }
    }

    // covers: K-07
    #[test]
    fn admin_may_whatever_anyone_but_the_engine_may() {
        let worker = Roles::NONE.with(Role::Worker);
        let system = Roles::NONE.with(Role::System);
        assert!(worker.allow(Role::Admin) && worker.allow(Role::Worker) && !worker.allow(Role::Api));
        assert!(!system.allow(Role::Admin) && system.allow(Role::System));
        assert!(worker.and(system).allow(Role::Admin));
    }
}
