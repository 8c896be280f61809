//! Messages about tickets that are answered with a yes.

use std::time::Duration;

use serde_json::{Value, json};
use tenure_systems::tickets::{Part, Settings, start};

use super::every::{Desk, made};

async fn ticket(desk: &Desk<'_>) -> Value {
    let body = json!({ "title": "paint the door", "gates": ["human:is it red?"], "budget_ms": 60000 });
    made(desk, "/v1/tickets", body).await["ticket_id"].clone()
}

async fn approved(desk: &Desk<'_>) -> Value {
    let id = ticket(desk).await;
    let path = format!("/v1/tickets/{}/approve", id.as_str().unwrap());
    made(desk, &path, json!({ "note": "go" })).await;
    id
}

async fn blocked(desk: &Desk<'_>) -> Value {
    let id = approved(desk).await;
    let path = format!("/v1/tickets/{}/block", id.as_str().unwrap());
    made(desk, &path, json!({ "reason": "not today" })).await;
    id
}

/// A work order that a runner holds: the lease, and a bundle for it.
pub async fn leased(desk: &Desk<'_>) -> (Value, Value) {
    let id = approved(desk).await;
    let scheduler = start(&desk.service.tenure, Settings::only(Part::Scheduler));
    let mut after = 0;
    let order = loop {
        let page = desk.service.tenure.log_or_wait(after, 1_000, Duration::from_secs(1)).await.unwrap();
        after = page.last().map_or(after, |(position, _)| *position);
        // Others wait for the scheduler too, and several are scheduled at once.
        let orders = desk.get("/v1/work-orders?order=newest&limit=100").await;
        let ours = orders["items"].as_array().unwrap().iter().find(|order| order["ticket_id"] == id);
        if let Some(order) = ours {
            break order["work_order_id"].clone();
        }
    };
    scheduler.drain().await;
    let lease = json!({ "items": [order], "worker": "w", "start": true });
    let lease = made(desk, "/v1/leases", lease).await["leases"][0].clone();
    let bundle = json!({ "work_order_id": order, "ticket_id": id, "outcome": "COMPLETED", "budget_ms": 60000,
        "took_ms": 5, "output": { "n": 1.50 } });
    (lease, bundle)
}

pub async fn example(desk: &Desk<'_>, name: &str) -> Value {
    match name {
        "TicketService/Create" => {
            json!({ "title": "t", "description": "d", "gates": ["cmd:true"], "budget_ms": 5 })
        }
        "TicketService/Get" | "TicketService/Explain" | "TicketService/ListRunRecords" => {
            json!({ "id": blocked(desk).await })
        }
        "TicketService/List" => json!({ "state": "NEW", "order": "newest", "limit": 2 }),
        "TicketService/Approve" => json!({ "id": ticket(desk).await, "note": "yes" }),
        "TicketService/Block" => json!({ "id": approved(desk).await, "reason": "no" }),
        "TicketService/Resolve" => json!({ "id": blocked(desk).await, "note": "done" }),
        "TicketService/GetPauseState" => json!({ "id": blocked(desk).await }),
        "TicketService/ListWorkOrders" => json!({ "order": "newest", "limit": 1 }),
        "TicketService/GetWorkOrder" => json!({ "id": leased(desk).await.0["item"] }),
        "TicketService/GetOutput" => {
            let (lease, bundle) = leased(desk).await;
            let body = json!({ "execution": lease["execution"], "lease_token": lease["lease_token"],
                "output_bundle": bundle });
            made(desk, &format!("/v1/work-orders/{}/output", lease["item"].as_str().unwrap()), body).await;
            json!({ "id": lease["item"] })
        }
        "TicketService/DeliverOutput" => {
            let (lease, bundle) = leased(desk).await;
            json!({ "id": lease["item"], "execution": lease["execution"], "lease_token": lease["lease_token"],
                "output_bundle_json": bundle.to_string() })
        }
        "InboxService/List" => json!({ "limit": 3 }),
        "InboxService/Approve" | "InboxService/Reject" => {
            json!({ "id": ticket(desk).await, "note": "my word" })
        }
        other => panic!("{other} has no example"),
    }
}
