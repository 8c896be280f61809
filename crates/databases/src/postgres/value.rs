//! Values on their way to the server and back, in its binary form.

use std::error::Error;

use tenure_core::hash::Hash;
use tenure_core::id::{ItemId, RecordId};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

use crate::row::Damaged;

/// 16 bytes in a `uuid` column: they sort there as they do here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Uuid(pub u128);

impl From<ItemId> for Uuid {
    fn from(id: ItemId) -> Uuid {
        Uuid(id.0)
    }
}

impl From<RecordId> for Uuid {
    fn from(id: RecordId) -> Uuid {
        Uuid(id.0)
    }
}

impl From<Uuid> for ItemId {
    fn from(id: Uuid) -> ItemId {
        ItemId(id.0)
    }
}

impl ToSql for Uuid {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Uuid {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Uuid, Box<dyn Error + Sync + Send>> {
        Ok(Uuid(u128::from_be_bytes(raw.try_into()?)))
    }

    accepts!(UUID);
}

/// One parameter of a statement. Its type is said, not asked for: a pooled connection prepares nothing.
pub(super) struct Param<'a> {
    pub value: Box<dyn ToSql + Sync + Send + 'a>,
    pub of: Type,
}

macro_rules! params {
    ($($name:ident($value:ty) $of:ident;)*) => {
        $(pub(super) fn $name<'a>(value: $value) -> Param<'a> {
            Param { value: Box::new(value), of: Type::$of }
        })*
    };
}

params! {
    id(Uuid) UUID;
    int(i32) INT4;
    long(i64) INT8;
    long_or_null(Option<i64>) INT8;
    text(&'a str) TEXT;
    text_or_null(Option<&'a str>) TEXT;
    bytes(&'a [u8]) BYTEA;
    owned_bytes(Vec<u8>) BYTEA;
    ids(Vec<Uuid>) UUID_ARRAY;
    ids_or_null(Vec<Option<Uuid>>) UUID_ARRAY;
    shorts(Vec<i16>) INT2_ARRAY;
    ints(Vec<i32>) INT4_ARRAY;
    ints_or_null(Option<Vec<i32>>) INT4_ARRAY;
    longs(Vec<i64>) INT8_ARRAY;
    longs_or_null(Vec<Option<i64>>) INT8_ARRAY;
    truths(Vec<bool>) BOOL_ARRAY;
    texts(Vec<&'a str>) TEXT_ARRAY;
    owned_texts(Vec<String>) TEXT_ARRAY;
    texts_or_null(Vec<Option<&'a str>>) TEXT_ARRAY;
    blobs(Vec<&'a [u8]>) BYTEA_ARRAY;
    owned_blobs(Vec<Vec<u8>>) BYTEA_ARRAY;
    owned_blobs_or_null(Vec<Option<Vec<u8>>>) BYTEA_ARRAY;
    blobs_or_null(Vec<Option<&'a [u8]>>) BYTEA_ARRAY;
}

pub(super) fn hash(bytes: &[u8]) -> Result<Hash, Damaged> {
    bytes.try_into().map(Hash).map_err(|_| Damaged::because("a hash in it has not 32 bytes"))
}
