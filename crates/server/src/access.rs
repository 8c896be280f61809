//! One line a request, for people or for programs. It says who asked and what came of it, and never what was in it: no query,
//! no header, no body and no token is in any line.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::json;
use tenure::databases::outside;

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
    out: Arc<Mutex<dyn Write + Send>>,
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
    pub micros: u64,
    pub asker: &'a Asker,
}

impl Access {
    pub fn new(form: Form, out: impl Write + Send + 'static) -> Access {
        Access { form, out: Arc::new(Mutex::new(out)) }
    }

    pub fn write(&self, answered: &Answered) {
        let Answered { request, method, route, status, micros, asker } = answered;
        let (time, who) = (outside::now(), asker.0.get().map(String::as_str));
        let line = match self.form {
            Form::Human => {
                let (route, who) = (route.unwrap_or("-"), who.unwrap_or("-"));
                let milliseconds = *micros as f64 / 1_000.0;
                format!("{time} {status} {method} {route} {milliseconds:.1} ms {who} {request}\n")
            }
            Form::Json => {
                let line = json!({
                    "time": time.to_string(), "request": request, "method": method, "route": route,
                    "status": status, "micros": micros, "actor": who,
                });
                format!("{line}\n")
            }
        };
        // Nobody reads it any more: that is no reason to refuse a request.
        let _ = self.out.lock().expect("nobody panics while holding it").write_all(line.as_bytes());
    }
}
