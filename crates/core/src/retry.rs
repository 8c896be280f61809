//! How an item that ended badly is tried again: by a move of its table where there is one, else as a new item that names the
//! old. A final state never moves.

use crate::actor::{Role, Roles};
use crate::item::Item;
use crate::lifecycle::To;
use crate::lifecycle::event::Event;
use crate::word::EventName;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WayBack {
    /// A row of its table leaves the state it rests in.
    Move(EventName),
    /// A new item with the same payload, whose origin is the old one.
    Again,
}

/// Why there is no way back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoWay {
    /// It has not failed and was not stopped.
    NotOver,
    /// Only these could.
    OnlyFor(Roles),
}

impl Item {
    /// How this role can have it tried again.
    pub fn way_back(&self, role: Role) -> Result<WayBack, NoWay> {
        let phase = self.phase();
        if !phase.is_ended() || phase == crate::lifecycle::Phase::Succeeded {
            return Err(NoWay::NotOver);
        }
        let mut roles = Roles::NONE;
        for row in self.table.rows.iter().filter(|row| row.from == Some(self.state)) {
            let (Event::Plain(event), To::State(to)) = (&row.event, &row.to) else { continue };
            if self.table.phase(*to).is_ended() {
                continue;
            }
            if row.actors.allow(role) {
                return Ok(WayBack::Move(event.clone()));
            }
            roles = roles.and(row.actors);
        }
        if !roles.is_empty() {
            return Err(NoWay::OnlyFor(roles));
        }
        let creators = self.table.roles_of(&Event::Create);
        if creators.allow(role) { Ok(WayBack::Again) } else { Err(NoWay::OnlyFor(creators)) }
    }
}
