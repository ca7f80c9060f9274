//! [`Stdio`]: rmcp's transport on the private copies of the standard streams, which also tells when the client is gone.
//!
//! rmcp goes on until every call is answered; the calls of cells that nobody can want any more are ended by whoever is told.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::fs;
use tokio::sync::Notify;

use super::intake::LINE_BYTES;

pub(super) struct Stdio {
    inner: AsyncRwTransport<RoleServer, fs::File, fs::File>,
    ended: Arc<Notify>,
}

impl Stdio {
    pub(super) fn new(input: File, output: File, ended: Arc<Notify>) -> Self {
        let (input, output) = (fs::File::from_std(input), fs::File::from_std(output));
        Self {
            inner: AsyncRwTransport::new(input, output).with_max_line_length(LINE_BYTES),
            ended,
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = self.inner.receive().await;
        if message.is_none() {
            self.ended.notify_one();
        }
        message
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}
