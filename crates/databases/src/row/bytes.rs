//! The rest of a row: a run of bytes that is written and read in one order. Numbers are short when they are small.

use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::time::Time;

use super::Damaged;

#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn with_capacity(bytes: usize) -> Writer {
        Writer(Vec::with_capacity(bytes))
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// Seven bits a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub fn time(&mut self, time: Time) {
        self.0.extend_from_slice(&time.micros().to_le_bytes());
    }

    pub fn id(&mut self, id: ItemId) {
        self.0.extend_from_slice(&id.0.to_be_bytes());
    }

    pub fn hash(&mut self, hash: &Hash) {
        self.0.extend_from_slice(&hash.0);
    }

    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }
}

#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Everything that was not read.
    pub fn left(self) -> &'a [u8] {
        self.0
    }

    /// Nothing may follow what was read.
    pub fn end(self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged::because("there are bytes after its end")) }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let (taken, left) =
            self.0.split_at_checked(count).ok_or_else(|| Damaged::because("it is cut off"))?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Damaged::because("it is cut off"))
    }

    pub fn byte(&mut self) -> Result<u8, Damaged> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damaged::because("a number in it does not end"))
    }

    pub fn small<T: TryFrom<u64>>(&mut self) -> Result<T, Damaged> {
        T::try_from(self.number()?).map_err(|_| Damaged::because("a number in it is too large"))
    }

    pub fn time(&mut self) -> Result<Time, Damaged> {
        Ok(Time::from_micros(i64::from_le_bytes(self.array()?)))
    }

    pub fn id(&mut self) -> Result<ItemId, Damaged> {
        Ok(ItemId(u128::from_be_bytes(self.array()?)))
    }

    pub fn hash(&mut self) -> Result<Hash, Damaged> {
        Ok(Hash(self.array()?))
    }

    pub fn text(&mut self) -> Result<&'a str, Damaged> {
        let length = self.small()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| Damaged::because("a text in it is not UTF-8"))
    }

    /// A word of the kernel: validated as it was when it came in.
    pub fn word<T: std::str::FromStr>(&mut self) -> Result<T, Damaged> {
        word(self.text()?)
    }
}

/// A word from a column or a rest.
pub fn word<T: std::str::FromStr>(text: &str) -> Result<T, Damaged> {
    text.parse().map_err(|_| Damaged(format!("`{}` is no such word", text.escape_debug())))
}
