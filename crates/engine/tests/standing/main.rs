//! What stands and goes on by itself: schedules, webhooks and subscribers, on every database.

mod closing;
mod kit;
mod schedules;
mod server;
mod subscribers;
mod webhooks;
