//! JavaScript on QuickJS (the `ng` line), through rquickjs.
//!
//! A session has a runtime of its own on a thread of its own. QuickJS looks at its interrupt handler itself, and holds
//! itself to its memory limit and to its share of the stack.

mod allocator;
mod loader;
mod raw;
mod realm;

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::function::Rest;
use rquickjs::{Context, Ctx, Function as QuickJsFunction, Persistent, Runtime, Value};

use self::allocator::Allocator;
use self::realm::{Entered, Shared};
use super::REHEARSAL;
use super::cells::{Cells, Entry};
use super::host::{Function, Host};
use super::memory;
use super::modules::Modules;
use super::prelude;
use super::realm::{Abrupt, Realm};
use super::rewrite::Flavour;
use super::stopper::Stopper;
use super::values;
use crate::engine::{Completion, Engine, EngineError, Language, Opening, Task, Variable, rehearse};
use crate::outcome::Json;

/// The stack of QuickJS's thread. QuickJS uses at most [`SCRIPT_STACK`] of it, the parser of cells the rest.
pub(super) const STACK_BYTES: usize = 64 << 20;
/// The stack that scripts may use: 13,000 calls deep. From 24 MB on QuickJS overflowed even a thread of 256 MB (measured).
const SCRIPT_STACK: usize = 8 << 20;

/// QuickJS's version, by its own word.
pub(super) fn version() -> &'static str {
    raw::version()
}

/// Opens sessions on QuickJS.
pub(super) struct QuickJs {
    pub(super) stopper: Arc<Stopper>,
    pub(super) flavour: Flavour,
}

impl Language for QuickJs {
    fn open(&mut self, opening: &Opening) -> Result<Box<dyn Engine>, EngineError> {
        Ok(Box::new(Session::open(
            opening.clone(),
            self.stopper.clone(),
            self.flavour,
        )?))
    }

    fn rehearse(&mut self) {
        rehearse(self, REHEARSAL);
    }

    fn may_fork(&mut self) -> Result<(), String> {
        memory::may_be_copied()
    }

    fn forked(&mut self) {
        // The thread that a press wakes has the same handle in the copy.
    }
}

/// One session. The order of the fields is the order in which they must go.
struct Session {
    opening: Opening,
    flavour: Flavour,
    stopper: Arc<Stopper>,
    cells: Cells,
    shared: Rc<Shared>,
    context: Context,
    runtime: Runtime,
}

impl Session {
    fn open(
        opening: Opening,
        stopper: Arc<Stopper>,
        flavour: Flavour,
    ) -> Result<Self, EngineError> {
        let failed =
            |error: rquickjs::Error| EngineError(format!("QuickJS could not be started: {error}"));
        let host = Host::new(&opening, stopper.clone());
        let runtime = Runtime::new_with_alloc(Allocator(stopper.clone())).map_err(failed)?;
        let shared = Rc::new(Shared::new(
            host.clone(),
            (opening.limits.memory_mb as usize) << 20,
        ));
        runtime.set_max_stack_size(SCRIPT_STACK);
        runtime.set_memory_limit(shared.memory_budget);
        let tracked = shared.clone();
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |context, promise, reason, is_handled| {
                realm::track_rejection(&tracked, &context, promise, reason, is_handled);
            },
        )));
        let modules = Modules::new(opening.cwd.clone());
        runtime.set_loader(
            loader::Resolver(modules.clone()),
            loader::Loader(modules, host.clone()),
        );
        let context = Context::full(&runtime).map_err(failed)?;
        context.with(|context| start(&context, &shared))?;
        let limit = context.with(|context| raw::MemoryLimit::of(&context));
        runtime.set_interrupt_handler(Some(interrupts(limit, &stopper, &shared)));
        let cells = Cells::new(host, flavour, &opening, None);
        Ok(Self {
            opening,
            flavour,
            stopper,
            cells,
            shared,
            context,
            runtime,
        })
    }
}

impl Engine for Session {
    fn run(&mut self, task: &Task<'_>) -> Completion {
        self.stopper.begin(task.epoch);
        let Self {
            cells,
            shared,
            context,
            ..
        } = self;
        context.with(|context| {
            let mut realm = Entered::new(context, shared.clone());
            match realm.entry() {
                Some(entry) => cells.run(&mut realm, &entry, task),
                None => Completion::default(),
            }
        })
    }

    fn reset(&mut self, _: u64) -> Result<(), EngineError> {
        *self = Self::open(self.opening.clone(), self.stopper.clone(), self.flavour)?;
        Ok(())
    }

    fn inspect(&mut self) -> Vec<Variable> {
        let Self {
            cells,
            shared,
            context,
            ..
        } = self;
        context.with(|context| cells.inspect(&mut Entered::new(context, shared.clone())))
    }

    fn members(&mut self, path: &[String]) -> Vec<String> {
        let Self {
            cells,
            shared,
            context,
            ..
        } = self;
        context.with(|context| cells.members(&mut Entered::new(context, shared.clone()), path))
    }

    fn bind(&mut self, name: &str, value: &Json, _epoch: u64) -> Result<(), EngineError> {
        let Self {
            cells,
            shared,
            context,
            ..
        } = self;
        context.with(|context| cells.bind(&mut Entered::new(context, shared.clone()), name, value))
    }

    fn took_over(&mut self) {
        // Nothing of a context is outside the memory that was copied.
    }

    fn close(self: Box<Self>, _: u64) {
        // Finalisation callbacks are jobs, which nobody runs any more.
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // What is kept of the runtime's values must go before the runtime, which ends the process otherwise.
        self.shared.release();
        self.runtime.set_host_promise_rejection_tracker(None);
        self.runtime.set_interrupt_handler(None);
        self.runtime.set_memory_limit(0);
    }
}

/// What the engine asks now and then: whether what runs must end.
fn interrupts(
    limit: raw::MemoryLimit,
    stopper: &Arc<Stopper>,
    shared: &Rc<Shared>,
) -> Box<dyn FnMut() -> bool> {
    let (stopper, shared) = (stopper.clone(), shared.clone());
    Box::new(move || {
        if shared.is_dropping.get() {
            // The error that nothing catches takes memory; without it there is another one, which can be caught.
            limit.set(shared.memory_limit.get());
            return true;
        }
        stopper.is_pressed()
    })
}

/// Evaluates readers and prelude in a fresh context.
fn start<'js>(context: &Ctx<'js>, shared: &Rc<Shared>) -> Result<(), EngineError> {
    let failed = |what: &str| EngineError(format!("the prelude failed on QuickJS: {what}"));
    let told = |abrupt: Abrupt<Value<'js>>| match abrupt {
        Abrupt::Thrown(value) | Abrupt::Syntax(value) => failed(&format!("{value:?}")),
        _ => failed("it was stopped"),
    };
    let mut realm = Entered::new(context.clone(), shared.clone());
    let readers = realm
        .evaluate(prelude::READERS, prelude::FILE)
        .map_err(told)?;
    shared
        .set_readers(context, readers)
        .map_err(|error| failed(&error.to_string()))?;
    realm
        .evaluate(prelude::NO_EVAL, prelude::FILE)
        .map_err(told)?;
    let object = realm
        .evaluate(prelude::OBJECT, prelude::FILE)
        .map_err(told)?;
    let core = realm.evaluate(prelude::CORE, prelude::FILE).map_err(told)?;
    let mut functions = Vec::new();
    for (name, function) in Function::all() {
        let native =
            native(context, shared, name, function).map_err(|error| failed(&error.to_string()))?;
        functions.push((name.to_owned(), native));
    }
    let tail = functions
        .iter()
        .find(|(name, _)| name == "tail")
        .map(|(_, tail)| tail.clone());
    let host = realm.object(functions);
    let made = realm.call(&core, &[host, object]).map_err(told)?;
    let mut member = |name: &str| {
        let key = realm.key(name);
        let value = realm
            .property(&made, &key)
            .and_then(|property| property.into_value());
        value
            .map(|value| Persistent::save(context, value))
            .ok_or_else(|| failed(name))
    };
    let entry = Entry {
        fire: member("fire")?,
        forget: member("forget")?,
        failed_call: member("failedCall")?,
        tail: Persistent::save(context, tail.ok_or_else(|| failed("tail"))?),
    };
    let offer = member("offer")?;
    shared.set_entry(entry);
    if let Some(calls) = &shared.host.calls {
        let offered = values::from_json(&mut realm, &calls.offered()).map_err(EngineError)?;
        let offer = offer
            .restore(context)
            .map_err(|error| failed(&error.to_string()))?;
        realm.call(&offer, &[offered]).map_err(told)?;
    }
    Ok(())
}

/// One of the host's functions as a function of QuickJS's.
fn native<'js>(
    context: &Ctx<'js>,
    shared: &Rc<Shared>,
    name: &str,
    function: Function,
) -> rquickjs::Result<Value<'js>> {
    let shared = shared.clone();
    let native = callable(move |context, arguments| {
        let host = shared.host.clone();
        let mut realm = Entered::new(context.clone(), shared.clone());
        host.call(&mut realm, function, &arguments.0)
            .map_err(|error| context.throw(error))
    });
    Ok(QuickJsFunction::new(context.clone(), native)?
        .with_name(name)?
        .into_value())
}

/// Tells the compiler that a closure takes values of any lifetime.
fn callable<F>(function: F) -> F
where
    F: for<'js> Fn(Ctx<'js>, Rest<Value<'js>>) -> rquickjs::Result<Value<'js>>,
{
    function
}
