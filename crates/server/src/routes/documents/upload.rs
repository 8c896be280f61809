//! Taking a document in: a body of any type, or a form as browsers send it. It goes to the disk as it comes; of what is too large
//! nothing is kept, and it is refused before it has come whole.

use std::time::Duration;

use axum::Json as Shown;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use multer::{Field, Multipart};
use serde::Deserialize;
use tenure_systems::runs::documents::Upload;
use tenure_systems::runs::files::{DOCUMENT_BYTES_MAX, Incoming, NotStored};
use tenure_systems::runs::{DOCUMENT, Documents, RUN};
use tokio::time::timeout;
use utoipa::IntoParams;

use super::view::UploadedView;
use crate::caller::With;
use crate::limits::{BODY_WAIT, UPLOAD_FIELD_BYTES_MAX, UPLOAD_WAIT};
use crate::once;
use crate::problem::Problem;
use crate::serve::Serving;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct UploadParams {
    /// What people call it; of a form, its file's name where this is not said.
    name: Option<String>,
    /// The same as the header.
    idempotency_key: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// Upload a document
///
/// The body is the document, or a form (`multipart/form-data`) whose part `file` is. What it is, is read from its bytes. At most
/// 64 MiB. When this answers, the document and its first run are stored.
#[utoipa::path(post, path = "/v1/documents", tag = "documents",
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "the document, of any type, or a form with a part `file`"),
    params(UploadParams, ("Idempotency-Key" = Option<String>, Header, description = "repeated with the same key, it is the same document"),
        ("traceparent" = Option<String>, Header, description = "handed on to whoever works on it; so is `tracestate`")),
    responses((status = 201, body = UploadedView), (status = 200, description = "repeated: the first answer", body = UploadedView),
        (status = 413, description = "more than 64 MiB")))]
pub async fn upload(
    With(caller, params): With<UploadParams>,
    headers: HeaderMap,
    request: Request,
) -> Result<(StatusCode, Shown<UploadedView>), Problem> {
    caller.may_use(&DOCUMENT.parse()?)?;
    caller.may_use(&RUN.parse()?)?;
    let documents = super::documents(&caller)?;
    // Of what says that it is too much nothing is read.
    if request.body().size_hint().lower() > DOCUMENT_BYTES_MAX + UPLOAD_FIELD_BYTES_MAX as u64 {
        return Err(NotStored::TooLarge.into());
    }
    let key = once::key(params.idempotency_key, &headers)?;
    let serving = request.extensions().get::<Serving>();
    let patience = serving.map_or(BODY_WAIT, |serving| serving.patience.body);
    let received = match timeout(UPLOAD_WAIT, receive(&documents, request, patience)).await {
        Ok(received) => received?,
        Err(_) => return Err(late(UPLOAD_WAIT)),
    };
    let Received { incoming, name, idempotency_key } = received;
    let upload = Upload {
        name: params.name.or(name).unwrap_or_default(),
        idempotency_key: once::one(key, idempotency_key.as_deref())?,
        trace: caller.trace.clone(),
    };
    let made = documents.upload(incoming, upload).await?;
    Ok((once::status(made.is_new), Shown(made.into())))
}

struct Received {
    incoming: Incoming,
    name: Option<String>,
    idempotency_key: Option<String>,
}

async fn receive(documents: &Documents, request: Request, patience: Duration) -> Result<Received, Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match kind.map(multer::parse_boundary) {
        Some(Ok(boundary)) => form(documents, request.into_body(), boundary, patience).await,
        // It is no form, whatever else it is said to be.
        Some(Err(multer::Error::NoMultipart)) | None => {
            let mut incoming = documents.receive().await?;
            let mut body = request.into_body();
            while let Some(chunk) = within(patience, next(&mut body)).await? {
                incoming.write(&chunk).await?;
            }
            Ok(Received { incoming, name: None, idempotency_key: None })
        }
        Some(Err(why)) => Err(unreadable(&why)),
    }
}

/// The next bytes of a body. None: that was all.
async fn next(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    return Ok(Some(bytes));
                }
            }
            Some(Err(why)) => return Err(Problem::invalid(format!("the body ended early: {why}"))),
        }
    }
}

async fn form(
    documents: &Documents,
    body: Body,
    boundary: String,
    patience: Duration,
) -> Result<Received, Problem> {
    let mut parts = Multipart::new(body.into_data_stream(), boundary);
    let mut file: Option<(Incoming, Option<String>)> = None;
    let (mut name, mut idempotency_key) = (None, None);
    while let Some(mut part) = within(patience, async { told(parts.next_field().await) }).await? {
        match part.name().unwrap_or_default() {
            "file" if file.is_none() => {
                let mut incoming = documents.receive().await?;
                while let Some(chunk) = within(patience, async { told(part.chunk().await) }).await? {
                    incoming.write(&chunk).await?;
                }
                file = Some((incoming, part.file_name().map(str::to_string)));
            }
            "name" if name.is_none() => name = Some(text(part, patience).await?),
            "idempotency_key" if idempotency_key.is_none() => {
                idempotency_key = Some(text(part, patience).await?);
            }
            other => {
                let detail =
                    format!("{other}: a form has one `file`, and may have a `name` and an `idempotency_key`");
                return Err(Problem::invalid(detail).with("field", other));
            }
        }
    }
    let Some((incoming, named)) = file else {
        return Err(Problem::wrong("file", "the form has no such part"));
    };
    Ok(Received { incoming, name: name.or(named), idempotency_key })
}

async fn text(mut part: Field<'_>, patience: Duration) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = within(patience, async { told(part.chunk().await) }).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > UPLOAD_FIELD_BYTES_MAX {
            let detail = format!("a part beside the file has at most {UPLOAD_FIELD_BYTES_MAX} bytes");
            return Err(Problem::invalid(detail));
        }
    }
    String::from_utf8(bytes).map_err(|_| Problem::invalid("a part beside the file is not UTF-8"))
}

/// Whoever sends nothing for so long is not waited for.
async fn within<T>(patience: Duration, work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    timeout(patience, work).await.unwrap_or_else(|_| Err(late(patience)))
}

fn late(patience: Duration) -> Problem {
    let detail = format!("the body did not come within {} s", patience.as_secs());
    Problem::invalid(detail).status(StatusCode::REQUEST_TIMEOUT)
}

fn told<T>(read: Result<T, multer::Error>) -> Result<T, Problem> {
    read.map_err(|why| unreadable(&why))
}

fn unreadable(why: &multer::Error) -> Problem {
    Problem::invalid(format!("the form can not be read: {why}"))
}
