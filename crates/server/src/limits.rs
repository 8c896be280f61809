//! Every limit of the service, in one place. What is beyond one is refused in words that name it.

use std::time::Duration;

/// A whole request: a call of a thousand creates with payloads of some kilobytes each.
pub const REQUEST_BYTES_MAX: usize = 8 << 20;
/// Things of one call: creates, commits, renewals.
pub const CALL_MAX: usize = 1_000;
/// Leases of one call.
pub const LEASES_MAX: usize = tenure::core::decide::acquire::ACQUIRE_MAX;
/// Longer than this nobody waits for an answer: what is between would cut the connection.
pub const WAIT_MAX: Duration = Duration::from_secs(30);
/// A page of a list, where its length is not asked for, and at most.
pub const PAGE: usize = 100;
pub const PAGE_MAX: usize = tenure::databases::PAGE_MAX;
/// Requests that are under way at once, those that wait for work among them. More are told to come back.
pub const REQUESTS_MAX: usize = 16_384;
/// How long a server believes what it has read about a token: a token that is revoked on another server is refused here no later.
pub const TOKEN_MEMORY: Duration = Duration::from_secs(1);
/// Tokens that are remembered.
pub const TOKENS_MAX: usize = 10_000;
/// Stores and kinds that a token names.
pub const SCOPE_MAX: usize = 100;
/// Connections at once. More wait before they are accepted.
pub const CONNECTIONS_MAX: usize = 16_384;
/// So long may the head of a request take, and so long its body: whoever is slower keeps a connection from others.
pub const HEAD_WAIT: Duration = Duration::from_secs(10);
pub const BODY_WAIT: Duration = Duration::from_secs(60);
/// A document may take longer, as long as something of it comes: the largest at a megabit a second.
pub const UPLOAD_WAIT: Duration = Duration::from_secs(600);
/// Of what is said beside a document in its upload: a name, a key.
pub const UPLOAD_FIELD_BYTES_MAX: usize = 4 << 10;
/// Whoever takes nothing of its answer for so long loses it: a stream of the log holds its place, and a page its memory.
pub const UNREAD_WAIT: Duration = Duration::from_secs(30);
/// Of a body that was refused so much is still read, and for so long: whoever sends it gets its answer instead of a broken connection.
pub const REST_BYTES_MAX: usize = 64 << 20;
pub const REST_WAIT: Duration = Duration::from_secs(5);
/// Streams of an HTTP/2 connection at once. RFC 9113 asks for no fewer than 100.
pub const HTTP2_STREAMS_MAX: u32 = 100;
/// Bytes that HTTP/2 buffers for one stream before its peer takes them. With every stream in use this is 6.4 MB a connection.
pub const HTTP2_SEND_BYTES_MAX: usize = 64 << 10;
/// A long answer is sent in pieces of this size, the default frame of HTTP/2. Shorter answers are not counted.
pub const PIECE_BYTES: usize = 16 << 10;
/// Bytes of long answers that wait on one connection. A single answer may be longer.
pub const CONNECTION_ANSWER_BYTES_MAX: usize = 4 << 20;
/// Bytes of long answers that wait on all connections.
pub const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Bytes of request bodies that have not arrived completely, on one connection (two of the longest) and on all. The first `PIECE_BYTES` of
/// each body are not counted.
pub const CONNECTION_BODY_BYTES_MAX: usize = 2 * REQUEST_BYTES_MAX;
pub const BODY_BYTES_MAX: usize = 256 << 20;
/// Streams of the log at once. Each looks at the database once a second, also when nothing happens.
pub const STREAMS_MAX: usize = 256;
/// Of one token: a few readers on each of some machines, and an eighth of the room of all.
pub const STREAMS_EACH_MAX: usize = 32;
/// Entries that a stream reads before it sends them: all that it holds for a reader who is slow.
pub const STREAM_PAGE: usize = 100;
/// A stream that has nothing to say says so, before what is between takes it for dead.
pub const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Pages of the log that one call reads to find entries that its caller may see.
pub const LOG_PAGES_MAX: usize = 10;
/// Lines a second of requests with errors. Nobody reads more of them, and a disk that they fill is everybody's.
pub const ERROR_LINES_MAX: u64 = 100;
