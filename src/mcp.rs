//! The MCP server: sessions as tools of whatever client a person uses, on standard input and output.
//!
//! Like every face it knows sessions, cells and outcomes alone. The protocol is rmcp's; what a cell prints has no way into it,
//! since the descriptors moved away before any cell could run. The client's sessions are not ours: every call names the
//! session it is for, as the protocol's newest revision has none of its own.
//!
//! **A cell and its call.** A cell runs as a task of its own ([`running`]); its call waits for it so long and then answers
//! that it still runs. What nobody waits for any more stays at the [`desk`] until somebody asks, so that no output is lost.
//!
//! **Threads.** One, which never blocks, besides those on which the standard streams are read and written.

mod desk;
mod intake;
mod running;
mod server;
mod tools;
mod transport;

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::sync::Notify;
use warmcell::{Language, SessionBuilder};

use self::desk::Desk;
use self::server::Server;
use self::transport::Stdio;

/// How often sessions that were idle for too long are looked for.
const SWEEP: Duration = Duration::from_secs(30);

/// What the server does and holds its cells to.
pub(crate) struct Settings {
    /// The languages that are offered, the one of calls that name none first.
    pub(crate) languages: Vec<Language>,
    /// Declarations of what cells can call, in the languages offered; empty where that is nothing.
    pub(crate) stubs: String,
    /// What cells may not do, a sentence each.
    pub(crate) rules: Vec<String>,
    /// How a session is opened.
    pub(crate) open: Arc<dyn Fn(Language) -> SessionBuilder + Send + Sync>,
    /// How many sessions live at most.
    pub(crate) sessions: usize,
    /// How long one may be idle.
    pub(crate) idle: Duration,
    /// How many bytes of text a result may have.
    pub(crate) bytes: usize,
    /// How many bytes of images, as base64.
    pub(crate) image_bytes: usize,
    /// Whether results carry the outcome as data, too.
    pub(crate) structured: bool,
    /// Whether cells reach the network.
    pub(crate) network: bool,
    /// What the first reader of each session must know.
    pub(crate) notice: Option<String>,
}

/// Serves one client until its input ends. Running cells are stopped then, and every session is closed.
pub(crate) fn serve(
    input: impl Read + Send + 'static,
    output: File,
    settings: Settings,
) -> anyhow::Result<()> {
    let input = intake::start(input).context("cannot start the thread that reads requests")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("cannot start the runtime that serves requests")?;
    let served = runtime.block_on(serve_client(input, output, settings));
    // A thread may wait for input that never comes.
    runtime.shutdown_background();
    served
}

async fn serve_client(input: File, output: File, settings: Settings) -> anyhow::Result<()> {
    let ended = Arc::new(Notify::new());
    let desk = Arc::new(Desk::new(settings));
    let closing = tokio::spawn(close_at_the_end(desk.clone(), ended.clone()));
    let transport = Stdio::new(input, output, ended.clone());
    match Server::new(desk.clone()).serve(transport).await {
        Ok(service) => {
            service
                .waiting()
                .await
                .context("the task that serves the client is gone")?;
        }
        // It left before it had said anything.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(problem) => return Err(problem).context("the client and this server do not agree"),
    }
    // What the end of the input has begun to close is closed whole: programs write what they had still to write.
    ended.notify_one();
    let _ = closing.await;
    Ok(())
}

/// As soon as the client is gone its cells are stopped: their calls can then end, too.
async fn close_at_the_end(desk: Arc<Desk>, ended: Arc<Notify>) {
    let mut sweep = tokio::time::interval(SWEEP);
    loop {
        tokio::select! {
            () = ended.notified() => break,
            _ = sweep.tick() => desk.sweep(),
        }
    }
    desk.close().await;
}
