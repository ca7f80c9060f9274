//! QuickJS as a [`Realm`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Coerced, Ctx, Function, Object, Persistent, Promise, Value, object, promise};

use super::raw::{self, Key};
use crate::engine::javascript::cells::Entry;
use crate::engine::javascript::host::Host;
use crate::engine::javascript::realm::{
    Abrupt, Class, ErrorClass, Intrinsic, KeyName, Kind, PromiseState, Property, Realm, Text,
};

type Kept = Persistent<Value<'static>>;
/// Promises that were rejected while nothing handled them.
pub(super) type Rejections = Rc<RefCell<Vec<Rejection>>>;

pub(super) struct Rejection {
    promise: usize,
    /// The cell in whose name the code ran that rejected it.
    cell: u64,
    reason: Kept,
}

/// How much more memory is given while a cell that used up its budget is cleaned up after.
const RESERVE: usize = 32 << 20;

/// What a session's functions and its runner share.
pub(super) struct Shared {
    pub(super) host: Rc<Host>,
    pub(super) rejections: Rejections,
    /// What the session may allocate, and what it may just now.
    pub(super) memory_budget: usize,
    pub(super) memory_limit: Cell<usize>,
    /// What a stopped cell left is being dropped: nothing of it may go on.
    pub(super) is_dropping: Cell<bool>,
    /// What fulfils and what rejects the promises of answers that have not come, by the numbers of their calls.
    answers: RefCell<HashMap<u64, [Persistent<Function<'static>>; 2]>>,
    readers: RefCell<Option<Persistent<Object<'static>>>>,
    entry: RefCell<Option<Entry<Kept>>>,
    classes: Cell<Classes>,
}

/// The numbers of classes that QuickJS has no function for.
#[derive(Clone, Copy, Default)]
struct Classes {
    plain: u32,
    error: u32,
    number: u32,
    string: u32,
    boolean: u32,
    symbol: u32,
    bigint: u32,
    arguments: u32,
    data_view: u32,
}

impl Shared {
    pub(super) fn new(host: Rc<Host>, memory_budget: usize) -> Self {
        Self {
            host,
            rejections: Rejections::default(),
            memory_budget,
            memory_limit: Cell::new(memory_budget),
            is_dropping: Cell::new(false),
            answers: RefCell::default(),
            readers: RefCell::new(None),
            entry: RefCell::new(None),
            classes: Cell::default(),
        }
    }

    pub(super) fn set_readers<'js>(
        &self,
        context: &Ctx<'js>,
        readers: Value<'js>,
    ) -> rquickjs::Result<()> {
        let readers = Object::from_value(readers)?;
        let samples: Object<'js> = readers.get::<_, Function<'js>>("samples")?.call(())?;
        let class = |name: &str| {
            samples
                .get::<_, Value<'js>>(name)
                .map(|value| raw::class(&value))
        };
        self.classes.set(Classes {
            plain: class("Plain")?,
            error: class("Error")?,
            number: class("Number")?,
            string: class("String")?,
            boolean: class("Boolean")?,
            symbol: class("Symbol")?,
            bigint: class("BigInt")?,
            arguments: class("Arguments")?,
            data_view: class("DataView")?,
        });
        *self.readers.borrow_mut() = Some(Persistent::save(context, readers));
        Ok(())
    }

    pub(super) fn set_entry(&self, entry: Entry<Kept>) {
        *self.entry.borrow_mut() = Some(entry);
    }

    /// Lets go of every value of the runtime's.
    pub(super) fn release(&self) {
        self.answers.borrow_mut().clear();
        self.readers.borrow_mut().take();
        self.entry.borrow_mut().take();
        self.rejections.borrow_mut().clear();
    }
}

/// Notes a rejection, or that something handles it after all.
pub(super) fn track_rejection<'js>(
    shared: &Shared,
    context: &Ctx<'js>,
    promise: Value<'js>,
    reason: Value<'js>,
    is_handled: bool,
) {
    let identity = raw::identity(&promise);
    let mut rejections = shared.rejections.borrow_mut();
    if is_handled {
        rejections.retain(|known| known.promise != identity);
    } else {
        rejections.push(Rejection {
            promise: identity,
            cell: shared.host.acting(),
            reason: Persistent::save(context, reason),
        });
    }
}

/// A context, entered.
pub(super) struct Entered<'js> {
    context: Ctx<'js>,
    shared: Rc<Shared>,
}

impl<'js> Entered<'js> {
    pub(super) fn new(context: Ctx<'js>, shared: Rc<Shared>) -> Self {
        Self { context, shared }
    }

    /// What the runner needs of the prelude.
    pub(super) fn entry(&self) -> Option<Entry<Value<'js>>> {
        let entry = self.shared.entry.borrow();
        let entry = entry.as_ref()?;
        Some(Entry {
            fire: entry.fire.clone().restore(&self.context).ok()?,
            forget: entry.forget.clone().restore(&self.context).ok()?,
            failed_call: entry.failed_call.clone().restore(&self.context).ok()?,
            tail: entry.tail.clone().restore(&self.context).ok()?,
        })
    }

    fn reader<T: rquickjs::FromJs<'js>>(&self, name: &str) -> Option<T> {
        let readers = self.shared.readers.borrow();
        readers
            .as_ref()?
            .clone()
            .restore(&self.context)
            .ok()?
            .get(name)
            .ok()
    }

    /// Asks a built-in as it was before any cell ran.
    fn ask<A: rquickjs::function::IntoArgs<'js>, T: rquickjs::FromJs<'js>>(
        &self,
        name: &str,
        arguments: A,
    ) -> Option<T> {
        let answer = self.reader::<Function<'js>>(name)?.call(arguments);
        if answer.is_err() {
            self.context.catch();
        }
        answer.ok()
    }

    fn class(&self, value: &Value<'js>) -> Class {
        let classes = self.shared.classes.get();
        let number = raw::class(value);
        if value.is_proxy() {
            Class::Proxy
        } else if value.is_array() {
            Class::Array(self.length(value))
        } else if value.is_function() {
            Class::Function
        } else if number == classes.plain {
            Class::Plain
        } else if number == classes.error {
            Class::Error
        } else if raw::is_map(value) {
            Class::Map(self.ask("mapSize", (value.clone(),)).unwrap_or(0))
        } else if raw::is_set(value) {
            Class::Set(self.ask("setSize", (value.clone(),)).unwrap_or(0))
        } else if value.is_promise() {
            Class::Promise
        } else if raw::is_date(value) {
            Class::Date(self.ask("time", (value.clone(),)).unwrap_or(f64::NAN))
        } else if raw::is_regexp(value) {
            Class::RegExp(self.ask("regexp", (value.clone(),)).unwrap_or_default())
        } else if raw::is_typed_array(value) {
            let length = raw::typed_array(&self.context, value)
                .map_or(0, |(_, _, bytes, size)| bytes / size.max(1));
            Class::TypedArray(length as u32)
        } else if raw::is_array_buffer(value) {
            Class::ArrayBuffer(
                raw::with_bytes(&self.context, value, |bytes| bytes.len()).unwrap_or(0),
            )
        } else if number == classes.data_view {
            Class::DataView
        } else if self.primitive_of(number).is_some() {
            Class::Boxed
        } else if number == classes.arguments {
            Class::Arguments(self.length(value))
        } else {
            Class::Opaque
        }
    }

    fn primitive_of(&self, class: u32) -> Option<&'static str> {
        let classes = self.shared.classes.get();
        let known = [
            (classes.number, "number"),
            (classes.string, "string"),
            (classes.boolean, "boolean"),
            (classes.symbol, "symbol"),
            (classes.bigint, "bigint"),
        ];
        known
            .into_iter()
            .find(|(number, _)| *number == class)
            .map(|(_, name)| name)
    }

    fn length(&self, array: &Value<'js>) -> u32 {
        let key = raw::key(&self.context, "length");
        let length = raw::own_property(&self.context, array, &key)
            .and_then(|property| property.into_value());
        length.and_then(|length| length.as_number()).unwrap_or(0.0) as u32
    }

    fn text(&self, value: &Value<'js>) -> Text {
        match value.as_string().map(|text| text.to_string()) {
            Some(Ok(text)) => Text::Utf8(text),
            _ => Text::Broken(raw::units(&self.context, value)),
        }
    }

    fn own_text(&self, object: &Value<'js>, name: &str) -> Option<String> {
        let key = raw::key(&self.context, name);
        let value = raw::own_property(&self.context, object, &key)?.into_value()?;
        value.is_string().then(|| self.text(&value).into_lossy())
    }

    /// The stack an error was made with, whatever a program has put in its place.
    fn stack_of(&self, error: &Value<'js>) -> Option<String> {
        self.ask::<_, Value<'js>>("stack", (error.clone(),))
            .filter(Value::is_string)
            .map(|text| self.text(&text).into_lossy())
            .or_else(|| self.own_text(error, "stack"))
    }

    /// What ended a script or a call, in the shared words.
    fn abrupt(&self) -> Abrupt<Value<'js>> {
        let value = self.context.catch();
        let stopper = &self.shared.host.stopper;
        if value.is_uncatchable_error() || stopper.is_pressed() {
            return Abrupt::Stopped(self.stack_of(&value));
        }
        if self.tells_of_memory(&value) {
            Abrupt::Memory
        } else {
            Abrupt::Thrown(value)
        }
    }

    /// Whether it is what QuickJS throws when it gets no more memory.
    fn tells_of_memory(&self, thrown: &Value<'js>) -> bool {
        if thrown.is_null() {
            // There was none left for an error.
            return raw::memory_used(&self.context) > self.shared.memory_budget / 2;
        }
        thrown.is_error() && self.own_text(thrown, "message").as_deref() == Some("out of memory")
    }
}

impl<'js> Realm for Entered<'js> {
    type Value = Value<'js>;
    type Key = Key<'js>;

    fn kind(&mut self, value: &Value<'js>) -> Kind {
        if let Some(number) = value.as_number() {
            Kind::Number(number)
        } else if value.is_string() {
            Kind::String(self.text(value))
        } else if value.is_object() {
            Kind::Object(self.class(value))
        } else if let Some(value) = value.as_bool() {
            Kind::Boolean(value)
        } else if value.is_null() {
            Kind::Null
        } else if value.is_big_int() {
            Kind::BigInt(
                value
                    .get::<Coerced<String>>()
                    .map(|digits| digits.0)
                    .unwrap_or_default(),
            )
        } else if value.is_symbol() {
            Kind::Symbol(
                self.ask::<_, Option<String>>("description", (value.clone(),))
                    .flatten()
                    .unwrap_or_default(),
            )
        } else {
            Kind::Undefined
        }
    }

    fn string_length(&self, value: &Value<'js>) -> Option<usize> {
        value
            .is_string()
            .then(|| raw::string_length(&self.context, value))
    }

    fn keys(&mut self, object: &Value<'js>) -> Vec<Key<'js>> {
        raw::own_keys(&self.context, object)
    }

    fn has_more_keys(&mut self, array: &Value<'js>, elements: u32) -> bool {
        raw::count_enumerable(&self.context, array) > elements
    }

    fn key_name(&mut self, key: &Key<'js>) -> KeyName {
        let value = raw::key_value(key);
        match self.kind(&value) {
            Kind::Symbol(description) => KeyName::Symbol(description),
            _ => KeyName::String(self.text(&value)),
        }
    }

    fn key(&mut self, name: &str) -> Key<'js> {
        raw::key(&self.context, name)
    }

    fn property(&mut self, object: &Value<'js>, key: &Key<'js>) -> Option<Property<Value<'js>>> {
        raw::own_property(&self.context, object, key)
    }

    fn element(&mut self, array: &Value<'js>, index: u32) -> Option<Property<Value<'js>>> {
        raw::own_element(&self.context, array, index)
    }

    fn prototype(&mut self, object: &Value<'js>) -> Option<Value<'js>> {
        raw::prototype(&self.context, object)
    }

    fn identity(&mut self, object: &Value<'js>) -> usize {
        raw::identity(object)
    }

    fn entries(
        &mut self,
        collection: &Value<'js>,
        limit: usize,
    ) -> Vec<(Value<'js>, Option<Value<'js>>)> {
        let is_map = raw::is_map(collection);
        let reader = if is_map { "mapEntries" } else { "setValues" };
        let Some(flat) = self.ask::<_, Vec<Value<'js>>>(reader, (collection.clone(), limit as u32))
        else {
            return Vec::new();
        };
        if is_map {
            flat.chunks_exact(2)
                .map(|pair| (pair[0].clone(), Some(pair[1].clone())))
                .collect()
        } else {
            flat.into_iter().map(|value| (value, None)).collect()
        }
    }

    fn promise(&mut self, value: &Value<'js>) -> Option<PromiseState<Value<'js>>> {
        let promise = Promise::from_value(value.clone()).ok()?;
        Some(match promise.state() {
            promise::PromiseState::Pending => PromiseState::Pending,
            promise::PromiseState::Resolved => {
                let value = promise.result::<Value<'js>>().and_then(Result::ok);
                PromiseState::Fulfilled(
                    value.unwrap_or_else(|| Value::new_undefined(self.context.clone())),
                )
            }
            promise::PromiseState::Rejected => {
                // It throws the reason.
                let _ = promise.result::<Value<'js>>();
                PromiseState::Rejected(self.context.catch())
            }
        })
    }

    fn proxy_target(&mut self, proxy: &Value<'js>) -> Option<Value<'js>> {
        raw::proxy_target(&self.context, proxy)
    }

    fn unboxed(&mut self, boxed: &Value<'js>) -> Option<Value<'js>> {
        self.ask(
            "unboxed",
            (boxed.clone(), self.primitive_of(raw::class(boxed))?),
        )
    }

    fn bytes(&mut self, buffer: &Value<'js>) -> Option<Vec<u8>> {
        if raw::is_array_buffer(buffer) {
            return Some(
                raw::with_bytes(&self.context, buffer, |bytes| bytes.to_vec()).unwrap_or_default(),
            );
        }
        let (inner, offset, length) = self.window(buffer)?;
        if length == 0 {
            return Some(Vec::new());
        }
        raw::with_bytes(&self.context, &inner, |bytes| {
            bytes.get(offset..offset + length).map(<[u8]>::to_vec)
        })?
    }

    fn stack(&mut self, error: &Value<'js>) -> Option<String> {
        self.stack_of(error)
    }

    fn function_source(&mut self, function: &Value<'js>) -> Option<String> {
        self.ask("functionText", (function.clone(),))
    }

    fn is_intrinsic(&mut self, prototype: &Value<'js>, intrinsic: Intrinsic) -> bool {
        let name = match intrinsic {
            Intrinsic::ObjectPrototype => "objectPrototype",
            Intrinsic::ArrayPrototype => "arrayPrototype",
        };
        self.reader::<Value<'js>>(name)
            .is_some_and(|known| raw::identity(&known) == raw::identity(prototype))
    }

    fn running_files(&mut self) -> Vec<String> {
        let mut files = Vec::new();
        let mut level = 0;
        while let Some(file) = self.context.script_or_module_name(level) {
            files.extend(file.to_string());
            level += 1;
        }
        files
    }

    fn undefined(&mut self) -> Value<'js> {
        Value::new_undefined(self.context.clone())
    }

    fn null(&mut self) -> Value<'js> {
        Value::new_null(self.context.clone())
    }

    fn boolean(&mut self, value: bool) -> Value<'js> {
        Value::new_bool(self.context.clone(), value)
    }

    fn number(&mut self, value: f64) -> Value<'js> {
        Value::new_number(self.context.clone(), value)
    }

    fn string(&mut self, text: &str) -> Value<'js> {
        let made = rquickjs::String::from_str(self.context.clone(), text);
        made.map_or_else(|_| self.undefined(), |text| text.into_value())
    }

    fn string_of_units(&mut self, units: &[u16]) -> Value<'js> {
        raw::string_of_units(&self.context, units)
    }

    fn array(&mut self, elements: Vec<Value<'js>>) -> Value<'js> {
        let Ok(array) = rquickjs::Array::new(self.context.clone()) else {
            return self.undefined();
        };
        for (index, element) in elements.into_iter().enumerate() {
            let _ = array.set(index, element);
        }
        array.into_value()
    }

    fn object(&mut self, properties: Vec<(String, Value<'js>)>) -> Value<'js> {
        let Ok(object) = Object::new(self.context.clone()) else {
            return self.undefined();
        };
        for (name, value) in properties {
            // Defined and not set, since `__proto__` is a name like any other to JSON.
            let property = object::Property::from(value);
            let _ = object.prop(name, property.writable().enumerable().configurable());
        }
        object.into_value()
    }

    fn buffer(&mut self, bytes: Vec<u8>) -> Value<'js> {
        raw::buffer(&self.context, &bytes)
    }

    fn error(&mut self, class: ErrorClass, message: &str) -> Value<'js> {
        let name = match class {
            ErrorClass::Error => "Error",
            ErrorClass::TypeError => "TypeError",
            ErrorClass::RangeError => "RangeError",
        };
        self.ask("error", (name, message))
            .unwrap_or_else(|| self.undefined())
    }

    fn promise_answer(&mut self, call: u64) -> Option<Value<'js>> {
        let Ok((promise, fulfil, reject)) = Promise::new(&self.context) else {
            self.context.catch();
            return None;
        };
        let settlers = [fulfil, reject].map(|settler| Persistent::save(&self.context, settler));
        self.shared.answers.borrow_mut().insert(call, settlers);
        Some(promise.into_value())
    }

    fn settle_answer(
        &mut self,
        call: u64,
        answer: Result<Value<'js>, Value<'js>>,
    ) -> Result<(), Abrupt<Value<'js>>> {
        let settlers = self.shared.answers.borrow_mut().remove(&call);
        let Some([fulfil, reject]) = settlers else {
            return Ok(());
        };
        let (settler, value) = match answer {
            Ok(value) => (fulfil, value),
            Err(reason) => (reject, reason),
        };
        let settled = settler
            .restore(&self.context)
            .and_then(|settler| settler.call::<_, ()>((value,)));
        settled.map_err(|_| self.abrupt())
    }

    fn overwrite(&mut self, buffer: &Value<'js>, bytes: &[u8]) {
        let Some((inner, offset, length)) = self.window(buffer) else {
            return;
        };
        raw::with_bytes(&self.context, &inner, |target| {
            let count = length.min(bytes.len());
            if let Some(target) = target.get_mut(offset..offset + count) {
                target.copy_from_slice(&bytes[..count]);
            }
        });
    }

    fn evaluate(&mut self, code: &str, file: &str) -> Result<Value<'js>, Abrupt<Value<'js>>> {
        let Some(script) = raw::compile(&self.context, code, file) else {
            return Err(match self.abrupt() {
                Abrupt::Thrown(value) => Abrupt::Syntax(value),
                other => other,
            });
        };
        raw::run(&self.context, &script).ok_or_else(|| self.abrupt())
    }

    fn call(
        &mut self,
        function: &Value<'js>,
        arguments: &[Value<'js>],
    ) -> Result<Value<'js>, Abrupt<Value<'js>>> {
        let Some(function) = function.as_function() else {
            return Ok(self.undefined());
        };
        let arguments = rquickjs::function::Rest(arguments.to_vec());
        function.call((arguments,)).map_err(|_| self.abrupt())
    }

    fn run_job(&mut self) -> Result<bool, Abrupt<Value<'js>>> {
        Ok(self.context.execute_pending_job())
    }

    fn drop_jobs(&mut self) {
        // QuickJS has no way to drop its jobs. Without memory each of them fails before it can queue another one; one that
        // catches that in a loop is interrupted.
        const MOST: usize = 1_000_000;
        self.shared.is_dropping.set(true);
        for _ in 0..MOST {
            raw::set_memory_limit(&self.context, 1);
            if !self.context.execute_pending_job() {
                break;
            }
        }
        raw::set_memory_limit(&self.context, self.shared.memory_limit.get());
        self.shared.is_dropping.set(false);
        self.context.catch();
    }

    fn take_rejections(&mut self, except: Option<&Value<'js>>) -> Vec<(u64, Value<'js>)> {
        let rejections = std::mem::take(&mut *self.shared.rejections.borrow_mut());
        let except = except.map(raw::identity);
        let others = rejections
            .into_iter()
            .filter(|rejection| Some(rejection.promise) != except);
        others
            .filter_map(|Rejection { cell, reason, .. }| {
                Some((cell, reason.restore(&self.context).ok()?))
            })
            .collect()
    }

    fn has_global(&mut self, name: &str) -> bool {
        let key = raw::key(&self.context, name);
        raw::own_property(&self.context, self.context.globals().as_value(), &key).is_some()
    }

    fn recover(&mut self) {
        raw::set_memory_limit(&self.context, self.shared.memory_limit.get());
    }

    fn is_out_of_memory(&mut self, reason: Option<&Value<'js>>) -> bool {
        reason.is_some_and(|reason| self.tells_of_memory(reason))
    }

    fn reserve_memory(&mut self) {
        raw::set_memory_limit(&self.context, self.shared.memory_limit.get() + RESERVE);
    }

    fn is_full(&mut self) -> bool {
        self.context.run_gc();
        raw::memory_used(&self.context) > self.shared.memory_budget / 10 * 9
    }

    fn make_room(&mut self, is_full: bool) {
        let budget = self.shared.memory_budget;
        let limit = match is_full {
            true => raw::memory_used(&self.context) + budget / 16,
            false => budget,
        };
        let limit = limit.clamp(budget, budget + budget / 4);
        self.shared.memory_limit.set(limit);
        raw::set_memory_limit(&self.context, limit);
    }
}

impl<'js> Entered<'js> {
    /// The buffer, the offset and the length of a view.
    fn window(&self, view: &Value<'js>) -> Option<(Value<'js>, usize, usize)> {
        if raw::is_typed_array(view) {
            let (buffer, offset, length, _) = raw::typed_array(&self.context, view)?;
            return Some((buffer, offset, length));
        }
        let offset: f64 = self.ask("viewOffset", (view.clone(),))?;
        let length: f64 = self.ask("viewLength", (view.clone(),))?;
        Some((
            self.ask("viewBuffer", (view.clone(),))?,
            offset as usize,
            length as usize,
        ))
    }
}
