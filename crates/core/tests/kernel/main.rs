//! The kernel's rules, one file a subject. Every test drives the real `decide` over a world that it applies.

mod kit;

mod cancel;
mod canonical;
mod commit;
mod create;
mod effects;
mod explored;
mod failure_modes;
mod fences;
mod leases;
mod limited;
mod limits;
mod log;
mod matrix;
mod moves;
mod needs;
mod paces;
mod probes;
mod properties;
mod retention;
mod retries;
mod schedules;
mod sweeps;
mod systems;
mod tickets;
