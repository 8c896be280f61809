//! Somebody who calls methods, with nothing of what the server does it with: messages are prost's, gRPC is tonic's.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::http::{Method, Request, Response, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use prost::bytes::{Buf, BufMut};
use prost_reflect::{DynamicMessage, MessageDescriptor, MethodDescriptor, SerializeOptions};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

use super::compiled::POOL;
use crate::kit::Service;

/// How a message travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    ConnectJson,
    ConnectBinary,
    Grpc,
}

pub const WAYS: [Way; 3] = [Way::ConnectJson, Way::ConnectBinary, Way::Grpc];

/// Somebody at a service.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    pub service: &'a Service,
    pub way: Way,
    pub token: Option<&'a str>,
}

/// A yes: the message, with the names that the files have, and the status that REST would have had.
#[derive(Debug)]
pub struct Yes {
    pub message: Value,
    pub status: u16,
}

/// A no: the protocol's code, the words, and the problem among its details.
#[derive(Debug)]
pub struct No {
    pub code: String,
    pub words: String,
    pub problem: Value,
}

impl No {
    #[track_caller]
    pub fn is(&self, code: &str, tenure: &str) -> &Value {
        assert_eq!((self.code.as_str(), self.problem["code"].as_str()), (code, Some(tenure)), "{self:?}");
        assert!(self.words.starts_with(&format!("{tenure}: ")), "{self:?}");
        let document: Value =
            serde_json::from_str(self.problem["document_json"].as_str().unwrap()).expect("a document");
        assert_eq!((&document["code"], &document["status"]), (&json!(tenure), &self.problem["status"]));
        &self.problem
    }
}

pub fn method(name: &str) -> MethodDescriptor {
    let (service, name) = name.split_once('/').unwrap();
    let service = POOL.get_service_by_name(&format!("tenure.v1.{service}")).expect("a service");
    service.methods().find(|method| method.name() == name).expect("a method")
}

pub fn every_method() -> Vec<(String, MethodDescriptor)> {
    let methods = POOL.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let name = |method: &MethodDescriptor| format!("{}/{}", method.parent_service().name(), method.name());
    methods.map(|method| (name(&method), method)).collect()
}

impl Caller<'_> {
    /// A method that says yes.
    #[track_caller]
    pub fn yes(&self, name: &str, message: Value) -> impl Future<Output = Value> {
        let asked = format!("{name} {message} by {:?}", self.way);
        let called = self.call(name, message);
        async move { called.await.unwrap_or_else(|no| panic!("{asked}: {no:?}")).message }
    }

    pub async fn no(&self, name: &str, message: Value) -> No {
        match self.call(name, message.clone()).await {
            Ok(yes) => panic!("{name} {message}: {yes:?}"),
            Err(no) => no,
        }
    }

    pub async fn call(&self, name: &str, message: Value) -> Result<Yes, No> {
        let method = method(name);
        let message = DynamicMessage::deserialize(method.input(), message).expect("a message of the files");
        let (kind, body) = match self.way {
            Way::ConnectJson => ("application/json", serde_json::to_vec(&message).unwrap()),
            Way::ConnectBinary => ("application/proto", message.encode_to_vec()),
            Way::Grpc => return self.grpc(name, &method, message.encode_to_vec()).await,
        };
        let answer = self.posted(name, kind, body, &[]).await;
        match answer.status().as_u16() {
            200 => {
                let status = answer.headers()["tenure-status"].to_str().unwrap().parse().unwrap();
                let message = read(&method.output(), self.way, answer.body());
                Ok(Yes { message, status })
            }
            _ => Err(no(answer.body())),
        }
    }

    /// One HTTP request to a method.
    pub async fn posted(
        &self,
        name: &str,
        kind: &str,
        body: Vec<u8>,
        headers: &[(&str, &str)],
    ) -> Response<Bytes> {
        let path = format!("/tenure.v1.{name}");
        let mut call = self.service.call(Method::POST, &path).header("content-type", kind);
        for (name, value) in headers {
            call = call.header(name, value);
        }
        if let Some(token) = self.token {
            call = call.token(token);
        }
        let stream = TcpStream::connect(self.service.address).await.expect("the service listens");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let request = call.request.body(Full::new(Bytes::from(body))).unwrap();
        let answered = async {
            let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
            Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
        };
        tokio::select! {
            answer = answered => answer,
            ended = async { connection.await.unwrap(); std::future::pending().await } => ended,
        }
    }

    async fn grpc(&self, name: &str, method: &MethodDescriptor, body: Vec<u8>) -> Result<Yes, No> {
        let stream = TcpStream::connect(self.service.address).await.expect("the service listens");
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let origin = Uri::try_from(format!("http://{}", self.service.address)).unwrap();
        let mut grpc = Grpc::with_origin(Channel(sender), origin);
        let mut request = tonic::Request::new(body);
        if let Some(token) = self.token {
            request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        }
        let path = format!("/tenure.v1.{name}").parse().unwrap();
        let answered = async {
            grpc.ready().await.unwrap();
            grpc.unary(request, path, Plain).await
        };
        let answer = tokio::select! {
            answer = answered => answer,
            ended = async { connection.await.unwrap(); std::future::pending().await } => ended,
        };
        match answer {
            Ok(answer) => {
                let status = answer.metadata().get("tenure-status").unwrap().to_str().unwrap();
                let status = status.parse().unwrap();
                Ok(Yes { message: read(&method.output(), self.way, answer.get_ref()), status })
            }
            Err(status) => Err(grpc_no(&status)),
        }
    }
}

/// A message as JSON, with the names of the files and numbers as numbers.
pub fn read(kind: &MessageDescriptor, way: Way, bytes: &[u8]) -> Value {
    let message = match way {
        Way::ConnectJson => {
            let mut reader = serde_json::Deserializer::from_slice(bytes);
            DynamicMessage::deserialize(kind.clone(), &mut reader).expect("JSON of the message")
        }
        Way::ConnectBinary | Way::Grpc => DynamicMessage::decode(kind.clone(), bytes).expect("a message"),
    };
    assert_eq!(message.unknown_fields().count(), 0);
    let options = SerializeOptions::new().use_proto_field_name(true).stringify_64_bit_integers(false);
    message.serialize_with_options(serde_json::value::Serializer, &options).unwrap()
}

fn problem(bytes: &[u8]) -> Value {
    read(&POOL.get_message_by_name("tenure.v1.Problem").unwrap(), Way::ConnectBinary, bytes)
}

fn no(body: &[u8]) -> No {
    let error: Value = serde_json::from_slice(body).expect("an error of Connect");
    let text = |name: &str| error[name].as_str().unwrap_or_default().to_string();
    let detail = &error["details"][0];
    let problem = match detail["value"].as_str() {
        Some(value) => {
            assert_eq!(detail["type"], "tenure.v1.Problem");
            problem(&STANDARD_NO_PAD.decode(value).unwrap())
        }
        None => Value::Null,
    };
    No { code: text("code"), words: text("message"), problem }
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

fn grpc_no(status: &Status) -> No {
    let details = RpcStatus::decode(status.details()).expect("details");
    let problem = details.details.first().map_or(Value::Null, |any| {
        assert_eq!(any.type_url, "type.googleapis.com/tenure.v1.Problem");
        problem(&any.value)
    });
    let code = match status.code() {
        Code::InvalidArgument => "invalid_argument",
        Code::Unauthenticated => "unauthenticated",
        Code::PermissionDenied => "permission_denied",
        Code::NotFound => "not_found",
        Code::FailedPrecondition => "failed_precondition",
        Code::ResourceExhausted => "resource_exhausted",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::Unavailable => "unavailable",
        Code::Unimplemented => "unimplemented",
        other => panic!("{other:?}: {status}"),
    };
    No { code: code.to_string(), words: status.message().to_string(), problem }
}

/// One connection.
struct Channel(SendRequest<tonic::body::Body>);

impl tower::Service<Request<tonic::body::Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Bytes as they are: what they mean is the caller's.
struct Plain;

impl Codec for Plain {
    type Encode = Vec<u8>;
    type Decode = Vec<u8>;
    type Encoder = Plain;
    type Decoder = Plain;

    fn encoder(&mut self) -> Plain {
        Plain
    }

    fn decoder(&mut self) -> Plain {
        Plain
    }
}

impl Encoder for Plain {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put_slice(&item);
        Ok(())
    }
}

impl Decoder for Plain {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        let length = buffer.remaining();
        Ok(Some(buffer.copy_to_bytes(length).to_vec()))
    }
}
