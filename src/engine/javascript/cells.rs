//! Running cells, the same for both engines: rewrite, declare, run, let promises and timers come to rest, hand over the
//! value.

mod bindings;
mod members;

use std::rc::Rc;
use std::thread;
use std::time::Instant;

use self::bindings::Bindings;
use super::failure;
use super::host::{Calls, Host, OpenCall};
use super::inspect::{Detail, inspect};
use super::memory;
use super::realm::{Abrupt, Kind, PromiseState, Realm};
use super::rewrite::{self, Flavour, Form, Rewritten};
use super::sources::Sources;
use super::values::{self, Measure, Refusal};
use crate::capability::CapabilityError;
use crate::engine::{Completion, Integers, Opening, Task};
use crate::limits::Limits;
use crate::outcome::{Display, Failure, FailureKind, Json};

/// The file of what is run to declare and to read bindings.
const BINDINGS_FILE: &str = "warmcell:bindings";

/// What an engine keeps of the prelude for the runner.
pub(super) struct Entry<V> {
    /// Runs what a timer was started for.
    pub(super) fire: V,
    /// Forgets what a timer would have run.
    pub(super) forget: V,
    /// Makes the error of a call of the host that failed.
    pub(super) failed_call: V,
    /// Passes the value of a last expression through.
    pub(super) tail: V,
}

/// The cells of one session.
pub(super) struct Cells {
    host: Rc<Host>,
    flavour: Flavour,
    limits: Limits,
    integers: Integers,
    bindings: Bindings,
    /// What a boa session says of a cell that ran into its deadline.
    slow_hint: Option<&'static str>,
    /// The cell waits for a timer or an answer, and computes nothing.
    is_waiting: bool,
}

/// How a cell ended.
enum Ending<V> {
    Value(V),
    /// It returned a promise that nothing can settle.
    Pending(V),
    Failed(Failure),
    Stopped,
}

impl Cells {
    pub(super) fn new(
        host: Rc<Host>,
        flavour: Flavour,
        opening: &Opening,
        slow_hint: Option<&'static str>,
    ) -> Self {
        Self {
            host,
            flavour,
            limits: opening.limits.clone(),
            integers: opening.integers,
            bindings: Bindings::default(),
            slow_hint,
            is_waiting: false,
        }
    }

    /// Runs one cell. The engine is entered, and the stopper knows the cell.
    pub(super) fn run<R: Realm>(
        &mut self,
        realm: &mut R,
        entry: &Entry<R::Value>,
        task: &Task<'_>,
    ) -> Completion {
        let file = Sources::file_of(task.number);
        self.host.begin(task.number);
        self.is_waiting = false;
        let bindings = &self.bindings;
        let rewritten = memory::uncounted(|| {
            rewrite::rewrite(task.code, self.flavour, &|name| bindings.is_constant(name))
        });
        let rewritten = match rewritten {
            Ok(rewritten) => rewritten,
            Err(fault) => {
                // A stop that came meanwhile is not the next cell's.
                self.host.stopper.end();
                realm.recover();
                return failed(failure::syntax(fault, task.code, &file));
            }
        };
        let Rewritten {
            code,
            form,
            declared,
            assigned,
            imports,
            positions,
        } = rewritten;
        self.host
            .sources
            .borrow_mut()
            .insert(file.clone(), positions);
        let (own, result) = match self.declare(realm, &declared, &assigned) {
            Ok(own) => (own, self.evaluate(realm, entry, &code, form, &file)),
            Err(failure) => (Vec::new(), Ok(Ending::Failed(failure))),
        };
        let mut ending = result.unwrap_or_else(|abrupt| self.abrupt(realm, abrupt, &file));
        if let Ending::Failed(failure) = &mut ending {
            failure::place_import(failure, &self.host.sources.borrow(), &imports, &file);
        }
        let mut completion = memory::uncounted(|| self.complete(realm, ending, form));
        let is_stopped = self.host.stopper.end();
        let waited_for = self.end_calls(realm, entry);
        realm.recover();
        if completion
            .failure
            .as_ref()
            .is_some_and(|failure| failure.kind == FailureKind::Memory)
        {
            completion.notice = free_memory(realm, &own);
        }
        if is_stopped {
            self.clean_up(realm, entry, task.number);
            completion = self.interrupted(completion, waited_for);
        }
        if completion.failure.is_some() {
            self.loosen_unset_constants(realm, &declared);
        }
        completion
    }

    fn evaluate<R: Realm>(
        &mut self,
        realm: &mut R,
        entry: &Entry<R::Value>,
        code: &str,
        form: Form,
        file: &str,
    ) -> Result<Ending<R::Value>, Abrupt<R::Value>> {
        let mut value = realm.evaluate(code, file)?;
        if let Form::Function { .. } = form {
            value = realm.call(&value, std::slice::from_ref(&entry.tail))?;
        }
        let promise = realm.promise(&value).is_some().then_some(value.clone());
        let ending = self.settle(realm, entry, promise.as_ref())?;
        self.report_rejections(realm, promise.as_ref())?;
        Ok(match (promise, ending) {
            (None, _) => Ending::Value(value),
            (Some(promise), Some(PromiseState::Pending) | None) => {
                if form == Form::Script || self.host.reached_tail.get() {
                    Ending::Pending(promise)
                } else {
                    Ending::Failed(nothing_can_settle())
                }
            }
            (Some(_), Some(PromiseState::Fulfilled(value))) => Ending::Value(value),
            (Some(_), Some(PromiseState::Rejected(reason)))
                if realm.is_out_of_memory(Some(&reason)) =>
            {
                return Err(Abrupt::Memory);
            }
            (Some(_), Some(PromiseState::Rejected(reason))) => {
                let sources = self.host.sources.borrow();
                Ending::Failed(failure::thrown(realm, &sources, &reason, file))
            }
        })
    }

    /// Runs microtasks until none waits and, while `awaited` is pending, timers as they come due. Returns what it came to.
    fn settle<R: Realm>(
        &mut self,
        realm: &mut R,
        entry: &Entry<R::Value>,
        awaited: Option<&R::Value>,
    ) -> Result<Option<PromiseState<R::Value>>, Abrupt<R::Value>> {
        let cell = self.host.acting();
        loop {
            while realm.run_job()? {
                self.is_waiting = false;
                if self.host.stopper.is_pressed() {
                    return Err(Abrupt::Stopped(None));
                }
                // boa's async functions swallow what ends them then.
                if realm.is_out_of_memory(None) {
                    return Err(Abrupt::Memory);
                }
            }
            self.host.act_for(cell);
            if self.host.stopper.is_pressed() {
                return Err(Abrupt::Stopped(None));
            }
            let state = match awaited {
                Some(promise) => realm.promise(promise),
                None => return Ok(None),
            };
            if !matches!(state, Some(PromiseState::Pending)) {
                return Ok(state);
            }
            if self.answer_calls(realm, entry)? {
                continue;
            }
            let now = Instant::now();
            let due = self.host.timers.borrow_mut().take_due(now);
            match due {
                Some(due) => {
                    self.is_waiting = false;
                    self.host.act_for(due.cell);
                    let number = realm.number(due.number as f64);
                    let repeats = realm.boolean(due.repeats);
                    match realm.call(&entry.fire, &[number, repeats]) {
                        Ok(_) => {}
                        Err(Abrupt::Thrown(error)) => self.host.report(realm, "Uncaught", &error),
                        Err(abrupt) => {
                            self.host.timers.borrow_mut().cancel(due.number);
                            return Err(abrupt);
                        }
                    }
                }
                None => {
                    self.is_waiting = true;
                    match (self.host.timers.borrow().next(), self.is_calling()) {
                        // The stopper and answers unpark this thread; waking up without a reason does no harm.
                        (Some(next), _) => thread::park_timeout(next - now),
                        (None, true) => thread::park(),
                        (None, false) => return Ok(state),
                    }
                }
            }
        }
    }

    fn is_calling(&self) -> bool {
        self.host.calls.as_ref().is_some_and(Calls::is_waiting)
    }

    /// Gives the answers that have come to those who wait for them. Says whether there were any.
    fn answer_calls<R: Realm>(
        &self,
        realm: &mut R,
        entry: &Entry<R::Value>,
    ) -> Result<bool, Abrupt<R::Value>> {
        let Some(calls) = &self.host.calls else {
            return Ok(false);
        };
        let come = calls.take();
        let is_any = !come.is_empty();
        for (number, call, answer) in come {
            let answer = answer.and_then(|value| {
                values::from_answer(realm, &value).map_err(|problem| {
                    let text = format!("the host answered what cannot be taken over: {problem}");
                    CapabilityError::tool(text)
                })
            });
            match answer {
                Ok(value) => realm.settle_answer(number, Ok(value))?,
                Err(error) => {
                    let made = failed_call(realm, entry, &call, error);
                    let reason = made.clone().unwrap_or_else(|_| realm.undefined());
                    realm.settle_answer(number, Err(reason))?;
                    made?;
                }
            }
        }
        Ok(is_any)
    }

    /// The calls end with their cell; those who wait for them learn it when code runs again. Says which function was waited
    /// for.
    fn end_calls<R: Realm>(&self, realm: &mut R, entry: &Entry<R::Value>) -> Option<String> {
        let calls = self.host.calls.as_ref()?;
        let oldest = calls.oldest();
        calls.end();
        // It runs no code of the program's, and out of memory there is nobody left to tell.
        let _ = self.answer_calls(realm, entry);
        oldest
    }

    fn report_rejections<R: Realm>(
        &self,
        realm: &mut R,
        except: Option<&R::Value>,
    ) -> Result<(), Abrupt<R::Value>> {
        let cell = self.host.acting();
        for (rejected_by, reason) in realm.take_rejections(except) {
            if realm.is_out_of_memory(Some(&reason)) {
                return Err(Abrupt::Memory);
            }
            self.host.act_for(rejected_by);
            self.host.report(realm, "Uncaught (in promise)", &reason);
            self.host.act_for(cell);
        }
        Ok(())
    }

    fn abrupt<R: Realm>(
        &self,
        realm: &mut R,
        abrupt: Abrupt<R::Value>,
        file: &str,
    ) -> Ending<R::Value> {
        let sources = self.host.sources.borrow();
        let failure = match abrupt {
            Abrupt::Thrown(value) => failure::thrown(realm, &sources, &value, file),
            Abrupt::Syntax(value) => {
                let mut failure = failure::thrown(realm, &sources, &value, file);
                failure.kind = FailureKind::Syntax;
                failure
            }
            Abrupt::Recursion(stack) => {
                let mut failure =
                    Failure::new(FailureKind::Exception, "Maximum call stack size exceeded")
                        .with_name("RangeError")
                        .with_hint("recurse less deeply, or use a loop");
                failure::place(&mut failure, &sources, stack.as_deref(), file);
                failure
            }
            Abrupt::Memory => self.out_of_memory(),
            Abrupt::Stopped(stack) => {
                let mut failure = Failure::new(FailureKind::Timeout, "");
                failure::place(&mut failure, &sources, stack.as_deref(), file);
                return match failure.traceback {
                    Some(_) => Ending::Failed(failure),
                    None => Ending::Stopped,
                };
            }
        };
        Ending::Failed(failure)
    }

    fn out_of_memory(&self) -> Failure {
        let message = format!(
            "the cell needed more than the memory budget of {} MiB",
            self.limits.memory_mb
        );
        Failure::new(FailureKind::Memory, message)
            .with_hint("work on the data in parts, or raise `memoryMb`")
    }

    /// Hands over the value, or shows it.
    fn complete<R: Realm>(
        &self,
        realm: &mut R,
        ending: Ending<R::Value>,
        form: Form,
    ) -> Completion {
        let is_returned = form != Form::Script && !self.host.reached_tail.get();
        match ending {
            Ending::Failed(failure) => failed(failure),
            Ending::Stopped => Completion::default(),
            Ending::Pending(promise) => {
                self.show(realm, &promise);
                Completion::default()
            }
            Ending::Value(value) if realm.kind(&value) == Kind::Undefined => Completion::default(),
            Ending::Value(value) => {
                let stopper = &self.host.stopper;
                let measure = Measure {
                    budget: self.limits.value_bytes,
                    integers: self.integers,
                };
                match values::to_json(realm, &value, measure, &|| stopper.is_pressed()) {
                    Ok(text) => Completion {
                        value: Some(Json::from_converter(text)),
                        ..Completion::default()
                    },
                    Err(Refusal::NotJson { path, what, hint }) => {
                        self.show(realm, &value);
                        if is_returned {
                            failed(invalid_output(&path, &what, hint))
                        } else {
                            Completion::default()
                        }
                    }
                    Err(Refusal::TooLong(budget)) => {
                        let message =
                            format!("the value is longer than its budget of {budget} bytes");
                        failed(Failure::new(FailureKind::OutputLimit, message).with_hint(
                            "return a part of it, or a summary; the whole is still in the session",
                        ))
                    }
                    Err(Refusal::Stopped) => Completion::default(),
                }
            }
        }
    }

    fn show<R: Realm>(&self, realm: &mut R, value: &R::Value) {
        let text = inspect(realm, &self.host.sources.borrow(), value, Detail::DISPLAY);
        self.host.sink.display(Display::text(text));
    }

    /// Ends what a stopped cell left running: its timers, and all microtasks, since nothing tells whose they are.
    fn clean_up<R: Realm>(&mut self, realm: &mut R, entry: &Entry<R::Value>, cell: u64) {
        self.host.is_muted.set(true);
        realm.drop_jobs();
        self.host.is_muted.set(false);
        let timers = self.host.timers.borrow_mut().cancel_all_of(cell);
        for number in timers {
            let number = realm.number(number as f64);
            let _ = realm.call(&entry.forget, &[number]);
        }
        let _ = realm.take_rejections(None);
    }

    /// The completion of a cell that was stopped: where it stood, if that is known.
    fn interrupted(&self, completion: Completion, waited_for: Option<String>) -> Completion {
        let mut place = completion
            .failure
            .filter(|failure| failure.kind == FailureKind::Timeout)
            .unwrap_or_else(|| Failure::new(FailureKind::Timeout, ""));
        place.hint = match waited_for {
            Some(function) => Some(format!("the cell was waiting for `{function}`")),
            None if self.is_waiting => None,
            None => self.slow_hint.map(str::to_owned),
        };
        Completion {
            failure: Some(place),
            interrupted: true,
            ..Completion::default()
        }
    }
}

/// Frees what the names of a cell hold that has used up the memory budget. What earlier cells have bound stays, also where it
/// is this that fills the session.
fn free_memory<R: Realm>(realm: &mut R, own: &[String]) -> Option<String> {
    realm.reserve_memory();
    let mut freed = Vec::new();
    let is_full = realm.is_full();
    if is_full {
        for name in own {
            let script = format!("{name}=void 0;");
            if realm.evaluate(&script, BINDINGS_FILE).is_ok() {
                freed.push(format!("`{name}`"));
            }
        }
        realm.drop_jobs();
    }
    let is_still_full = is_full && realm.is_full();
    realm.recover();
    realm.make_room(is_still_full);
    let told = |names: &[String]| match names {
        [name] => format!("{name} was set to undefined"),
        names => format!("{} were set to undefined", names.join(", ")),
    };
    let freed =
        (!freed.is_empty()).then(|| format!("the cell's memory was freed: {}", told(&freed)));
    let full = is_still_full.then(|| {
        "the memory budget is nearly full of what earlier cells have bound: set to `null` what is not needed".to_owned()
    });
    freed
        .into_iter()
        .chain(full)
        .reduce(|one, other| format!("{one}; {other}"))
}

/// The error that a call rejects with.
fn failed_call<R: Realm>(
    realm: &mut R,
    entry: &Entry<R::Value>,
    call: &OpenCall,
    error: CapabilityError,
) -> Result<R::Value, Abrupt<R::Value>> {
    let data = match error.data {
        Some(data) => values::from_answer(realm, &data).unwrap_or_else(|_| realm.null()),
        None => realm.null(),
    };
    let about = vec![
        ("capability".to_owned(), realm.string(&call.capability)),
        ("action".to_owned(), realm.string(&call.action)),
        ("kind".to_owned(), realm.string(error.kind.as_str())),
        ("retryable".to_owned(), realm.boolean(error.retryable)),
        ("data".to_owned(), data),
    ];
    let arguments = [realm.string(&error.message), realm.object(about)];
    realm.call(&entry.failed_call, &arguments)
}

fn failed(failure: Failure) -> Completion {
    Completion {
        failure: Some(failure),
        ..Completion::default()
    }
}

fn nothing_can_settle() -> Failure {
    Failure::new(
        FailureKind::Exception,
        "the cell awaits a promise that nothing can settle",
    )
    .with_hint("no timer and no other task is left that could resolve it")
}

fn invalid_output(path: &str, what: &str, hint: Option<&str>) -> Failure {
    let place = if path.is_empty() {
        "the returned value".to_owned()
    } else {
        format!("`{path}` in the returned value")
    };
    let failure = Failure::new(
        FailureKind::InvalidOutput,
        format!("{place} is {what}, which JSON cannot hold"),
    );
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
