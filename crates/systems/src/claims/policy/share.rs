//! A number from 0 to 1, exactly: a threshold is met or it is not, whatever floating point makes of a sum.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Kept in millionths: finer than anybody's confidence, and sums of a million of them fit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

pub(super) const WHOLE: u64 = 1_000_000;

impl Share {
    pub const ZERO: Share = Share(0);
    pub const ONE: Share = Share(WHOLE as u32);

    /// Hundredths, as people write thresholds. More than 100 is 1.
    pub const fn percent(hundredths: u32) -> Share {
        if hundredths >= 100 { Share::ONE } else { Share(hundredths * 10_000) }
    }

    /// Nothing for what is no number from 0 to 1.
    pub fn of(number: f64) -> Option<Share> {
        (0.0..=1.0).contains(&number).then(|| Share((number * WHOLE as f64).round() as u32))
    }

    pub const fn millionths(self) -> u64 {
        self.0 as u64
    }

    pub fn number(self) -> f64 {
        f64::from(self.0) / WHOLE as f64
    }

    /// `part` of `whole`, rounded down; of nothing it is 0. A part is never more than its whole.
    pub(super) fn ratio(part: u64, whole: u64) -> Share {
        if whole == 0 {
            return Share::ZERO;
        }
        let millionths = u128::from(part.min(whole)) * u128::from(WHOLE) / u128::from(whole);
        Share(millionths as u32)
    }

    pub(super) fn times(self, other: Share) -> Share {
        Share((self.millionths() * other.millionths() / WHOLE) as u32)
    }

    pub(super) fn rest(self) -> Share {
        Share(Share::ONE.0 - self.0)
    }
}

/// `0.67`, `1`: without zeros at the end.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:06}", self.millionths() / WHOLE, self.millionths() % WHOLE);
        f.pad(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.number())
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Share::of(number).ok_or_else(|| de::Error::custom(format!("{number} is no number from 0 to 1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_as_it_was_written() {
        for text in ["0", "0.33", "0.67", "1", "0.000001", "0.5"] {
            assert_eq!(Share::of(text.parse().unwrap()).unwrap().to_string(), text);
        }
        for wrong in [-0.1, 1.000_001, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_share_is_read_from_whole_numbers_and_written_back() {
        for (text, written) in [("1", "1.0"), ("0", "0.0"), ("0.67", "0.67"), ("1.0", "1.0")] {
            let share: Share = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&share).unwrap(), written);
        }
        assert!(serde_json::from_str::<Share>("1.5").is_err());
        assert!(serde_json::from_str::<Share>("\"1\"").is_err());
    }
}
