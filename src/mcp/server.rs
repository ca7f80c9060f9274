//! [`Server`]: what rmcp asks of us: who we are, which tools there are, and a call of one of them.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode,
    Implementation, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ProgressToken, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use warmcell::tool::Arguments;

use super::desk::{Caller, Desk};
use super::intake::UNREADABLE;
use super::running::Running;
use super::tools;

/// How often a client that wants to know hears of a running cell.
const PROGRESS: Duration = Duration::from_secs(1);

/// What a client may put into its model's system prompt.
const INSTRUCTIONS: &str = "Code cells that stay warm: `run_code` runs a cell in a session that keeps its variables between calls. Prefer it to scratch files and one-off interpreters.";

pub(super) struct Server {
    desk: Arc<Desk>,
}

impl Server {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self { desk }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let version = env!("CARGO_PKG_VERSION");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("warmcell", version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::list(
            self.desk.settings(),
        )))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let reason = request
            .params
            .as_ref()
            .and_then(|params| params["reason"].as_str());
        match reason {
            Some(reason) if request.method == UNREADABLE => {
                Err(ErrorData::parse_error(reason.to_owned(), None))
            }
            _ => Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                request.method,
                None,
            )),
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arguments::new(request.arguments.unwrap_or_default());
        let token = context.meta.get_progress_token();
        let client = Client { context, token };
        let result = match request.name.as_ref() {
            "run_code" => self.desk.run_code(arguments, &client).await,
            "wait_cell" => self.desk.wait_cell(arguments, &client).await,
            "reset_session" => self.desk.reset_session(arguments).await,
            "read_output" => self.desk.read_output(arguments).await,
            unknown => {
                let unknown: String = unknown.chars().take(60).collect();
                return Err(ErrorData::invalid_params(
                    format!(
                        "there is no tool `{unknown}`: there are `run_code`, `wait_cell`, `reset_session` and `read_output`"
                    ),
                    None,
                ));
            }
        };
        Ok(result.into())
    }
}

/// The client behind one call.
struct Client {
    context: RequestContext<RoleServer>,
    token: Option<ProgressToken>,
}

impl Caller for Client {
    /// The client took its request back. Its answer would be thrown away.
    async fn gone(&self) {
        self.context.ct.cancelled().await;
    }

    /// Tells the client of a running cell for as long as it is let.
    async fn follow(&self, running: &Running) {
        let Some(token) = &self.token else {
            return std::future::pending().await;
        };
        let mut ticks = tokio::time::interval(PROGRESS);
        // The first tick comes at once.
        ticks.tick().await;
        loop {
            ticks.tick().await;
            let seconds = running.time().as_secs_f64();
            let message = running
                .last_line()
                .unwrap_or_else(|| format!("running for {seconds:.0} s"));
            let progress =
                ProgressNotificationParam::new(token.clone(), seconds).with_message(message);
            if self.context.peer.notify_progress(progress).await.is_err() {
                // The client is gone, which ends the call elsewhere.
                return std::future::pending().await;
            }
        }
    }
}
