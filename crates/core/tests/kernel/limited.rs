//! A lifecycle to try limits on. The databases' tests use it too.

/// A lifecycle like a job's, with these settings.
pub fn limited(kind: &str, settings: &[(&str, &str)]) -> String {
    let rows: String = settings.iter().map(|(name, value)| format!("| {name} | {value} |\n")).collect();
    format!(
        "# {kind}\n\n## States\n\n| State | Phase | Meaning |\n|---|---|---|\n| WAITS | ready | waits |\n\
         | RUNS | active | runs |\n| DONE | succeeded | done |\n| FAILED | failed | failed |\n\n## Transitions\n\n\
         | From | Event | To | Actor | Guard | Effect |\n|---|---|---|---|---|---|\n\
         | — | create | WAITS | api | | |\n| WAITS | lease | RUNS | worker | | |\n\
         | RUNS | commit | DONE | worker | | |\n| RUNS | fail | WAITS | worker | attempts left | |\n\
         | RUNS | fail | FAILED | worker | | |\n| RUNS | expire | WAITS | system | attempts left | |\n\
         | RUNS | expire | FAILED | system | | |\n| RUNS | release | WAITS | worker | | |\n\n\
         ## Settings\n\n| Setting | Value |\n|---|---|\n{rows}"
    )
}
