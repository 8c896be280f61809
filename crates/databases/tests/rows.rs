//! What is written into a row is read back from it, and bytes that nobody wrote are refused with words.

use proptest::prelude::*;
use tenure_databases::row::{Memo, execution, name};
use tenure_databases::segment;

proptest! {
    #[test]
    fn bytes_that_nobody_wrote_are_refused_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut memo = Memo::default();
        let item = tenure_core::id::ItemId(1);
        let _ = execution::read(item, 1, &bytes, &mut memo);
        let _ = name::read(&bytes);
        let _ = segment::read(&bytes);
    }
}
