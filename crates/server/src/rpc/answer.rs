//! An answer of REST becomes the message that it stands for.
//!
//! It is read once, along the description of the message. What is null is left unset, and JSON that is carried as text is taken as it
//! stands.

use std::fmt;
use std::sync::Arc;

use buffa_descriptor::reflect::{DynamicMessage, MapKey, MapValue, ReflectMessageMut, Value};
use buffa_descriptor::{
    DescriptorPool, FieldDescriptor, FieldKind, MessageDescriptor, MessageIndex, ScalarType, SingularKind,
};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::schema::{CONTENT, DOCUMENT, JSON, TEXT};

/// Reads JSON as a message.
pub fn json(
    pool: &Arc<DescriptorPool>,
    message: MessageIndex,
    text: &[u8],
) -> serde_json::Result<DynamicMessage> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let message = Message { pool, index: message }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(message)
}

/// A message that is a text.
pub fn text(pool: &Arc<DescriptorPool>, message: MessageIndex, text: String) -> DynamicMessage {
    let mut made = DynamicMessage::new(pool.clone(), message);
    if let Some(field) = pool.message(message).field_by_name(TEXT) {
        made.set(field, Value::String(text));
    }
    made
}

/// A message that is bytes. None: this one is not.
pub fn bytes(pool: &Arc<DescriptorPool>, message: MessageIndex, bytes: &[u8]) -> Option<DynamicMessage> {
    let field = pool.message(message).field_by_name(CONTENT)?;
    let mut made = DynamicMessage::new(pool.clone(), message);
    made.set(field, Value::Bytes(bytes.to_vec()));
    Some(made)
}

#[derive(Clone, Copy)]
struct Message<'a> {
    pool: &'a Arc<DescriptorPool>,
    index: MessageIndex,
}

impl<'de> DeserializeSeed<'de> for Message<'_> {
    type Value = DynamicMessage;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DynamicMessage, D::Error> {
        let Some(whole) = self.pool.message(self.index).field_by_name(DOCUMENT) else {
            return deserializer.deserialize_map(self);
        };
        let raw = <&RawValue>::deserialize(deserializer)?;
        let mut reader = serde_json::Deserializer::from_str(raw.get());
        let mut made = reader.deserialize_map(self).map_err(D::Error::custom)?;
        made.set(whole, Value::String(raw.get().to_string()));
        Ok(made)
    }
}

impl<'de> Visitor<'de> for Message<'_> {
    type Value = DynamicMessage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pool.message(self.index).full_name())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DynamicMessage, A::Error> {
        let mut made = DynamicMessage::new(self.pool.clone(), self.index);
        while let Some(named) = map.next_key_seed(Key(self.pool.message(self.index)))? {
            let Some(field) = named else {
                // A test holds the messages against the document of REST: there is none that a caller would miss.
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            if let Some(value) = map.next_value_seed(Field { pool: self.pool, field })? {
                made.set(field, value);
            }
        }
        Ok(made)
    }
}

/// The field of a name, if there is one.
struct Key<'a>(&'a MessageDescriptor);

impl<'a, 'de> DeserializeSeed<'de> for Key<'a> {
    type Value = Option<&'a FieldDescriptor>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Key<'a> {
    type Value = Option<&'a FieldDescriptor>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.field_by_name(name).or_else(|| self.0.field_by_name(&format!("{name}{JSON}"))))
    }
}

/// The value of a field. None: it stays unset.
struct Field<'a> {
    pool: &'a Arc<DescriptorPool>,
    field: &'a FieldDescriptor,
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        let is_json = self.field.name().ends_with(JSON);
        let single = |kind| Single { pool: self.pool, kind, is_json };
        match self.field.kind() {
            // Null is JSON too.
            FieldKind::Singular(kind) if is_json => single(kind).deserialize(deserializer).map(Some),
            FieldKind::Singular(kind) => deserializer.deserialize_option(Maybe(single(kind))),
            FieldKind::List(kind) => deserializer.deserialize_option(Maybe(List(single(kind)))),
            FieldKind::Map { value, .. } => deserializer.deserialize_option(Maybe(Map(single(value)))),
        }
    }
}

/// Null, or a value.
struct Maybe<S>(S);

impl<'de, S: DeserializeSeed<'de, Value = Value>> Visitor<'de> for Maybe<S> {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_none<E>(self) -> Result<Option<Value>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Value>, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// One value.
#[derive(Clone, Copy)]
struct Single<'a> {
    pool: &'a Arc<DescriptorPool>,
    kind: SingularKind,
    is_json: bool,
}

impl<'de> DeserializeSeed<'de> for Single<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.kind {
            SingularKind::Scalar(ScalarType::String) if self.is_json => {
                <&RawValue>::deserialize(deserializer).map(|raw| Value::String(raw.get().to_string()))
            }
            SingularKind::Scalar(ScalarType::String) => String::deserialize(deserializer).map(Value::String),
            SingularKind::Scalar(ScalarType::Bool) => bool::deserialize(deserializer).map(Value::Bool),
            SingularKind::Scalar(ScalarType::Int32) => i32::deserialize(deserializer).map(Value::I32),
            SingularKind::Scalar(ScalarType::Uint32) => u32::deserialize(deserializer).map(Value::U32),
            SingularKind::Scalar(ScalarType::Double) => f64::deserialize(deserializer).map(Value::F64),
            SingularKind::Scalar(ScalarType::Uint64) => u64::deserialize(deserializer).map(Value::U64),
            SingularKind::Message(index) => {
                Message { pool: self.pool, index }.deserialize(deserializer).map(Value::Message)
            }
            SingularKind::Scalar(_) | SingularKind::Enum(_) => {
                Err(D::Error::custom("no answer has a field of this kind"))
            }
        }
    }
}

struct List<'a>(Single<'a>);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(self.0)? {
            values.push(value);
        }
        Ok(Value::List(values))
    }
}

/// An object whose names are no fields.
struct Map<'a>(Single<'a>);

impl<'de> DeserializeSeed<'de> for Map<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Map<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            entries.push((MapKey::String(name), map.next_value_seed(self.0)?));
        }
        Ok(Value::Map(MapValue::from_entries(entries)))
    }
}
