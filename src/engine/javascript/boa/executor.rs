//! boa's microtasks, which run when the runner of cells says so, and its module loader.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};

use boa_engine::job::{GenericJob, Job, JobExecutor, NativeAsyncJob, PromiseJob};
use boa_engine::module::{Module, ModuleLoader, ModuleRequest, Referrer};
use boa_engine::{Context, JsNativeError, JsResult, JsString, Source};

use crate::engine::javascript::host::Host;
use crate::engine::javascript::modules::{self, Modules};

/// The microtasks that wait.
#[derive(Default)]
pub(super) struct Executor {
    microtasks: RefCell<VecDeque<PromiseJob>>,
    others: RefCell<VecDeque<Other>>,
}

enum Other {
    Async(NativeAsyncJob),
    Generic(GenericJob),
}

impl Executor {
    /// Runs the next one; false when none waits.
    pub(super) fn run_next(&self, context: &mut Context) -> JsResult<bool> {
        let next = self.microtasks.borrow_mut().pop_front();
        if let Some(job) = next {
            job.call(context)?;
            return Ok(true);
        }
        let next = self.others.borrow_mut().pop_front();
        match next {
            Some(Other::Generic(job)) => job.call(context)?,
            Some(Other::Async(job)) => finish(job, context)?,
            None => return Ok(false),
        };
        Ok(true)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.microtasks.borrow().is_empty() && self.others.borrow().is_empty()
    }

    pub(super) fn clear(&self) {
        self.microtasks.borrow_mut().clear();
        self.others.borrow_mut().clear();
    }
}

/// Runs an async job, which is a module being loaded: ours never waits.
fn finish(job: NativeAsyncJob, context: &mut Context) -> JsResult<boa_engine::JsValue> {
    let context = RefCell::new(context);
    let mut future = pin!(job.call(&context));
    match future
        .as_mut()
        .poll(&mut TaskContext::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => Err(JsNativeError::error()
            .with_message("a module could not be loaded at once")
            .into()),
    }
}

impl JobExecutor for Executor {
    fn enqueue_job(self: Rc<Self>, job: Job, _: &mut Context) {
        match job {
            Job::PromiseJob(job) => self.microtasks.borrow_mut().push_back(job),
            Job::AsyncJob(job) => self.others.borrow_mut().push_back(Other::Async(job)),
            Job::GenericJob(job) => self.others.borrow_mut().push_back(Other::Generic(job)),
            // Timers are the prelude's, and finalisation callbacks need not run.
            _ => {}
        }
    }

    fn run_jobs(self: Rc<Self>, context: &mut Context) -> JsResult<()> {
        while self.run_next(context)? {}
        Ok(())
    }
}

/// Loads modules for boa, each once.
pub(super) struct Loader {
    modules: Modules,
    host: Rc<Host>,
    loaded: RefCell<HashMap<String, Module>>,
}

impl Loader {
    pub(super) fn new(modules: Modules, host: Rc<Host>) -> Self {
        Self {
            modules,
            host,
            loaded: RefCell::default(),
        }
    }

    fn load(&self, referrer: &str, specifier: &str, context: &mut Context) -> JsResult<Module> {
        let refuse = |message: String| JsNativeError::error().with_message(message);
        let name = self.modules.resolve(referrer, specifier).map_err(refuse)?;
        if let Some(module) = self.loaded.borrow().get(&name) {
            return Ok(module.clone());
        }
        let module = match self.modules.load(&name).map_err(refuse)? {
            modules::Module::Json(text) => {
                Module::parse_json(JsString::from(text.as_str()), context)?
            }
            modules::Module::JavaScript(code, positions) => {
                let mut sources = self.host.sources.borrow_mut();
                sources.insert(name.clone(), *positions);
                drop(sources);
                let source = Source::from_bytes(&code).with_path(Path::new(&name));
                Module::parse(source, None, context)?
            }
        };
        self.loaded.borrow_mut().insert(name, module.clone());
        Ok(module)
    }
}

impl ModuleLoader for Loader {
    async fn load_imported_module(
        self: Rc<Self>,
        referrer: Referrer,
        request: ModuleRequest,
        context: &RefCell<&mut Context>,
    ) -> JsResult<Module> {
        let file = referrer
            .path()
            .map(|path| path.display().to_string())
            .unwrap_or_default();
        let specifier = request.specifier().to_std_string_lossy();
        self.load(&file, &specifier, &mut context.borrow_mut())
    }
}
