//! [`Known`]: what a session's realm had before any cell ran in it, so that nothing a program replaces is what we use.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use boa_engine::Context;
use boa_engine::builtins::promise::{Promise, ResolvingFunctions};
use boa_engine::object::JsObject;

use super::builtins::{self, Nesting, getter};
use super::executor::Executor;
use super::json::Operations;
use super::regexps::RegExps;
use super::shelter::Shelter;
use crate::engine::EngineError;
use crate::engine::javascript::host::Host;
use crate::engine::javascript::memory::Budget;

/// Promises that were rejected while nothing handled them, each with the cell in whose name the code ran that did so.
pub(super) type Rejections = Rc<RefCell<Vec<(u64, JsObject<Promise>)>>>;

/// What is known of a realm since before any cell ran in it.
pub(super) struct Known {
    pub(super) host: Rc<Host>,
    pub(super) executor: Rc<Executor>,
    pub(super) shelter: Shelter,
    pub(super) array_nesting: Nesting,
    /// What the session may allocate, where that is counted.
    pub(super) budget: Option<Budget>,
    pub(super) rejections: Rejections,
    /// What settles the promises of answers that have not come, by the numbers of their calls.
    pub(super) answers: RefCell<HashMap<u64, ResolvingFunctions>>,
    pub(super) date_time: JsObject,
    pub(super) regexps: RegExps,
    pub(super) json: Operations,
    /// The `exec` that the session starts with.
    pub(super) regexp_exec: JsObject,
    pub(super) regexp_flags: JsObject,
    pub(super) regexp_source: JsObject,
    pub(super) error_stack: JsObject,
    pub(super) function_text: JsObject,
    pub(super) view_buffer: JsObject,
    pub(super) view_offset: JsObject,
    pub(super) view_bytes: JsObject,
    pub(super) view_length: JsObject,
    pub(super) data_buffer: JsObject,
    pub(super) data_offset: JsObject,
    pub(super) data_bytes: JsObject,
}

impl Known {
    pub(super) fn of(
        context: &mut Context,
        host: Rc<Host>,
        executor: Rc<Executor>,
        rejections: Rejections,
        budget: Option<Budget>,
    ) -> Result<Self, EngineError> {
        let shelter = Shelter::of(context)?;
        let regexps = RegExps::of(context);
        let json = Operations::of(context)?;
        let mut object = |path: &str| builtins::object_at(context, path);
        let regexp = object("RegExp.prototype")?;
        let error = object("Error.prototype")?;
        let data_view = object("DataView.prototype")?;
        let view = object("Uint8Array.prototype")?
            .prototype()
            .ok_or_else(|| EngineError("boa lacks `%TypedArray%`".to_owned()))?;
        Ok(Self {
            date_time: object("Date.prototype.getTime")?,
            regexps,
            json,
            regexp_exec: object("RegExp.prototype.exec")?,
            regexp_source: getter(&regexp, "source")?,
            regexp_flags: getter(&regexp, "flags")?,
            error_stack: getter(&error, "stack")?,
            function_text: object("Function.prototype.toString")?,
            view_buffer: getter(&view, "buffer")?,
            view_offset: getter(&view, "byteOffset")?,
            view_bytes: getter(&view, "byteLength")?,
            view_length: getter(&view, "length")?,
            data_buffer: getter(&data_view, "buffer")?,
            data_offset: getter(&data_view, "byteOffset")?,
            data_bytes: getter(&data_view, "byteLength")?,
            host,
            executor,
            shelter,
            array_nesting: Nesting::new(0),
            budget,
            rejections,
            answers: RefCell::default(),
        })
    }
}
