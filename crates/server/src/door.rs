//! The open door: whoever comes without a token, while there is none, comes from this machine. A browser on it comes for whatever page
//! it shows, also one of somewhere else; so what a page of somewhere else sends is refused, and what was sent to another name than this
//! machine's, which is how a page makes a foreign name lead here (DNS rebinding).
//!
//! Programs say neither where their page is from nor another name. With a token none of this is asked: no page has one by itself.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::problem::Problem;

/// Where a request comes from, as browsers say it of every request (Fetch Metadata).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// A page of this service, or nobody's: typed by a person.
const OURS: [&str; 2] = ["same-origin", "none"];

/// Refuses a request that does not name exactly one host (RFC 9112, 3.2). A check of the host would otherwise depend on which of
/// two names it reads. HTTP/1.0 has no `Host`.
pub async fn one_host(request: Request, next: Next) -> Result<Response, Problem> {
    named_once(request.uri(), request.version(), request.headers())?;
    Ok(next.run(request).await)
}

fn named_once(uri: &Uri, version: Version, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (host, second) = (hosts.next(), hosts.next());
    if second.is_some() {
        return Err(wrong_host("the request has two `Host` headers; send one"));
    }
    let host = host.map(read).transpose()?;
    let authority = uri.authority().map(|authority| checked(authority.clone())).transpose()?;
    match (host, authority) {
        (Some(host), Some(authority)) if place(&host, uri) != place(&authority, uri) => {
            let detail = format!("`Host` is `{host}` and the URL names `{authority}`; send the same in both");
            Err(wrong_host(detail))
        }
        (None, _) if version == Version::HTTP_11 => {
            Err(wrong_host("the request has no `Host` header, which HTTP/1.1 needs; send one"))
        }
        (None, None) if version > Version::HTTP_11 => {
            Err(wrong_host("the request has neither `:authority` nor `Host`; send one of them"))
        }
        _ => Ok(()),
    }
}

fn wrong_host(detail: impl Into<String>) -> Problem {
    Problem::invalid(detail).with("header", "Host")
}

fn read(host: &HeaderValue) -> Result<Authority, Problem> {
    let text = String::from_utf8_lossy(host.as_bytes());
    let authority = text.parse().map_err(|_| {
        wrong_host(format!(
            "`Host` is `{}`; send a name and a port, as in 127.0.0.1:7878",
            text.escape_debug()
        ))
    })?;
    checked(authority)
}

fn checked(authority: Authority) -> Result<Authority, Problem> {
    match authority.as_str().contains('@') {
        // The value is not repeated: what is before the `@` may be a password.
        true => Err(wrong_host("the host has a user before it; send the name and the port alone")),
        false => Ok(authority),
    }
}

/// The name and the port, so that two spellings of one place are equal.
fn place(authority: &Authority, uri: &Uri) -> (String, u16) {
    let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    (authority.host().to_ascii_lowercase(), authority.port_u16().unwrap_or(default))
}

/// Refuses a request that a foreign page sent, or that was sent to another name than this machine's.
pub fn from_here(parts: &Parts) -> Result<(), Problem> {
    let Some(host) = host(parts)? else {
        return Err(refused("Host", "the request names no host"));
    };
    if !is_this_machine(host) {
        return Err(refused("Host", "it was sent to a name that is not this machine's"));
    }
    let all = |name: HeaderName| parts.headers.get_all(name).into_iter();
    if all(FETCH_SITE).any(|site| !OURS.iter().any(|ours| site == ours)) {
        return Err(refused("Sec-Fetch-Site", "it was sent by a page of somewhere else"));
    }
    if all(header::ORIGIN).any(|origin| !is_of(origin, host)) {
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

/// The name and the port that the request was sent to. HTTP/2 has them in the URL. [`one_host`] has refused two that differ.
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
        assert!(!lets_in(&[]), "a request that names no host");
        assert!(!lets_in(&[("host", "evil.example"), ("x-forwarded-host", "localhost")]));
        assert!(lets_in(&[("host", "localhost"), ("x-forwarded-host", "evil.example")]));
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

    #[test]
    fn a_request_names_one_host() {
        let names = |version: Version, uri: &str, hosts: &[&str]| {
            let mut request = Request::builder().version(version).uri(uri);
            for host in hosts {
                request = request.header("host", *host);
            }
            let (parts, ()) = request.body(()).expect("good headers").into_parts();
            named_once(&parts.uri, parts.version, &parts.headers).is_ok()
        };
        let (old, one, two) = (Version::HTTP_10, Version::HTTP_11, Version::HTTP_2);
        for (version, uri, hosts) in [
            (one, "/", &["localhost:7878"][..]),
            (one, "http://localhost/", &["LOCALHOST:80"]),
            (one, "http://[::1]:7/", &["[::1]:7"]),
            (old, "/", &[]),
            (two, "http://localhost:7878/", &[]),
            (two, "http://localhost:7878/", &["localhost:7878"]),
            (two, "/", &["localhost:7878"]),
        ] {
            assert!(names(version, uri, hosts), "{version:?} {uri} {hosts:?}");
        }
        for (version, uri, hosts) in [
            (one, "/", &[][..]),
            (one, "/", &["localhost", "localhost"]),
            (one, "/", &["localhost", "evil.example"]),
            (one, "/", &[""]),
            (one, "/", &["localhost, evil.example"]),
            (one, "/", &["ann:pw@localhost"]),
            (one, "http://localhost/", &[]),
            (one, "http://localhost/", &["evil.example"]),
            (one, "http://evil.example/", &["localhost"]),
            (one, "http://localhost:1/", &["localhost:2"]),
            (old, "/", &["localhost", "evil.example"]),
            (two, "/", &[]),
            (two, "http://localhost/", &["evil.example"]),
        ] {
            assert!(!names(version, uri, hosts), "{version:?} {uri} {hosts:?}");
        }
    }
}
