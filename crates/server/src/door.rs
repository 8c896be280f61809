//! The open door: whoever comes without a token, while there is none, comes from this machine. A browser on it comes for whatever page
//! it shows, also one of somewhere else; so what a page of somewhere else sends is refused, and what was sent to another name than this
//! machine's, which is how a page makes a foreign name lead here (DNS rebinding).
//!
//! Programs say neither where their page is from nor another name. With a token none of this is asked: no page has one by itself.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};

use crate::problem::Problem;

/// Where a request comes from, as browsers say it of every request (Fetch Metadata).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// A page of this service, or nobody's: typed by a person.
const OURS: [&str; 2] = ["same-origin", "none"];

/// A no to what somebody else's page has sent, or sent elsewhere.
pub fn from_here(parts: &Parts) -> Result<(), Problem> {
    let host = host(parts)?;
    if let Some(host) = host
        && !is_this_machine(host)
    {
        return Err(refused("Host", "it was sent to a name that is not this machine's"));
    }
    let all = |name: HeaderName| parts.headers.get_all(name).into_iter();
    if all(FETCH_SITE).any(|site| !OURS.iter().any(|ours| site == ours)) {
        return Err(refused("Sec-Fetch-Site", "it was sent by a page of somewhere else"));
    }
    if all(header::ORIGIN).any(|origin| host.is_none_or(|host| !is_of(origin, host))) {
        return Err(refused("Origin", "it was sent by a page of somewhere else"));
    }
    Ok(())
}

fn refused(header: &str, why: &str) -> Problem {
    let then = "ask 127.0.0.1 or localhost, from no page but one of this address; or make a token";
    let problem =
        Problem::forbidden(format!("{header}: {why}, and the service is open to this machine alone; {then}"));
    problem.with("header", header)
}

/// The name and the port that the request was sent to. HTTP/2 has them in the URL.
fn host(parts: &Parts) -> Result<Option<&str>, Problem> {
    match parts.headers.get(header::HOST) {
        Some(host) => host.to_str().map(Some).map_err(|_| refused("Host", "it can not be read")),
        None => Ok(parts.uri.authority().map(|authority| authority.as_str())),
    }
}

fn is_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    match name.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        // The machine itself, by whatever name under it (RFC 6761).
        Err(_) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

/// Whether a page of this origin is one of this address.
fn is_of(origin: &HeaderValue, host: &str) -> bool {
    let place = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
    place.is_some_and(|(_, place)| place.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn lets_in(headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().uri("/v1/items");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        from_here(&request.body(()).expect("good headers").into_parts().0).is_ok()
    }

    #[test]
    fn only_this_machine_and_its_own_pages_come_through_the_open_door() {
        for host in [
            "localhost",
            "LOCALHOST:7878",
            "127.0.0.1:7878",
            "127.8.8.8",
            "[::1]:80",
            "a.localhost",
            "localhost.",
        ] {
            assert!(lets_in(&[("host", host)]), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:7878",
            "10.0.0.1",
            "[::2]:80",
            "",
            "mylocalhost",
            "127.0.0.1.evil",
        ] {
            assert!(!lets_in(&[("host", host)]), "{host}");
        }
        assert!(lets_in(&[]), "who says nothing is no browser");
        let here = ("host", "127.0.0.1:7878");
        for (name, value, is_ours) in [
            ("origin", "http://127.0.0.1:7878", true),
            ("origin", "http://127.0.0.1:3000", false),
            ("origin", "https://evil.example", false),
            ("origin", "null", false),
            ("sec-fetch-site", "same-origin", true),
            ("sec-fetch-site", "none", true),
            ("sec-fetch-site", "same-site", false),
            ("sec-fetch-site", "cross-site", false),
        ] {
            assert_eq!(lets_in(&[here, (name, value)]), is_ours, "{name}: {value}");
        }
    }
}
