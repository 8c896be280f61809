//! Who asks: known by their token, or, where the service is open, by what they say.
//!
//! A caller's handle on the engine acts in one store: the one that `?store=` names, or else the only one of its token, or `default`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use serde::de::DeserializeOwned;
use tenure::Tenure;
use tenure::core::actor::{Actor, Role};
use tenure::core::answer::Granted;
use tenure::core::id::{ExecutionId, ItemId};
use tenure::core::item::Item;
use tenure::core::lifecycle::parse::nearest;
use tenure::core::trace::Trace;
use tenure::core::word::{Kind, Store, Who};
use tenure::databases::outside::now;

use crate::access::Asker;
use crate::app::{App, Open};
use crate::door;
use crate::extract::{OnlyStore, params};
use crate::own::not_created_by_hand;
use crate::problem::Problem;
use crate::token::{self, Bearer};

/// Where no store is named.
const DEFAULT: &str = "default";
/// Who comes without a token says here who they are.
const ACTOR: &str = "tenure-actor";
const LOCAL: &str = "admin:local";
const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

#[derive(Debug)]
pub struct Caller {
    pub app: App,
    bearer: Bearer,
    /// The engine, as this caller and in the store asked for.
    pub tenure: Tenure,
    pub store: Store,
    /// The store that the URL names.
    named: Option<Store>,
    /// The trace that the request belongs to, and with it whatever it creates.
    pub trace: Option<Arc<Trace>>,
}

/// A caller of a route that takes no parameters: any but `store` is refused.
impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Caller, Problem> {
        let caller = Caller::known(parts, app).await?;
        params::<OnlyStore>(&parts.uri).map(|_| caller)
    }
}

/// A caller, and the parameters of the route.
#[derive(Debug)]
pub struct With<P>(pub Caller, pub P);

impl<P: DeserializeOwned> FromRequestParts<App> for With<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<With<P>, Problem> {
        let caller = Caller::known(parts, app).await?;
        Ok(With(caller, params(&parts.uri)?))
    }
}

/// W3C Trace Context. A header that is not as it says is left out; of two parents neither is the one.
fn trace(headers: &HeaderMap) -> Option<Arc<Trace>> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let states: Option<Vec<&str>> =
        headers.get_all(TRACESTATE).iter().map(|value| value.to_str().ok()).collect();
    Trace::read(parent.to_str().ok()?, &states.unwrap_or_default().join(",")).map(Arc::new)
}

/// A caller who is an administrator.
#[derive(Debug)]
pub struct Admin(pub Caller);

impl FromRequestParts<App> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Admin, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        caller.is_admin().map(|()| Admin(caller))
    }
}

/// A caller who is an administrator, and the parameters of the route.
#[derive(Debug)]
pub struct AdminWith<P>(pub Caller, pub P);

impl<P: DeserializeOwned> FromRequestParts<App> for AdminWith<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<AdminWith<P>, Problem> {
        let With(caller, params) = With::from_request_parts(parts, app).await?;
        caller.is_admin().map(|()| AdminWith(caller, params))
    }
}

/// Who asks. Whoever was looked at before, as a caller of RPC is, is not looked at again.
pub async fn bearer(parts: &Parts, app: &App) -> Result<Bearer, Problem> {
    if let Some(bearer) = parts.extensions.get::<Bearer>() {
        return Ok(bearer.clone());
    }
    if let Some(shown) = parts.headers.get(header::AUTHORIZATION) {
        let text = shown.to_str().ok().and_then(|text| text.split_once(' '));
        return match text {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                app.tokens.bearer(token.trim()).await
            }
            _ => Err(Problem::unauthenticated("write `Authorization: Bearer TOKEN`")),
        };
    }
    if !app.is_open().await? {
        let detail = "a token is needed; send it as `Authorization: Bearer TOKEN`. If none is left, make one where the database is";
        return Err(Problem::unauthenticated(detail));
    }
    if app.open == Open::WhileNoToken {
        door::from_here(parts)?;
    }
    let said = parts.headers.get(ACTOR).map_or(Ok(LOCAL), |said| said.to_str());
    let actor: Option<Actor> = said.ok().and_then(|said| said.parse().ok());
    match actor {
        Some(actor) if actor.role != Role::System => {
            Ok(Bearer { actor, token: None, stores: Vec::new(), kinds: Vec::new(), expires_at: None })
        }
        _ => Err(Problem::wrong(
            "Tenure-Actor",
            "write ROLE:NAME, with one of api, orchestrator, worker, human, admin",
        )),
    }
}

/// The parameter `store` of a URL. Every route takes it, so it is read here.
fn store_of(uri: &Uri) -> Result<Option<Store>, Problem> {
    let pairs: Vec<(String, String)> = params(uri)?;
    let value = pairs.into_iter().find(|(name, _)| name == "store");
    value.map(|(_, value)| value.parse().map_err(|not| Problem::wrong("store", not))).transpose()
}

impl Bearer {
    fn store(&self, named: Option<Store>) -> Result<Store, Problem> {
        let store = match (named, &self.stores[..]) {
            (Some(store), _) => store,
            (None, [only]) => only.clone(),
            (None, _) => DEFAULT.parse()?,
        };
        self.may_enter(&store).map(|()| store)
    }

    /// The store of the tokens is the service's own, whoever asks.
    fn may_enter(&self, store: &Store) -> Result<(), Problem> {
        if store.as_str() == token::STORE {
            return Err(Problem::forbidden(format!("the store {store} is the service's own")));
        }
        match self.stores.is_empty() || self.stores.contains(store) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!("the token is not for the store {store}"))),
        }
    }
}

impl Caller {
    /// Who asks, and where.
    async fn known(parts: &Parts, app: &App) -> Result<Caller, Problem> {
        let bearer = bearer(parts, app).await?;
        if let Some(asker) = parts.extensions.get::<Asker>() {
            asker.is(&bearer.actor);
        }
        let named = store_of(&parts.uri)?;
        let store = bearer.store(named.clone())?;
        let tenure = app.tenure.acting(store.clone(), bearer.actor.clone());
        Ok(Caller { app: app.clone(), bearer, tenure, store, named, trace: trace(&parts.headers) })
    }

    fn is_admin(&self) -> Result<(), Problem> {
        match self.bearer.actor.role {
            Role::Admin => Ok(()),
            _ => Err(Problem::forbidden("this is for the role admin").with("roles", "admin")),
        }
    }

    pub fn actor(&self) -> &Actor {
        &self.bearer.actor
    }

    /// Whether the caller is who they are by a token, and not only by what they say.
    pub fn has_token(&self) -> bool {
        self.bearer.token.is_some()
    }

    pub fn token(&self) -> Option<ItemId> {
        self.bearer.token
    }

    /// The same caller as one incarnation of itself.
    pub fn worker(&self, worker: &str) -> Result<Tenure, Problem> {
        let incarnation: Who = worker.parse().map_err(|not| Problem::wrong("worker", not))?;
        Ok(self.incarnate(incarnation))
    }

    fn incarnate(&self, incarnation: Who) -> Tenure {
        let actor = Actor { incarnation: Some(incarnation), ..self.bearer.actor.clone() };
        self.app.tenure.acting(self.store.clone(), actor)
    }

    /// The engine as the holder of a lease, which the lease's token proves.
    pub fn holder(&self, execution: ExecutionId, lease_token: &str) -> Result<Tenure, Problem> {
        match self.app.signer.worker(lease_token, &self.store, execution, &self.bearer.actor) {
            Some(worker) => Ok(self.incarnate(worker)),
            None => {
                let detail = format!("this is not the lease token of {execution} for this caller");
                Err(tenure::core::answer::Answer::LeaseLost(detail).into())
            }
        }
    }

    pub fn lease_token(&self, granted: &Granted) -> Option<String> {
        let owner = &granted.item.lease.as_ref()?.owner;
        let holder = Actor { incarnation: owner.incarnation.clone(), ..self.bearer.actor.clone() };
        Some(self.app.signer.sign(&granted.item.store, granted.execution, &holder))
    }

    /// The same caller in another store, which a body names.
    pub fn within(&self, store: Option<&str>) -> Result<Tenure, Problem> {
        let Some(store) = store else { return Ok(self.tenure.clone()) };
        let store: Store = store.parse().map_err(|not| Problem::wrong("store", not))?;
        if self.named.as_ref().is_some_and(|named| *named != store) {
            return Err(Problem::wrong("store", "the URL names another; leave one of them out"));
        }
        self.bearer.may_enter(&store)?;
        Ok(self.app.tenure.acting(store, self.bearer.actor.clone()))
    }

    /// A kind that no lifecycle is for.
    pub fn unknown_kind(&self, field: &str, kind: &Kind) -> Problem {
        let tables = self.tenure.lifecycles();
        let mine = tables.iter().filter(|table| self.may_use(&table.kind).is_ok());
        let near = nearest(kind, mine.map(|table| table.kind.as_str()));
        let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        let detail = format!("there is no lifecycle `{kind}`{near}; GET /v1/lifecycles lists them");
        Problem::wrong(field, detail)
    }

    /// A no to one of many. It is counted as any other is, though the call as a whole is answered.
    pub fn no(&self, problem: Problem) -> Problem {
        self.app.requests.add_problem(problem.code().as_str());
        problem.said_to(&self.bearer.actor)
    }

    pub fn may_use(&self, kind: &Kind) -> Result<(), Problem> {
        match self.bearer.kinds.is_empty() || self.bearer.kinds.contains(kind) {
            true => Ok(()),
            false => Err(Problem::forbidden(format!("the token is not for the kind {kind}"))),
        }
    }

    /// Whether the caller may make items of this kind, as far as that is not for its table to say.
    pub fn may_create(&self, kind: &Kind) -> Result<(), Problem> {
        self.may_use(kind)?;
        not_created_by_hand(kind)
    }

    /// Whether what the caller has shown is still good: a stream outlives the look at its token.
    pub async fn is_still_good(&self) -> Result<bool, Problem> {
        match self.bearer.token {
            Some(token) => self.app.tokens.is_good(token).await,
            None => Ok(self.app.is_open().await?),
        }
    }

    /// Refuses a caller whose token was revoked or has expired during a wait.
    pub async fn must_be_good(&self) -> Result<(), Problem> {
        match self.is_still_good().await? {
            true => Ok(()),
            false => Err(Problem::unauthenticated("the token was revoked, or is over, since this was asked")),
        }
    }

    /// How long the caller may wait: no longer than their token lasts.
    pub fn patience(&self, wanted: Duration) -> Duration {
        match self.bearer.expires_at {
            None => wanted,
            // Clocks are read to the microsecond: a wait that ends with the token ends just after it.
            Some(at) => wanted.min(at.since(now()) + Duration::from_millis(1)),
        }
    }

    /// What concerns every store and kind, as lifecycles and tokens do, is not for somebody who is limited to some of them.
    pub fn everywhere(&self) -> Result<(), Problem> {
        match self.is_unlimited() {
            true => Ok(()),
            false => Err(Problem::forbidden(
                "this concerns all stores and kinds, and the token is for some of them",
            )),
        }
    }

    fn is_unlimited(&self) -> bool {
        self.bearer.stores.is_empty() && self.bearer.kinds.is_empty()
    }

    /// Whether entries of a store are shown to the caller. The service's own store is an administrator's to follow.
    pub fn may_follow(&self, store: &Store) -> bool {
        let is_auditor = self.bearer.actor.role == Role::Admin && self.is_unlimited();
        is_auditor || self.bearer.may_enter(store).is_ok()
    }

    /// Whether the caller's token names the kinds it is for.
    pub fn is_limited_to_kinds(&self) -> bool {
        !self.bearer.kinds.is_empty()
    }

    /// Of kinds that a caller has nothing to do with there are no items.
    pub fn may_see(&self, item: &Item) -> Result<(), Problem> {
        match self.may_use(&item.table.kind) {
            Ok(()) => Ok(()),
            Err(_) => Err(Problem::not_found(format!("there is no item {} in this store", item.id))),
        }
    }

    /// The kind that a list is about. A token that is for some kinds lists one of them at a time.
    pub fn kind_of_list(&self, named: Option<Kind>) -> Result<Option<Kind>, Problem> {
        match (named, &self.bearer.kinds[..]) {
            (Some(kind), _) => self.may_use(&kind).map(|()| Some(kind)),
            (None, []) => Ok(None),
            (None, [only]) => Ok(Some(only.clone())),
            (None, _) => Err(Problem::wrong("kind", "the token is for several; name one of them")),
        }
    }

    /// Of items that are named beside one that the caller may see, those that they may see too.
    pub async fn seen(&self, ids: Vec<ItemId>) -> Result<BTreeSet<ItemId>, Problem> {
        let found = self.tenure.items(ids).await?;
        Ok(found.iter().filter(|item| self.may_see(item).is_ok()).map(|item| item.id).collect())
    }

    /// An item that the caller may know of.
    pub async fn item(&self, id: ItemId) -> Result<Item, Problem> {
        let item = self.tenure.item(id).await?;
        self.may_see(&item).map(|()| item)
    }
}
