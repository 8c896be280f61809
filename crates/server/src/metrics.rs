//! The numbers of a server, in the text format of Prometheus.
//!
//! Requests are counted by route template, never by path: there are as many series as routes.
//! docs/metrics.md says what each number means; a test compares it with what is served.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Write};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use axum::http::Method;
use tenure::databases::backlog::Backlog;
use tenure::databases::measure::{Histogram, Seen};

use crate::app::App;
use crate::routes::oldest_ready;

/// Microseconds: an answer from memory, one with a commit, one that waited for work.
const TIMES: &[u64] = &[1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 10_000_000];

/// Requests by route, and every no by its code.
#[derive(Debug, Default)]
pub struct Requests {
    routes: RwLock<HashMap<Box<str>, Arc<Route>>>,
    problems: Mutex<BTreeMap<String, u64>>,
}

#[derive(Debug)]
struct Route {
    answers: Mutex<BTreeMap<(String, u16), u64>>,
    micros: Histogram,
}

impl Requests {
    pub fn add(&self, route: &str, method: &Method, status: u16, micros: u64) {
        let known = self.routes.read().expect("nobody panics while holding it").get(route).cloned();
        let route = known.unwrap_or_else(|| {
            let mut routes = self.routes.write().expect("nobody panics while holding it");
            let fresh = || Arc::new(Route { answers: Mutex::default(), micros: Histogram::new(TIMES) });
            routes.entry(route.into()).or_insert_with(fresh).clone()
        });
        route.micros.add(micros);
        // Whoever invents methods makes no series.
        let method = match *method {
            Method::GET | Method::POST | Method::DELETE | Method::HEAD => method.as_str(),
            _ => "other",
        };
        let mut answers = route.answers.lock().expect("nobody panics while holding it");
        *answers.entry((method.to_string(), status)).or_default() += 1;
    }

    /// Codes are few: Tenure's own, and those that lifecycles name.
    pub fn add_problem(&self, code: &str) {
        let mut problems = self.problems.lock().expect("nobody panics while holding it");
        match problems.get_mut(code) {
            Some(count) => *count += 1,
            None => drop(problems.insert(code.to_string(), 1)),
        }
    }

    fn all(&self) -> BTreeMap<Box<str>, Arc<Route>> {
        let routes = self.routes.read().expect("nobody panics while holding it");
        routes.iter().map(|(name, route)| (name.clone(), route.clone())).collect()
    }
}

#[derive(Clone, Copy)]
enum Sort {
    Counter,
    Gauge,
    Histogram,
}

impl Sort {
    fn as_str(self) -> &'static str {
        match self {
            Sort::Counter => "counter",
            Sort::Gauge => "gauge",
            Sort::Histogram => "histogram",
        }
    }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, sort: Sort, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {}", sort.as_str());
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0.push_str(name);
        if !labels.is_empty() {
            // Words of Tenure have no quote and no backslash, and neither have route templates.
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
            let _ = write!(self.0, "{{{}}}", labels.join(","));
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn single(&mut self, name: &str, sort: Sort, help: &str, value: impl Display) {
        self.family(name, sort, help);
        self.line(name, &[], value);
    }

    /// `units` of the histogram are one unit of the text. A quotient is rounded once, so a bound prints as it is written.
    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], seen: &Seen, units: f64) {
        let bucket = format!("{name}_bucket");
        for (bound, count) in &seen.up_to {
            let bound = (*bound as f64 / units).to_string();
            self.line(&bucket, &[labels, &[("le", bound.as_str())]].concat(), count);
        }
        self.line(&bucket, &[labels, &[("le", "+Inf")]].concat(), seen.count);
        self.line(&format!("{name}_sum"), labels, seen.sum as f64 / units);
        self.line(&format!("{name}_count"), labels, seen.count);
    }
}

/// In microseconds.
const SECOND: f64 = 1e6;

pub fn text(app: &App, backlog: &[Backlog], behind: Duration, connections: Option<usize>) -> String {
    let mut text = Text::default();
    let help = "By how much the database's clock is behind the latest entry of the log; 0 below 2 seconds.";
    text.single("tenure_clock_behind_seconds", Sort::Gauge, help, behind.as_secs_f64());
    requests(&mut text, app);
    engine(&mut text, app);
    waiting(&mut text, backlog);
    claims(&mut text, app);
    runs(&mut text, app);
    text.single("tenure_log_streams", Sort::Gauge, "Streams of the log that are open.", app.streams.open());
    if let Some(connections) = connections {
        text.single("tenure_connections", Sort::Gauge, "Connections that are open.", connections);
    }
    if let Some(bytes) = resident_bytes() {
        text.single("process_resident_memory_bytes", Sort::Gauge, "Memory of the process.", bytes);
    }
    text.0
}

fn requests(text: &mut Text, app: &App) {
    let routes = app.requests.all();
    text.family("tenure_http_requests_total", Sort::Counter, "Requests by route, method and status.");
    for (name, route) in &routes {
        let answers = route.answers.lock().expect("nobody panics while holding it").clone();
        for ((method, status), count) in answers {
            let status = status.to_string();
            let labels = [("route", &**name), ("method", method.as_str()), ("status", status.as_str())];
            text.line("tenure_http_requests_total", &labels, count);
        }
    }
    text.family("tenure_http_request_seconds", Sort::Histogram, "How long an answer took, by route.");
    for (name, route) in &routes {
        text.histogram("tenure_http_request_seconds", &[("route", &**name)], &route.micros.seen(), SECOND);
    }
    text.family(
        "tenure_problems_total",
        Sort::Counter,
        "Requests, and parts of calls about many, that were answered with a no, by its code.",
    );
    for (code, count) in app.requests.problems.lock().expect("nobody panics while holding it").iter() {
        text.line("tenure_problems_total", &[("code", code.as_str())], count);
    }
}

fn engine(text: &mut Text, app: &App) {
    let (measures, counters) = (app.tenure.measures(), app.tenure.counters());
    text.family("tenure_batch_requests", Sort::Histogram, "Requests that shared a transaction.");
    text.histogram("tenure_batch_requests", &[], &measures.sizes.seen(), 1.0);
    text.family("tenure_batch_seconds", Sort::Histogram, "From a batch's begin to its durable commit.");
    text.histogram("tenure_batch_seconds", &[], &measures.times.seen(), SECOND);
    let failed = "Requests that got no answer because the database failed.";
    text.single("tenure_batch_failed_requests_total", Sort::Counter, failed, measures.failed());
    let torn = "Writes that were taken back as a whole because a row was not as it had been decided on.";
    text.single("tenure_torn_writes_total", Sort::Counter, torn, measures.torn());
    text.single(
        "tenure_foreign_lifecycles",
        Sort::Gauge,
        "Lifecycles in the database that this program can not read.",
        app.tenure.foreign_lifecycles().len(),
    );
    text.single(
        "tenure_queue_requests",
        Sort::Gauge,
        "Requests that wait for a writer.",
        app.tenure.queue_len(),
    );
    text.family(
        "tenure_engine_total",
        Sort::Counter,
        "What the engine of this process has done and met, by name.",
    );
    for (name, count) in counters.all() {
        text.line("tenure_engine_total", &[("what", name)], count);
    }
}

fn runs(text: &mut Text, app: &App) {
    text.family(
        "tenure_runs_total",
        Sort::Counter,
        "What the workers on runs of this process have met, by name.",
    );
    for (name, count) in app.library.iter().flat_map(|library| library.counted()) {
        text.line("tenure_runs_total", &[("what", name)], count);
    }
}

fn claims(text: &mut Text, app: &App) {
    text.family(
        "tenure_claims_total",
        Sort::Counter,
        "What the orchestrator of claims of this process has done and met, by name.",
    );
    for (name, count) in app.claims.counters.all() {
        text.line("tenure_claims_total", &[("what", name)], count);
    }
}

fn waiting(text: &mut Text, backlog: &[Backlog]) {
    text.family("tenure_items", Sort::Gauge, "Items by store, kind and phase, counted to 10000.");
    for one in backlog {
        let counts = [
            ("ready", one.ready),
            ("scheduled", one.scheduled),
            ("active", one.active),
            ("failed", one.failed),
            ("stopped", one.stopped),
        ];
        for (phase, count) in counts {
            text.line(
                "tenure_items",
                &[("store", &*one.store), ("kind", &*one.kind), ("phase", phase)],
                count,
            );
        }
    }
    let help = "For how long the first item that is ready could have been leased.";
    text.family("tenure_oldest_ready_seconds", Sort::Gauge, help);
    for one in backlog {
        let age = oldest_ready(one).unwrap_or_default().as_secs_f64();
        text.line("tenure_oldest_ready_seconds", &[("store", &*one.store), ("kind", &*one.kind)], age);
    }
}

/// Only Linux tells it without a call that is not safe.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1_024)
}
