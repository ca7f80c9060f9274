//! JavaScript on boa, in pure Rust.
//!
//! A session has a [`Context`] of its own on a thread of its own. What of boa's is known beforehand (getters, the stack of
//! errors) is taken from the fresh realm, before any cell runs.

mod builtins;
mod dates;
mod executor;
mod json;
mod known;
mod limits;
mod nursery;
mod promises;
mod realm;
mod regexps;
mod shelter;
mod strings;
#[cfg(test)]
mod tests;
mod text;

use std::rc::Rc;
use std::sync::Arc;

use boa_engine::builtins::promise::{OperationType, Promise};
use boa_engine::context::{ContextBuilder, HostHooks};
use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::realm::Realm as BoaRealm;
use boa_engine::{Context, JsNativeError, JsResult, JsString, JsValue, NativeFunction};

use self::executor::{Executor, Loader};
use self::known::{Known, Rejections};
use self::realm::Entered;
use super::REHEARSAL;
use super::cells::{Cells, Entry};
use super::host::{Function, Host};
use super::memory::{self, Budget};
use super::modules::Modules;
use super::prelude;
use super::realm::Realm;
use super::rewrite::Flavour;
use super::stopper::Stopper;
use super::values;
use crate::engine::{Completion, Engine, EngineError, Language, Opening, Task, Variable, rehearse};
use crate::limits::Limits;
use crate::outcome::Json;

/// boa's version, as exactly as the build could tell.
pub(super) const VERSION: &str = env!("WARMCELL_BOA_VERSION");
/// The stack that boa's thread needs: 33 KB a level of nested source (measured, optimised), 10,000 levels of recursion.
pub(super) const STACK_BYTES: usize = 256 << 20;
/// What a cell that ran into its deadline is told.
const SLOW: &str =
    "the `quickjs` engine runs such code several times faster, and string building (`+=`) far more";

/// Opens sessions on boa.
pub(super) struct Boa {
    pub(super) stopper: Arc<Stopper>,
    pub(super) flavour: Flavour,
}

impl Language for Boa {
    fn open(&mut self, opening: &Opening) -> Result<Box<dyn Engine>, EngineError> {
        nursery::widen();
        Ok(Box::new(Session::open(
            opening.clone(),
            self.stopper.clone(),
            self.flavour,
            budget(opening)?,
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

/// One session.
struct Session {
    opening: Opening,
    flavour: Flavour,
    stopper: Arc<Stopper>,
    cells: Cells,
    entry: Entry<JsValue>,
    known: Rc<Known>,
    /// In a box, since the interrupter holds a pointer into it. Dropped last: the values above live in it.
    context: Box<Context>,
}

impl Session {
    fn open(
        opening: Opening,
        stopper: Arc<Stopper>,
        flavour: Flavour,
        budget: Option<Budget>,
    ) -> Result<Self, EngineError> {
        if opening.owns_process {
            memory::own_process();
        }
        let host = Host::new(&opening, stopper.clone());
        let executor = Rc::new(Executor::default());
        let rejections = Rejections::default();
        let mut context = ContextBuilder::new()
            .job_executor(executor.clone())
            .host_hooks(Rc::new(Hooks {
                host: host.clone(),
                rejections: rejections.clone(),
                largest_buffer: opening.limits.memory_mb << 20,
            }))
            .module_loader(Rc::new(Loader::new(
                Modules::new(opening.cwd.clone()),
                host.clone(),
            )))
            .can_block(false)
            .build()
            .map(Box::new)
            .map_err(|error| EngineError(format!("boa could not be started: {error}")))?;
        context.strict(true);
        limits::reset(&mut context);
        builtins::replace(&mut context)?;
        let known = Rc::new(Known::of(
            &mut context,
            host.clone(),
            executor,
            rejections,
            budget,
        )?);
        context.insert_data(known.clone());
        let entry = prelude(&mut Entered {
            context: &mut context,
            known: &known,
        })?;
        stopper.set_poke(limits::poke(&mut context));
        let cells = Cells::new(host, flavour, &opening, Some(SLOW));
        Ok(Self {
            opening,
            flavour,
            stopper,
            cells,
            entry,
            known,
            context,
        })
    }
}

impl Engine for Session {
    fn run(&mut self, task: &Task<'_>) -> Completion {
        limits::begin(&mut self.context);
        if let Some(budget) = self.known.budget {
            memory::arm(budget, limits::trip, boa_gc::force_collect);
        }
        self.stopper.begin(task.epoch);
        let mut realm = Entered {
            context: &mut self.context,
            known: &self.known,
        };
        let completion = self.cells.run(&mut realm, &self.entry, task);
        limits::end();
        self.known.regexps.forget();
        completion
    }

    fn reset(&mut self, _: u64) -> Result<(), EngineError> {
        let budget = self.known.budget;
        *self = Self::open(
            self.opening.clone(),
            self.stopper.clone(),
            self.flavour,
            budget,
        )?;
        boa_gc::force_collect();
        Ok(())
    }

    fn inspect(&mut self) -> Vec<Variable> {
        self.cells.inspect(&mut Entered {
            context: &mut self.context,
            known: &self.known,
        })
    }

    fn members(&mut self, path: &[String]) -> Vec<String> {
        let mut realm = Entered {
            context: &mut self.context,
            known: &self.known,
        };
        self.cells.members(&mut realm, path)
    }

    fn bind(&mut self, name: &str, value: &Json, _epoch: u64) -> Result<(), EngineError> {
        self.cells.bind(
            &mut Entered {
                context: &mut self.context,
                known: &self.known,
            },
            name,
            value,
        )
    }

    fn took_over(&mut self) {
        // Nothing of a context is outside the memory that was copied.
    }

    fn close(self: Box<Self>, _: u64) {
        // Nothing of the program's runs when a context is dropped.
    }
}

/// What the session may allocate. Without the counting allocator only the default can be asked for, which nothing holds
/// the session to then.
fn budget(opening: &Opening) -> Result<Option<Budget>, EngineError> {
    let asked = opening.limits.memory_mb;
    if memory::is_counted() {
        return Ok(Some(Budget {
            base: memory::used(),
            bytes: asked << 20,
        }));
    }
    if asked == Limits::default().memory_mb {
        return Ok(None);
    }
    Err(EngineError(format!(
        "`memoryMb` is {asked}, but nothing in this process counts what boa allocates\nhint: make `warmcell::CountingAllocator` the global allocator, or use the `quickjs` engine"
    )))
}

/// Evaluates the prelude.
fn prelude(realm: &mut Entered<'_>) -> Result<Entry<JsValue>, EngineError> {
    let failed = |what: &str| EngineError(format!("the prelude failed on boa: {what}"));
    let object = realm
        .evaluate(prelude::OBJECT, prelude::FILE)
        .map_err(|abrupt| failed(&format!("{abrupt:?}")))?;
    let core = realm
        .evaluate(prelude::CORE, prelude::FILE)
        .map_err(|abrupt| failed(&format!("{abrupt:?}")))?;
    let functions: Vec<(String, JsValue)> = Function::all()
        .map(|(name, function)| (name.to_owned(), native(realm.context, name, function)))
        .collect();
    let tail = functions
        .iter()
        .find(|(name, _)| name == "tail")
        .map(|(_, tail)| tail.clone());
    let host = realm.object(functions);
    let entry = realm
        .call(&core, &[host, object])
        .map_err(|abrupt| failed(&format!("{abrupt:?}")))?;
    let mut member = |name: &str| {
        let key = realm.key(name);
        realm
            .property(&entry, &key)
            .and_then(|property| property.into_value())
            .ok_or_else(|| failed(name))
    };
    let offer = member("offer")?;
    let made = Entry {
        fire: member("fire")?,
        forget: member("forget")?,
        failed_call: member("failedCall")?,
        tail: tail.ok_or_else(|| failed("tail"))?,
    };
    let known = realm.known;
    if let Some(calls) = &known.host.calls {
        let offered = values::from_json(realm, &calls.offered()).map_err(EngineError)?;
        realm
            .call(&offer, &[offered])
            .map_err(|abrupt| failed(&format!("{abrupt:?}")))?;
    }
    Ok(made)
}

/// One of the host's functions as a function of boa's.
fn native(context: &mut Context, name: &str, function: Function) -> JsValue {
    let native = NativeFunction::from_copy_closure(move |_, arguments, context| {
        let Some(known) = context.get_data::<Rc<Known>>().cloned() else {
            return Err(JsNativeError::error()
                .with_message("the session is not open")
                .into());
        };
        let host = known.host.clone();
        host.call(
            &mut Entered {
                context,
                known: &known,
            },
            function,
            arguments,
        )
        .map_err(boa_engine::JsError::from_opaque)
    });
    FunctionObjectBuilder::new(context.realm(), native)
        .name(JsString::from(name))
        .length(0)
        .build()
        .into()
}

/// What boa asks its host.
struct Hooks {
    host: Rc<Host>,
    rejections: Rejections,
    largest_buffer: u64,
}

impl HostHooks for Hooks {
    fn ensure_can_compile_strings(
        &self,
        _: BoaRealm,
        _: &[JsString],
        _: &JsString,
        _: bool,
        _: &mut Context,
    ) -> JsResult<()> {
        Err(JsNativeError::eval()
            .with_message("code generation from strings is off: put the code into the cell itself")
            .into())
    }

    fn promise_rejection_tracker(
        &self,
        promise: &JsObject<Promise>,
        operation: OperationType,
        _: &mut Context,
    ) {
        let mut rejections = self.rejections.borrow_mut();
        match operation {
            OperationType::Reject => rejections.push((self.host.acting(), promise.clone())),
            OperationType::Handle => {
                rejections.retain(|(_, known)| !JsObject::equals(known, promise))
            }
        }
    }

    /// boa asks before it makes a buffer.
    fn max_buffer_size(&self, _: &mut Context) -> u64 {
        memory::collect_if_due(boa_gc::force_collect);
        self.largest_buffer
    }
}
