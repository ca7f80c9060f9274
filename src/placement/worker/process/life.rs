//! How a worker begins, is replaced by its backup, and ends; what its supervisor is asked for on the way.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::super::backups::{Backups, Sleeping};
use super::super::death::describe;
use super::super::messages::{Command, Notice, Open, Order, Report, Use};
use super::super::plan::{Configuration, Opened, Plan};
use super::super::sockets::{self, Channel, ChannelError, within};
use super::super::spares;
use super::super::supervising::stat_of;
use super::super::supervisor::{self, Ends};
use super::super::temporary::Temporary;
use super::patience::Patience;
use super::{FRAME_BYTES, Incoming, Listener, Pipe, Process, SUPERVISING, WAKING};
use crate::limits::Limits;
use crate::output::{Origin, Stream, Transcript};

/// How long a worker may take to come to life, of its own time.
const STARTING: Duration = Duration::from_secs(20);

/// How long the supervisor may say nothing before it is taken for stopped.
const PATIENCE: Duration = Duration::from_millis(300);

/// How long the supervisor may take to count.
const COUNTING: Duration = Duration::from_secs(1);

impl Process {
    /// A worker with the session in it, which stands after `cell`: a spare, or a fresh one. Where a supervisor or a spare dies
    /// over it, there is a second try.
    pub(in super::super) fn start(
        plan: &Plan,
        transcript: &Transcript,
        cell: u64,
    ) -> Result<Self, String> {
        let spare = spares::take(plan);
        let was_spare = spare.is_some();
        let mut process = match spare {
            Some(spare) => spare,
            None => Self::warm(&plan.configuration)?,
        };
        match process.be_opened(plan, transcript) {
            Err(_) if was_spare || process.is_unsupervised => {
                process.end();
                process = Self::warm(&plan.configuration)?;
                process.be_opened(plan, transcript)?;
            }
            result => result?,
        }
        process.backups.begin(cell, plan.generations());
        Ok(process)
    }

    /// A worker that waits for a session: already opened for it where that is known.
    pub(in super::super) fn ready(
        configuration: &Configuration,
        opened: Option<&Opened>,
    ) -> Result<Self, String> {
        let mut process = Self::warm(configuration)?;
        if let Some(Opened { open, .. }) = opened {
            // What a session prints while it is made is of no cell, and there is nobody yet to be told.
            let nowhere = Transcript::new(&Limits::default());
            process.open(open, &nowhere)?;
        }
        Ok(process)
    }

    /// A worker whose language has come to life.
    fn warm(configuration: &Configuration) -> Result<Self, String> {
        let mut process = Self::begin(configuration)?;
        match process.come_to_life(configuration) {
            Err(_) if process.is_unsupervised => {
                process.end();
                process = Self::begin(configuration)?;
                process.come_to_life(configuration)?;
            }
            result => result?,
        }
        Ok(process)
    }

    fn begin(configuration: &Configuration) -> Result<Self, String> {
        let ends = supervisor::start_worker(configuration).map_err(|error| {
            format!(
                "the worker executable `{}` cannot be started: {error}",
                configuration.program.display()
            )
        })?;
        Ok(Self::new(ends, configuration.program.clone()))
    }

    fn come_to_life(&mut self, configuration: &Configuration) -> Result<(), String> {
        match self.next_notice(within(STARTING)) {
            Ok(Notice::Started { process }) => self.watch(process),
            Ok(Notice::Failed { text }) => return Err(text),
            Ok(_) => return Err("the supervisor answered something else".to_owned()),
            Err(error) => {
                supervisor::dismiss(self.supervisor);
                self.is_unsupervised = true;
                return Err(format!("the supervisor did not start a worker: {error}"));
            }
        }
        // One that takes no orders has ended, which is told below.
        let prepare = Order::Prepare {
            prepare: configuration.prepare.clone(),
            temporary: self.temporary.as_ref().map(Temporary::path),
        };
        let _ = self.order(&prepare, &[]);
        // What an interpreter prints while it starts is no session's output.
        let nowhere = Transcript::new(&Limits::default());
        let hello = self.expect(
            &nowhere,
            Patience::new(self.id, STARTING),
            "its interpreter was starting (a `sitecustomize` or a `.pth` file may hang)",
        )?;
        let Report::Hello(hello) = hello else {
            return Err("the worker did not say what it is".to_owned());
        };
        self.hello = Some(hello);
        self.take_urgent();
        Ok(())
    }

    /// The worker is this process from now on.
    fn watch(&mut self, process: i32) {
        self.id = process;
        self.end = sockets::process_end(process);
    }

    /// Sees to it that the session is in it.
    fn be_opened(&mut self, plan: &Plan, transcript: &Transcript) -> Result<(), String> {
        if let Some(hello) = &self.hello
            && let Some(text) = plan.refuse(hello)
        {
            return Err(text);
        }
        match self.is_open {
            true => Ok(()),
            false => self.open(&plan.opened().open, transcript),
        }
    }

    /// Makes the session.
    fn open(&mut self, open: &Open, transcript: &Transcript) -> Result<(), String> {
        let cap = open.value_bytes.saturating_add(FRAME_BYTES);
        self.control.set_cap(cap);
        self.order(&Order::Open(Box::new(open.clone())), &[])?;
        let patience = Patience::new(self.id, STARTING);
        match self.expect(transcript, patience, "its session was being made")? {
            Report::Done => {}
            Report::Refused { text } => return Err(text),
            _ => return Err("the worker answered something else".to_owned()),
        }
        if open.backup {
            self.backups.expect(0);
        }
        self.is_open = true;
        Ok(())
    }

    /// Whether it lives, can be woken and has nothing to say.
    pub(in super::super) fn is_waiting(&mut self) -> bool {
        if stat_of(self.id).is_none_or(|stat| stat.starts_with(['T', 't'])) {
            return false;
        }
        let listener = Listener {
            transcript: &Transcript::new(&Limits::default()),
            origin: Origin::Background,
            bell: None,
        };
        matches!(
            self.wait(&listener, Some(Instant::now())),
            Incoming::Nothing
        )
    }

    fn new(ends: Ends, program: PathBuf) -> Self {
        let pipe = |stream, descriptor| Pipe {
            stream,
            descriptor: Some(descriptor),
        };
        Self {
            control: Channel::new(ends.control, FRAME_BYTES),
            urgent: None,
            pipes: [
                pipe(Stream::Stdout, ends.stdout),
                pipe(Stream::Stderr, ends.stderr),
            ],
            line: Channel::new(ends.line, 1 << 16),
            tag: ends.tag,
            supervisor: ends.supervisor,
            program,
            temporary: ends.temporary,
            id: 0,
            end: None,
            hello: None,
            is_open: false,
            backups: Backups::new(1),
            no_backup: None,
            reports: VecDeque::new(),
            is_deaf: false,
            status: None,
            is_unsupervised: false,
            is_held: false,
        }
    }

    fn take_urgent(&mut self) {
        self.urgent = self
            .control
            .take_descriptor()
            .map(|descriptor| Channel::new(descriptor, 0));
    }

    /// The next report of a worker that is starting.
    fn expect(
        &mut self,
        transcript: &Transcript,
        mut patience: Patience,
        phase: &str,
    ) -> Result<Report, String> {
        let listener = Listener {
            transcript,
            origin: Origin::Background,
            bell: None,
        };
        loop {
            match self.wait(&listener, Some(patience.until)) {
                Incoming::Report(Report::Failed { text }, _) => return Err(text),
                Incoming::Report(report, _) => return Ok(report),
                Incoming::Died(status) => {
                    return Err(format!("the worker {} while {phase}", describe(status)));
                }
                Incoming::Unsupervised => {
                    return Err(format!("the worker's supervisor died while {phase}"));
                }
                Incoming::Garbage(text) => {
                    return Err(format!("the worker sent {text} while {phase}"));
                }
                Incoming::Nothing if patience.is_over() => {
                    self.kill();
                    return Err(format!(
                        "the worker did not come to life within {} s: {phase}",
                        patience.allowed.as_secs()
                    ));
                }
                Incoming::Nothing => {}
            }
        }
    }

    /// Kills the worker and all it started, except the backups. Its death is there to be waited for afterwards.
    pub(in super::super) fn kill(&mut self) {
        let spare = self.backups.processes();
        self.command_and_wait(&Command::Kill { spare });
    }

    fn command_and_wait(&mut self, command: &Command) {
        let is_done = |notice: &Notice| matches!(notice, Notice::Killed).then_some(());
        if self.answer(command, within(SUPERVISING), is_done).is_err() {
            supervisor::dismiss(self.supervisor);
            self.is_unsupervised = true;
        }
    }

    /// What the worker and all it started use, without its backups.
    pub(in super::super) fn usage(&mut self) -> Option<Use> {
        let spare = self.backups.processes();
        let counted = |notice: &Notice| match notice {
            Notice::Use(used) => Some(*used),
            _ => None,
        };
        match self.answer(&Command::Use { spare }, within(COUNTING), counted) {
            Ok(used) => Some(used),
            Err(ChannelError::TooLate) => None,
            Err(_) => {
                self.is_unsupervised = true;
                None
            }
        }
    }

    /// Has the supervisor do something, and waits for the notice that answers it; what else it tells is noted.
    fn answer<T>(
        &mut self,
        command: &Command,
        until: Instant,
        read: impl Fn(&Notice) -> Option<T>,
    ) -> Result<T, ChannelError> {
        self.line
            .send_until(command, &[], until)
            .map_err(|_| ChannelError::Closed)?;
        loop {
            let notice = self.next_notice(until)?;
            match read(&notice) {
                Some(answer) => return Ok(answer),
                None => self.note(&notice),
            }
        }
    }

    /// What the supervisor says next. One that is silent for a moment may have been stopped by a cell, and is woken.
    pub(super) fn next_notice(&mut self, until: Instant) -> Result<Notice, ChannelError> {
        let soon = until.min(within(PATIENCE));
        let frame = match self.line.wait_for(Some(soon)) {
            Err(ChannelError::TooLate) if soon < until => {
                supervisor::wake(self.supervisor);
                self.line.wait_for(Some(until))
            }
            result => result,
        };
        frame.map(|frame| frame.header)
    }

    /// Ends the worker and what it left, and lets a backup take its place: the newest, or the newest without the effects of a
    /// cell. Gives the last cell whose effects the session then has, or why nothing is left.
    pub(in super::super) fn take_over(
        &mut self,
        transcript: &Transcript,
        without: Option<u64>,
    ) -> Result<u64, String> {
        self.kill();
        if self.is_unsupervised {
            return Err("backups end with the supervisor".to_owned());
        }
        let Some(Sleeping {
            channel: mut control,
            process: Some(process),
            cell,
        }) = self.backups.take(without)
        else {
            return Err("none was made yet".to_owned());
        };
        let did_not = |error| format!("it did not take over: {error}");
        let watched = Command::Watch { process };
        self.line
            .send_until(&watched, &[], within(SUPERVISING))
            .map_err(did_not)?;
        let patience = Patience::new(process, WAKING);
        control
            .send_until(&Order::Wake, &[], patience.until)
            .map_err(did_not)?;
        control.set_cap(self.control.cap());
        self.control = control;
        self.watch(process);
        (self.status, self.is_deaf) = (None, false);
        self.reports.clear();
        match self.expect(transcript, patience, "a backup was taking over") {
            Ok(Report::Hello(_)) => {}
            Ok(_) => return Err("the backup said something else than that it had woken".to_owned()),
            Err(text) => return Err(text),
        }
        self.take_urgent();
        self.backups.expect(cell);
        Ok(cell)
    }

    /// Ends everything of the worker's.
    pub(in super::super) fn end(mut self) {
        self.backups.abandon();
        self.command_and_wait(&Command::End);
        if self.is_unsupervised {
            // What cannot be ended now had no supervisor to be started by either.
            let _ = supervisor::sweep(&self.program, &self.tag);
        }
    }
}
