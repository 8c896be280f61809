//! What the messages hold: the description that the `.proto` files were compiled to. A test compiles them again and compares.
//!
//! Messages are handled by this description, so no type stands for them and nothing is generated: a field that is added to a `.proto`
//! file is carried from then on.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use buffa_descriptor::{DescriptorPool, MessageIndex};

use super::methods::{METHODS, Method, PACKAGE};

/// A `FileDescriptorSet`.
static COMPILED: &[u8] = include_bytes!("../../proto/tenure.v1.binpb");

/// JSON that is carried as text is in fields that end so; REST has the name without it.
pub const JSON: &str = "_json";
/// The text of a whole object.
pub const DOCUMENT: &str = "document_json";
/// The only field of an answer that is no JSON.
pub const TEXT: &str = "text";

/// The only field of an answer that is bytes of any kind.
pub const CONTENT: &str = "content";

/// Read when the first method is called: most that open a database never call one.
static SCHEMA: LazyLock<Schema> = LazyLock::new(Schema::read);

pub struct Schema {
    pub pool: Arc<DescriptorPool>,
    pub problem: MessageIndex,
    methods: HashMap<String, Described>,
}

/// A method with the messages that it takes and gives.
#[derive(Clone, Copy)]
pub struct Described {
    pub method: &'static Method,
    pub takes: MessageIndex,
    pub gives: MessageIndex,
}

impl Schema {
    pub fn get() -> &'static Schema {
        &SCHEMA
    }

    /// The method of a path, which has no slash in front.
    pub fn method(&self, path: &str) -> Option<Described> {
        self.methods.get(path).copied()
    }

    fn read() -> Schema {
        let pool = DescriptorPool::decode(COMPILED).expect("what was compiled can be read");
        let described = |method: &'static Method| {
            let (service, name) = method.name.split_once('/').expect("SERVICE/METHOD");
            let service = pool.service_by_name(&format!("{PACKAGE}.{service}")).expect("a service");
            let found = service.method(name).expect("a method of the service");
            (
                format!("{PACKAGE}.{}", method.name),
                Described { method, takes: found.input(), gives: found.output() },
            )
        };
        let methods = METHODS.iter().map(described).collect();
        let problem = pool.message_index(&format!("{PACKAGE}.Problem")).expect("the problem");
        Schema { pool: Arc::new(pool), problem, methods }
    }
}
