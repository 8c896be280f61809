//! How much of a test is run: a few rounds by default, all of them with `TENURE_ROUNDS=full`.

pub fn is_full() -> bool {
    std::env::var("TENURE_ROUNDS").is_ok_and(|size| size == "full")
}

pub fn sized(few: usize, full: usize) -> usize {
    if is_full() { full } else { few }
}
