//! What is asked for: a path and its parameters, spelt so that nothing in them can be taken for another.

use std::fmt::{self, Display};

use url::form_urlencoded::Serializer;

#[derive(Clone, Debug)]
pub struct Target {
    path: String,
    query: String,
}

impl Target {
    /// A path of these parts.
    pub fn new<const N: usize>(parts: [&str; N]) -> Target {
        let mut path = String::new();
        for part in parts {
            path.push('/');
            // In a path a plus is a plus.
            let spelt: String = url::form_urlencoded::byte_serialize(part.as_bytes()).collect();
            path.push_str(&spelt.replace('+', "%20"));
        }
        Target { path, query: String::new() }
    }

    /// A parameter. None is not sent.
    pub fn with(mut self, name: &str, value: Option<impl Display>) -> Target {
        if let Some(value) = value {
            let mut query = Serializer::new(std::mem::take(&mut self.query));
            query.append_pair(name, &value.to_string());
            self.query = query.finish();
        }
        self
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.query.is_empty() {
            true => f.write_str(&self.path),
            false => write!(f, "{}?{}", self.path, self.query),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_odd_is_spelt_out() {
        let target =
            Target::new(["v1", "items", "../x ?y"]).with("key", Some("a&b=c")).with("state", None::<&str>);
        assert_eq!(target.to_string(), "/v1/items/..%2Fx%20%3Fy?key=a%26b%3Dc");
    }
}
