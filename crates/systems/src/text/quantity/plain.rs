//! Digits with separators, read exactly: no floating point comes near what is shown.

/// Longer than any amount there is; what is longer is an identifier.
const DIGITS_MAX: usize = 30;

/// A decimal number without a sign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decimal {
    pub whole: String,
    pub fraction: String,
}

/// A number as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Written {
    pub number: Decimal,
    /// `1,2` is a number only with a unit behind it, or else two of them.
    pub needs_unit: bool,
    /// `1.200` is one and a fifth, but who writes € behind it may well mean twelve hundred.
    pub is_ambiguous_with_euro: bool,
}

impl Decimal {
    /// As large as it is, more or less: to be compared, and never to be shown.
    pub fn about(&self) -> f64 {
        format!("{}.{}", self.whole, self.fraction).parse().unwrap_or(f64::INFINITY)
    }

    /// Times a power of ten.
    pub fn shifted(&self, places: usize) -> Option<String> {
        let (take, pad) = (places.min(self.fraction.len()), places.saturating_sub(self.fraction.len()));
        let (moved, rest) = self.fraction.split_at(take);
        let whole = format!("{}{moved}{}", self.whole, "0".repeat(pad));
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let fits = whole.len() + rest.len() <= DIGITS_MAX;
        fits.then(|| if rest.is_empty() { whole.to_string() } else { format!("{whole}.{rest}") })
    }
}

pub fn read(raw: &str) -> Option<Written> {
    if raw.len() > 2 * DIGITS_MAX {
        return None;
    }
    let points = raw.bytes().filter(|byte| *byte == b'.').count();
    let commas = raw.bytes().filter(|byte| *byte == b',').count();
    let other = raw.chars().any(|it| !it.is_ascii_digit() && !matches!(it, '.' | ','));
    // The last separator is the decimal one, if there is one; the others stand between groups.
    let decimal = match (points, commas) {
        (0, 0) => None,
        (1, 0) => Some('.'),
        (0, 1) if other || !ends_in_group(raw, ',') => Some(','),
        (0, _) | (_, 0) => None,
        (1, _) if raw.rfind('.') > raw.rfind(',') => Some('.'),
        (_, 1) if raw.rfind(',') > raw.rfind('.') => Some(','),
        _ => return None,
    };
    let (whole, fraction) = match decimal {
        Some(mark) => raw.rsplit_once(mark)?,
        None => (raw, ""),
    };
    let lone_comma = decimal == Some(',') && points == 0 && !other;
    let lone_point = decimal == Some('.') && commas == 0 && !other && fraction.len() == 3 && whole.len() <= 3;
    Some(Written {
        number: Decimal { whole: ungrouped(whole)?, fraction: fraction.to_string() },
        needs_unit: lone_comma,
        is_ambiguous_with_euro: lone_point && whole != "0",
    })
}

fn ends_in_group(raw: &str, mark: char) -> bool {
    raw.rsplit_once(mark).is_some_and(|(whole, group)| group.len() == 3 && whole.len() <= 3 && whole != "0")
}

/// Groups of three, or of two before the last three, all with the same separator.
fn ungrouped(whole: &str) -> Option<String> {
    let mut separators = whole.chars().filter(|it| !it.is_ascii_digit());
    let Some(separator) = separators.next() else { return Some(whole.to_string()) };
    if separators.any(|it| it != separator) {
        return None;
    }
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let (last, middle) = rest.split_last()?;
    let width = middle.first().map_or(3, |group| group.len());
    let regular = matches!(width, 2 | 3) && middle.iter().all(|group| group.len() == width);
    let good = last.len() == 3 && regular && (1..=width).contains(&first.len());
    good.then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_told_apart_where_they_can_be() {
        for (raw, plain) in [
            ("5", "5"),
            ("007", "7"),
            ("0.50", "0.50"),
            ("1,200", "1200"),
            ("1,200.5", "1200.5"),
            ("1.200,5", "1200.5"),
            ("12,5", "12.5"),
            ("1.200.000", "1200000"),
            ("12,34,567", "1234567"),
            ("1'200.50", "1200.50"),
            ("1\u{a0}200,5", "1200.5"),
        ] {
            assert_eq!(read(raw).unwrap().number.shifted(0).unwrap(), plain, "{raw}");
        }
        for wrong in ["3.2.1", "1,2,3", "1.2,3.4", "1,20.5", "12'34", "1234,567.8"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn magnitudes_shift_digits() {
        let shifted = |raw: &str, places| read(raw).unwrap().number.shifted(places).unwrap();
        assert_eq!(shifted("3.25", 6), "3250000");
        assert_eq!(shifted("1.23456789", 6), "1234567.89");
        assert_eq!(shifted("0.5", 3), "500");
        assert_eq!(read(&"9".repeat(40)).unwrap().number.shifted(0), None);
    }
}
