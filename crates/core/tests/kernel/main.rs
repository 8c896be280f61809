//! The kernel's rules, one file a subject. Every test drives the real `decide` over a world that it applies.

mod kit;

mod cancel;
mod canonical;
mod commit;
mod create;
mod effects;
mod explored;
mod fences;
mod leases;
mod log;
mod matrix;
mod moves;
mod needs;
mod probes;
mod properties;
mod retries;
mod schedules;
mod sweeps;
mod systems;
mod tickets;
