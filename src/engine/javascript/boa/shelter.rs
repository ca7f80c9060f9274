//! [`Shelter`]: a frame of ours below everything that boa runs.
//!
//! A frame that boa's limits end leaves its registers on the stack, and with them all that the frame held: a cell that used
//! up its memory would never give it back. A frame that returns takes everything above it along. So whatever runs, runs
//! above one that always returns; what it came to goes past it.

use std::cell::RefCell;
use std::rc::Rc;

use boa_engine::object::{FunctionObjectBuilder, JsObject};
use boa_engine::{Context, JsError, JsResult, JsString, JsValue, NativeFunction, Script, Source};

use super::known::Known;
use crate::engine::EngineError;

/// The frame: it calls what it is given and returns.
const FRAME: &str = "(work => () => { work() })";

pub(super) struct Shelter {
    frame: JsObject,
    work: RefCell<Option<Work>>,
    result: RefCell<Option<JsResult<JsValue>>>,
}

/// What boa can be asked to run.
pub(super) enum Work {
    Script(Script),
    Call(JsObject, JsValue, Vec<JsValue>),
    /// A constructor, its arguments, and the class that is made one of.
    Construct(JsObject, Vec<JsValue>, JsObject),
    /// The next microtask; whether there was one.
    Job,
}

impl Shelter {
    pub(super) fn of(context: &mut Context) -> Result<Self, EngineError> {
        let failed = |error: JsError| EngineError(format!("boa could not be prepared: {error}"));
        let native = NativeFunction::from_fn_ptr(perform);
        let native = FunctionObjectBuilder::new(context.realm(), native)
            .name(JsString::from("work"))
            .length(0)
            .build();
        let make = Script::parse(Source::from_bytes(FRAME), None, context)
            .and_then(|script| script.evaluate(context))
            .map_err(failed)?;
        let frame = match make.as_object() {
            Some(make) => make
                .call(&JsValue::undefined(), &[native.into()], context)
                .map_err(failed)?,
            None => make,
        };
        let frame = frame
            .as_object()
            .ok_or_else(|| EngineError("boa could not be prepared".to_owned()))?;
        Ok(Self {
            frame,
            work: RefCell::new(None),
            result: RefCell::new(None),
        })
    }

    /// Runs `work` above the frame.
    pub(super) fn run(&self, work: Work, context: &mut Context) -> JsResult<JsValue> {
        self.work.replace(Some(work));
        let returned = self.frame.call(&JsValue::undefined(), &[], context);
        self.work.take();
        // There is none when a limit was reached before the work began.
        self.result.take().unwrap_or(returned)
    }
}

/// What the frame calls.
fn perform(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    if let Some(known) = context.get_data::<Rc<Known>>().cloned()
        && let Some(work) = known.shelter.work.take()
    {
        let result = match work {
            Work::Script(script) => script.evaluate(context),
            Work::Call(function, this, arguments) => function.call(&this, &arguments, context),
            Work::Construct(class, arguments, target) => class
                .construct(&arguments, Some(&target), context)
                .map(JsValue::from),
            Work::Job => known.executor.run_next(context).map(JsValue::from),
        };
        known.shelter.result.replace(Some(result));
    }
    Ok(JsValue::undefined())
}
