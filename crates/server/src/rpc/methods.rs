//! Every method, and the call of REST that it is. Nothing else is known about a method: what its messages hold is in the description of
//! the messages, and what it does is in the route.

use axum::http::Method as Verb;

/// The package of everything. A path is `/tenure.v1.ItemService/Create`.
pub const PACKAGE: &str = "tenure.v1";

#[derive(Debug)]
pub struct Method {
    /// `ItemService/Create`.
    pub name: &'static str,
    pub verb: Verb,
    /// A field of the request in braces goes here; `store` goes behind it.
    pub path: &'static str,
    /// The field that is the whole body; where that is bytes, the other fields are parameters. None: all that is not in the path.
    pub body: Option<&'static str>,
}

const fn get(name: &'static str, path: &'static str) -> Method {
    Method { name, verb: Verb::GET, path, body: None }
}

const fn post(name: &'static str, path: &'static str) -> Method {
    Method { name, verb: Verb::POST, path, body: None }
}

const fn delete(name: &'static str, path: &'static str) -> Method {
    Method { name, verb: Verb::DELETE, path, body: None }
}

pub static METHODS: &[Method] = &[
    post("ItemService/Create", "/v1/items"),
    Method { name: "ItemService/CreateMany", verb: Verb::POST, path: "/v1/items", body: Some("items") },
    get("ItemService/Get", "/v1/items/{id}"),
    get("ItemService/List", "/v1/items"),
    post("ItemService/Event", "/v1/items/{id}/{event}"),
    post("ItemService/Bulk", "/v1/items/bulk/{event}"),
    delete("ItemService/EraseBody", "/v1/items/{id}/body"),
    get("ItemService/ListExecutions", "/v1/items/{id}/executions"),
    get("ItemService/ListLog", "/v1/items/{id}/log"),
    get("ItemService/GetReceipt", "/v1/items/{id}/receipt"),
    get("ItemService/Explain", "/v1/items/{id}/explain"),
    post("WorkService/Lease", "/v1/leases"),
    post("WorkService/Start", "/v1/executions/{execution}/start"),
    post("WorkService/Renew", "/v1/executions/{execution}/renew"),
    post("WorkService/RenewMany", "/v1/leases/renew"),
    post("WorkService/Progress", "/v1/executions/{execution}/progress"),
    post("WorkService/Commit", "/v1/executions/{execution}/commit"),
    post("WorkService/CommitMany", "/v1/executions/commit"),
    post("WorkService/Finish", "/v1/executions/{execution}/finish"),
    post("WorkService/Fail", "/v1/executions/{execution}/fail"),
    post("WorkService/Release", "/v1/executions/{execution}/release"),
    get("WorkService/ListLeases", "/v1/leases"),
    get("WorkService/ListWorkers", "/v1/workers"),
    post("JobService/Submit", "/v1/jobs"),
    get("JobService/Get", "/v1/jobs/{id}"),
    get("JobService/List", "/v1/jobs"),
    post("JobService/Cancel", "/v1/jobs/{id}/cancel"),
    post("JobService/Retry", "/v1/jobs/{id}/retry"),
    get("JobService/ListExecutions", "/v1/jobs/{id}/executions"),
    post("ClaimService/CreateClaim", "/v0.1/claims"),
    get("ClaimService/GetClaim", "/v0.1/claims/{claim_id}"),
    get("ClaimService/ListClaims", "/v0.1/claims"),
    post("ClaimService/EnqueueDecomposition", "/v0.1/claims/{claim_id}/enqueue-decomposition"),
    post("ClaimService/DecomposeClaim", "/v0.1/claims/{claim_id}/decompose"),
    get("ClaimService/GetTruthBits", "/v0.1/claims/{claim_id}/truthbits"),
    post("ClaimService/AddEvidence", "/v0.1/evidence"),
    post("ClaimService/CreateValidation", "/v0.1/truthbits/{truthbit_id}/validations"),
    post("ClaimService/CreateClaimValidation", "/v0.1/claims/{claim_id}/validations"),
    get("ClaimService/ListValidations", "/v0.1/claims/{claim_id}/validations"),
    post("ClaimService/SubmitValidation", "/v0.1/validations/{validation_id}/submit"),
    post("ClaimService/InvalidateValidation", "/v0.1/validations/{validation_id}/invalidate"),
    get("ClaimService/GetVerdict", "/v0.1/claims/{claim_id}/verdict"),
    post("ClaimService/ComputeVerdict", "/v0.1/claims/{claim_id}/compute-verdict"),
    Method {
        name: "DocumentService/UploadDocument",
        verb: Verb::POST,
        path: "/v1/documents",
        body: Some("content"),
    },
    get("DocumentService/GetDocument", "/v1/documents/{id}"),
    get("DocumentService/ListDocuments", "/v1/documents"),
    get("DocumentService/GetContent", "/v1/documents/{id}/content"),
    post("DocumentService/Reprocess", "/v1/documents/{id}/reprocess"),
    get("DocumentService/ListRuns", "/v1/documents/{id}/runs"),
    get("DocumentService/GetRun", "/v1/runs/{id}"),
    get("DocumentService/ListArtifacts", "/v1/runs/{id}/artifacts"),
    get("DocumentService/GetArtifact", "/v1/runs/{id}/artifacts/{name}"),
    post("SessionService/Acquire", "/v1/sessions"),
    get("SessionService/Get", "/v1/sessions/{id}"),
    delete("SessionService/Release", "/v1/sessions/{id}"),
    post("TodoService/Add", "/v1/todos"),
    get("TodoService/List", "/v1/todos"),
    get("TodoService/Get", "/v1/todos/{id}"),
    post("TodoService/Next", "/v1/todos/next"),
    post("TodoService/Claim", "/v1/todos/{id}/claim"),
    post("TodoService/Release", "/v1/todos/{id}/release"),
    post("TodoService/Done", "/v1/todos/{id}/done"),
    post("TodoService/Abandon", "/v1/todos/{id}/abandon"),
    post("TodoService/Depend", "/v1/todos/{id}/depend"),
    post("TodoService/Attest", "/v1/todos/{id}/attest"),
    post("TodoService/Plan", "/v1/todos/{id}/plan"),
    get("TodoService/GetReceipt", "/v1/todos/{id}/receipt"),
    post("TodoService/Validate", "/v1/todos/validate"),
    post("TicketService/Create", "/v1/tickets"),
    get("TicketService/Get", "/v1/tickets/{id}"),
    get("TicketService/List", "/v1/tickets"),
    post("TicketService/Approve", "/v1/tickets/{id}/approve"),
    post("TicketService/Block", "/v1/tickets/{id}/block"),
    post("TicketService/Resolve", "/v1/tickets/{id}/resolve"),
    get("TicketService/Explain", "/v1/tickets/{id}/explain"),
    get("TicketService/ListRunRecords", "/v1/tickets/{id}/run-records"),
    get("TicketService/GetPauseState", "/v1/tickets/{id}/pause-state"),
    get("TicketService/ListWorkOrders", "/v1/work-orders"),
    get("TicketService/GetWorkOrder", "/v1/work-orders/{id}"),
    get("TicketService/GetOutput", "/v1/work-orders/{id}/output"),
    post("TicketService/DeliverOutput", "/v1/work-orders/{id}/output"),
    get("InboxService/List", "/v1/inbox"),
    post("InboxService/Approve", "/v1/inbox/{id}/approve"),
    post("InboxService/Reject", "/v1/inbox/{id}/reject"),
    get("LogService/List", "/v1/log"),
    post("AdminService/CreateToken", "/v1/tokens"),
    get("AdminService/ListTokens", "/v1/tokens"),
    delete("AdminService/RevokeToken", "/v1/tokens/{id}"),
    post("AdminService/CreateSchedule", "/v1/schedules"),
    get("AdminService/ListSchedules", "/v1/schedules"),
    delete("AdminService/RemoveSchedule", "/v1/schedules/{name}"),
    post("AdminService/PauseSchedule", "/v1/schedules/{name}/pause"),
    post("AdminService/ResumeSchedule", "/v1/schedules/{name}/resume"),
    post("AdminService/CreateWebhook", "/v1/webhooks"),
    get("AdminService/ListWebhooks", "/v1/webhooks"),
    delete("AdminService/RemoveWebhook", "/v1/webhooks/{name}"),
    post("AdminService/PauseWebhook", "/v1/webhooks/{name}/pause"),
    post("AdminService/ResumeWebhook", "/v1/webhooks/{name}/resume"),
    post("AdminService/SetLimit", "/v1/limits"),
    get("AdminService/ListLimits", "/v1/limits"),
    delete("AdminService/ResetLimit", "/v1/limits/{kind}"),
    post("AdminService/AddLifecycle", "/v1/lifecycles"),
    get("AdminService/ListLifecycles", "/v1/lifecycles"),
    get("AdminService/GetLifecycle", "/v1/lifecycles/{kind}"),
    get("AdminService/DrawLifecycle", "/v1/lifecycles/{kind}/diagram.svg"),
    get("AdminService/GetStats", "/v1/stats"),
];
