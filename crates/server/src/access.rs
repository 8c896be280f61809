//! One line a request, for people or for programs. It says who asked and what came of it, and never what was in it: no query,
//! no header, no body and no token is in any line.
//!
//! Of requests with errors there are so many lines a second and no more: whoever only asks for what is refused fills no disk. What
//! is left out is counted, and said in a line of its own with the first line of a later second. The metrics count all of them.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;
use tenure::core::time::Time;
use tenure::databases::outside::{self, Clock};

use crate::limits::ERROR_LINES_MAX;

/// How a line is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Human,
    Json,
}

/// Where lines go.
#[derive(Clone)]
pub struct Access {
    form: Form,
    clock: Clock,
    out: Arc<Mutex<Out<dyn Write + Send>>>,
}

struct Out<W: ?Sized> {
    /// In this second of the clock so many lines of errors were written, and so many were not.
    second: u64,
    errors: u64,
    left_out: u64,
    to: W,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Access({:?})", self.form)
    }
}

/// Who asked, once it is known. It travels with the request.
#[derive(Clone, Debug, Default)]
pub struct Asker(Arc<OnceLock<String>>);

impl Asker {
    /// None: it is not known.
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    pub fn is(&self, actor: &impl ToString) {
        let _ = self.0.set(actor.to_string());
    }
}

/// What is said of a request.
#[derive(Debug)]
pub struct Answered<'a> {
    pub request: &'a str,
    pub method: &'a str,
    /// The template of its path. None: there is no such route.
    pub route: Option<&'a str>,
    pub status: u16,
    /// Of a no.
    pub code: Option<&'a str>,
    pub micros: u64,
    pub asker: &'a Asker,
}

impl Access {
    pub fn new(form: Form, out: impl Write + Send + 'static) -> Access {
        let out = Out { second: 0, errors: 0, left_out: 0, to: out };
        Access { form, clock: Arc::new(outside::now), out: Arc::new(Mutex::new(out)) }
    }

    /// The same with another clock.
    pub fn clock(self, clock: Clock) -> Access {
        Access { clock, ..self }
    }

    pub fn write(&self, answered: &Answered) {
        let time = (self.clock)();
        let mut out = self.out.lock().expect("nobody panics while holding it");
        let is_error = answered.status >= 400;
        let left_out = out.turn(time);
        let mut text = if left_out > 0 { self.left_out(time, left_out) } else { String::new() };
        if is_error && out.errors == ERROR_LINES_MAX {
            out.left_out += 1;
        } else {
            out.errors += u64::from(is_error);
            text.push_str(&self.line(time, answered));
        }
        // Nobody reads it any more: that is no reason to refuse a request.
        let _ = out.to.write_all(text.as_bytes());
    }

    fn line(&self, time: Time, answered: &Answered) -> String {
        let Answered { request, method, route, status, code, micros, asker } = answered;
        let who = asker.get();
        match self.form {
            Form::Human => {
                let (route, who) = (route.unwrap_or("-"), who.unwrap_or("-"));
                let milliseconds = *micros as f64 / 1_000.0;
                let code = code.map(|code| format!(" {code}")).unwrap_or_default();
                format!("{time} {status} {method} {route} {milliseconds:.1} ms {who} {request}{code}\n")
            }
            Form::Json => {
                let line = json!({
                    "time": time.to_string(), "request": request, "method": method, "route": route,
                    "status": status, "code": code, "micros": micros, "actor": who,
                });
                format!("{line}\n")
            }
        }
    }

    fn left_out(&self, time: Time, count: u64) -> String {
        match self.form {
            Form::Human => format!("{time} {count} more requests with errors have no line\n"),
            Form::Json => format!("{}\n", json!({ "time": time.to_string(), "left_out": count })),
        }
    }
}

impl<W: ?Sized> Out<W> {
    /// Begins to count anew where the second is another; how many lines were left out in the one before.
    fn turn(&mut self, time: Time) -> u64 {
        let second = time.since(Time::default()).as_secs();
        if second == self.second {
            return 0;
        }
        (self.second, self.errors) = (second, 0);
        std::mem::take(&mut self.left_out)
    }
}
