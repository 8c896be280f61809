//! A database that is away for a moment while runs go on.

use std::sync::Arc;

use serde_json::Value;
use tenure::Tenure;
use tenure_systems::runs::Settings;
use tenure_systems::runs::step::Input;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::{Desk, does, steps_of};
use crate::kit::{PATIENCE, on_postgres};

/// A network between a process and its server. Where it is down every connection is cut, and none comes about.
pub struct Network {
    port: u16,
    pub down: watch::Sender<bool>,
    _tasks: JoinSet<()>,
}

impl Network {
    /// The network, and the address of the database behind it.
    pub async fn before(url: &str) -> (Network, String) {
        let (before, address) = url.split_once('@').unwrap();
        let (server, rest) = address.split_once('/').unwrap();
        let network = Network::to(server.to_string()).await;
        let through = format!("{before}@127.0.0.1:{}/{rest}", network.port);
        (network, through)
    }

    async fn to(server: String) -> Network {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (down, is_down) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let (server, mut is_down) = (server.clone(), is_down.clone());
                connections.spawn(async move {
                    let carry = async {
                        let Ok(mut server) = TcpStream::connect(&server).await else { return };
                        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                    };
                    tokio::select! {
                        biased;
                        _ = is_down.wait_for(|down| *down) => {}
                        () = carry => {}
                    }
                });
            }
        });
        Network { port, down, _tasks: tasks }
    }
}

// covers: R-06, K-53
#[test]
fn a_run_whose_database_is_away_for_a_moment_goes_on_when_it_is_back() {
    on_postgres(async |url| {
        let (network, through) = Network::before(&url).await;
        // Without loops, and with the only place taken, nothing but the run asks for anything.
        let tenure = Tenure::builder(&through).without_loops().open().await.unwrap();
        let desk = Desk::with(&through, tenure).await;
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begins, goes_on) = (begun.clone(), go_on.clone());
        let step = does("wait", move |_: Input| {
            let (begins, goes_on) = (begins.clone(), goes_on.clone());
            async move {
                begins.notify_one();
                goes_on.notified().await;
                Ok(Value::from("made"))
            }
        });
        let one_at_a_time = Settings { concurrency: 1, ..desk.settings.clone() };
        let running = desk.start_with(vec![step], one_at_a_time).await;
        let uploaded = desk.upload("x").await;
        begun.notified().await;
        network.down.send_replace(true);
        go_on.notify_one();
        // It asks in vain, and asks again.
        let failed = desk.tenure.measures().failed();
        while desk.tenure.measures().failed() < failed + 8 {
            tokio::task::yield_now().await;
        }
        network.down.send_replace(false);
        let outside = Tenure::open(&url).await.unwrap();
        outside.wait(uploaded.run_id, PATIENCE).await.unwrap();
        let run = desk.library.documents(outside).run(uploaded.run_id).await.unwrap();
        assert_eq!((run.state.as_str(), run.failure), ("COMPLETED", None));
        assert_eq!(
            steps_of(&desk.documents.run(uploaded.run_id).await.unwrap()),
            [("wait", "SUCCEEDED", 1, None)]
        );
        running.drain().await;
    });
}
