//! boa as a [`Realm`].

use std::path::Path;

use boa_engine::builtins::array_buffer::ArrayBuffer;
use boa_engine::builtins::dataview::DataView;
use boa_engine::builtins::date::Date;
use boa_engine::builtins::error::Error;
use boa_engine::builtins::function::OrdinaryFunction;
use boa_engine::builtins::map::ordered_map::OrderedMap;
use boa_engine::builtins::promise::{Promise, PromiseState as BoaPromiseState};
use boa_engine::builtins::proxy::Proxy;
use boa_engine::builtins::regexp::RegExp;
use boa_engine::builtins::set::ordered_set::OrderedSet;
use boa_engine::builtins::typed_array::TypedArray;
use boa_engine::error::{EngineError as BoaEngineError, RuntimeLimitError};
use boa_engine::object::JsObject;
use boa_engine::object::builtins::{JsArray, JsArrayBuffer, JsPromise};
use boa_engine::property::{PropertyDescriptor, PropertyKey};
use boa_engine::value::JsVariant;
use boa_engine::{
    Context, JsBigInt, JsError, JsNativeError, JsResult, JsString, JsSymbol, JsValue, Script,
    Source, js_string,
};

use super::known::Known;
use super::limits;
use super::shelter::Work;
use crate::engine::javascript::memory::{self, Budget};
use crate::engine::javascript::realm::{
    Abrupt, Class, Content, ErrorClass, Intrinsic, KeyName, Kind, PromiseState, Property, Realm,
    Text,
};

/// A context, entered.
pub(super) struct Entered<'c> {
    pub(super) context: &'c mut Context,
    pub(super) known: &'c Known,
}

impl Entered<'_> {
    /// Asks a built-in that runs no code of the program.
    fn ask(&mut self, function: &JsObject, this: &JsValue) -> Option<JsValue> {
        function.call(this, &[], self.context).ok()
    }

    fn ask_number(&mut self, function: &JsObject, this: &JsValue) -> Option<f64> {
        self.ask(function, this).and_then(|value| value.as_number())
    }

    fn class(&mut self, value: &JsValue, object: &JsObject) -> Class {
        if object.is::<Proxy>() {
            Class::Proxy
        } else if object.is_callable() {
            Class::Function
        } else if object.is_array() {
            Class::Array(length(object))
        } else if object.is_ordinary() {
            Class::Plain
        } else if object.is::<Error>() {
            Class::Error
        } else if let Some(map) = object.downcast_ref::<OrderedMap<JsValue>>() {
            Class::Map(map.len())
        } else if let Some(set) = object.downcast_ref::<OrderedSet>() {
            Class::Set(set.len())
        } else if object.is::<Promise>() {
            Class::Promise
        } else if object.is::<Date>() {
            let known = self.known;
            Class::Date(self.ask_number(&known.date_time, value).unwrap_or(f64::NAN))
        } else if object.is::<RegExp>() {
            Class::RegExp(self.regexp(value))
        } else if object.is::<TypedArray>() {
            let known = self.known;
            Class::TypedArray(self.ask_number(&known.view_length, value).unwrap_or(0.0) as u32)
        } else if let Some(buffer) = object.downcast_ref::<ArrayBuffer>() {
            Class::ArrayBuffer(buffer.data().map_or(0, <[u8]>::len))
        } else if object.is::<DataView>() {
            Class::DataView
        } else if self.unboxed(value).is_some() {
            Class::Boxed
        } else if let Some(length) = arguments_length(object) {
            Class::Arguments(length)
        } else {
            Class::Opaque
        }
    }

    /// A regular expression as its literal. The getter of its flags asks for each flag by name, which a cell may have
    /// shadowed on the object: then the flags are left out.
    fn regexp(&mut self, value: &JsValue) -> String {
        let known = self.known;
        let text = |value: Option<JsValue>| {
            value
                .and_then(|value| value.as_string())
                .map(|text| text.to_std_string_lossy())
                .unwrap_or_default()
        };
        let source = text(self.ask(&known.regexp_source, value));
        let keys = value
            .as_object()
            .and_then(|object| object.own_property_keys(self.context).ok());
        let is_plain = keys.is_some_and(|keys| keys.len() <= 1);
        let flags = if is_plain {
            text(self.ask(&known.regexp_flags, value))
        } else {
            String::new()
        };
        format!("/{source}/{flags}")
    }

    /// What ended a script or a call, in the shared words.
    fn abrupt(&mut self, error: JsError) -> Abrupt<JsValue> {
        let stack = |error: &JsError| Some(error.to_string());
        match error.as_engine() {
            // A stop runs the engine against its limits, also in a call that it takes for one that cannot fail, as it makes
            // the promise of a cell that awaits: its word for that is a broken invariant, and nothing is broken.
            Some(_) if self.known.host.stopper.is_pressed() => Abrupt::Stopped(stack(&error)),
            Some(_) if memory::is_tripped() => Abrupt::Memory,
            Some(BoaEngineError::RuntimeLimit(RuntimeLimitError::LoopIteration)) => {
                Abrupt::Stopped(stack(&error))
            }
            Some(BoaEngineError::RuntimeLimit(_)) => Abrupt::Recursion(stack(&error)),
            // boa's own word for a broken invariant; the placement takes it for what it is.
            Some(_) => std::panic::panic_any(error.to_string()),
            None => match error.into_opaque(self.context) {
                Ok(value) => Abrupt::Thrown(value),
                Err(_) => Abrupt::Stopped(None),
            },
        }
    }

    fn finished(&mut self, result: JsResult<JsValue>) -> Result<JsValue, Abrupt<JsValue>> {
        result.map_err(|error| self.abrupt(error))
    }
}

impl Realm for Entered<'_> {
    type Value = JsValue;
    type Key = PropertyKey;

    fn kind(&mut self, value: &JsValue) -> Kind {
        match value.variant() {
            JsVariant::Undefined => Kind::Undefined,
            JsVariant::Null => Kind::Null,
            JsVariant::Boolean(value) => Kind::Boolean(value),
            JsVariant::Integer32(number) => Kind::Number(f64::from(number)),
            JsVariant::Float64(number) => Kind::Number(number),
            JsVariant::BigInt(number) => Kind::BigInt(number.to_string()),
            JsVariant::String(text) => Kind::String(text_of(&text)),
            JsVariant::Symbol(symbol) => Kind::Symbol(description(&symbol)),
            JsVariant::Object(object) => Kind::Object(self.class(value, &object)),
        }
    }

    fn string_length(&self, value: &JsValue) -> Option<usize> {
        value.as_string().map(|text| text.len())
    }

    fn keys(&mut self, object: &JsValue) -> Vec<PropertyKey> {
        object
            .as_object()
            .and_then(|object| object.own_property_keys(self.context).ok())
            .unwrap_or_default()
    }

    fn has_more_keys(&mut self, array: &JsValue, elements: u32) -> bool {
        self.keys(array).len() > elements as usize + 1
    }

    fn key_name(&mut self, key: &PropertyKey) -> KeyName {
        match key {
            PropertyKey::String(text) => KeyName::String(text_of(text)),
            PropertyKey::Symbol(symbol) => KeyName::Symbol(description(symbol)),
            PropertyKey::Index(index) => KeyName::String(Text::Utf8(index.get().to_string())),
        }
    }

    fn key(&mut self, name: &str) -> PropertyKey {
        JsString::from(name).into()
    }

    fn property(&mut self, object: &JsValue, key: &PropertyKey) -> Option<Property<JsValue>> {
        let object = object.as_object()?;
        let descriptor = object.borrow().properties().get(key);
        descriptor.map(property_of)
    }

    fn element(&mut self, array: &JsValue, index: u32) -> Option<Property<JsValue>> {
        let object = array.as_object()?;
        if object.is::<TypedArray>() {
            let value = object.get(index, self.context).ok()?;
            return Some(Property {
                content: Content::Data(value),
                enumerable: true,
            });
        }
        let descriptor = object.borrow().properties().get(&index.into());
        descriptor.map(property_of)
    }

    fn prototype(&mut self, object: &JsValue) -> Option<JsValue> {
        object.as_object()?.prototype().map(JsValue::from)
    }

    fn identity(&mut self, object: &JsValue) -> usize {
        object
            .as_object()
            .map_or(0, |object| std::ptr::from_ref(object.as_ref()).addr())
    }

    fn entries(&mut self, collection: &JsValue, limit: usize) -> Vec<(JsValue, Option<JsValue>)> {
        let Some(object) = collection.as_object() else {
            return Vec::new();
        };
        if let Some(map) = object.downcast_ref::<OrderedMap<JsValue>>() {
            return map
                .iter()
                .take(limit)
                .map(|(key, value)| (key.clone(), Some(value.clone())))
                .collect();
        }
        match object.downcast_ref::<OrderedSet>() {
            Some(set) => set
                .iter()
                .take(limit)
                .map(|value| (value.clone(), None))
                .collect(),
            None => Vec::new(),
        }
    }

    fn promise(&mut self, value: &JsValue) -> Option<PromiseState<JsValue>> {
        let promise = JsPromise::from_object(value.as_object()?).ok()?;
        Some(match promise.state() {
            BoaPromiseState::Pending => PromiseState::Pending,
            BoaPromiseState::Fulfilled(value) => PromiseState::Fulfilled(value),
            BoaPromiseState::Rejected(reason) => PromiseState::Rejected(reason),
        })
    }

    fn proxy_target(&mut self, _: &JsValue) -> Option<JsValue> {
        None
    }

    fn unboxed(&mut self, boxed: &JsValue) -> Option<JsValue> {
        let object = boxed.as_object()?;
        if let Some(number) = object.downcast_ref::<f64>() {
            Some(JsValue::from(*number))
        } else if let Some(value) = object.downcast_ref::<bool>() {
            Some(JsValue::from(*value))
        } else if let Some(text) = object.downcast_ref::<JsString>() {
            Some(JsValue::from(text.clone()))
        } else if let Some(number) = object.downcast_ref::<JsBigInt>() {
            Some(JsValue::from(number.clone()))
        } else {
            object
                .downcast_ref::<JsSymbol>()
                .map(|symbol| JsValue::from(symbol.clone()))
        }
    }

    fn bytes(&mut self, buffer: &JsValue) -> Option<Vec<u8>> {
        let object = buffer.as_object()?;
        if let Some(buffer) = object.downcast_ref::<ArrayBuffer>() {
            return buffer.data().map(<[u8]>::to_vec);
        }
        let (inner, offset, length) = self.window(buffer)?;
        let inner = inner.as_object()?;
        let inner = inner.downcast_ref::<ArrayBuffer>()?;
        inner
            .data()?
            .get(offset..offset + length)
            .map(<[u8]>::to_vec)
    }

    fn stack(&mut self, error: &JsValue) -> Option<String> {
        let known = self.known;
        self.ask(&known.error_stack, error)?
            .as_string()
            .map(|text| text.to_std_string_lossy())
    }

    /// boa keeps the source of every function that it compiled but a class's constructor.
    fn function_source(&mut self, function: &JsValue) -> Option<String> {
        let known = self.known;
        let text = self.ask(&known.function_text, function)?.as_string()?;
        let text = text.to_std_string_lossy();
        let is_compiled = function.as_object()?.is::<OrdinaryFunction>();
        if is_compiled && text.ends_with("{ [native code] }") {
            return Some("class".to_owned());
        }
        Some(text)
    }

    fn is_intrinsic(&mut self, prototype: &JsValue, intrinsic: Intrinsic) -> bool {
        let constructors = self.context.intrinsics().constructors();
        let known = match intrinsic {
            Intrinsic::ObjectPrototype => constructors.object().prototype(),
            Intrinsic::ArrayPrototype => constructors.array().prototype(),
        };
        prototype
            .as_object()
            .is_some_and(|object| JsObject::equals(&object, &known))
    }

    fn running_files(&mut self) -> Vec<String> {
        self.context
            .stack_trace()
            .map(|frame| frame.position().path.to_string())
            .collect()
    }

    fn undefined(&mut self) -> JsValue {
        JsValue::undefined()
    }

    fn null(&mut self) -> JsValue {
        JsValue::null()
    }

    fn boolean(&mut self, value: bool) -> JsValue {
        JsValue::from(value)
    }

    fn number(&mut self, value: f64) -> JsValue {
        JsValue::from(value)
    }

    fn string(&mut self, text: &str) -> JsValue {
        JsValue::from(JsString::from(text))
    }

    fn string_of_units(&mut self, units: &[u16]) -> JsValue {
        JsValue::from(JsString::from(units))
    }

    fn array(&mut self, elements: Vec<JsValue>) -> JsValue {
        JsArray::from_iter(elements, self.context).into()
    }

    fn object(&mut self, properties: Vec<(String, JsValue)>) -> JsValue {
        let object = JsObject::with_object_proto(self.context.intrinsics());
        for (name, value) in properties {
            let property = PropertyDescriptor::builder()
                .value(value)
                .writable(true)
                .enumerable(true)
                .configurable(true);
            let key: PropertyKey = JsString::from(name).into();
            object.insert_property(key, property);
        }
        object.into()
    }

    fn buffer(&mut self, bytes: Vec<u8>) -> JsValue {
        let made = JsArrayBuffer::new(bytes.len(), self.context);
        match made {
            Ok(buffer) => {
                if let Some(mut data) = buffer.data_mut() {
                    data.copy_from_slice(&bytes);
                }
                buffer.into()
            }
            Err(_) => JsValue::undefined(),
        }
    }

    fn error(&mut self, class: ErrorClass, message: &str) -> JsValue {
        let error = match class {
            ErrorClass::Error => JsNativeError::error(),
            ErrorClass::TypeError => JsNativeError::typ(),
            ErrorClass::RangeError => JsNativeError::range(),
        };
        let object = error
            .with_message(message.to_owned())
            .into_opaque(self.context);
        object.into()
    }

    fn promise_answer(&mut self, call: u64) -> Option<JsValue> {
        let (promise, settlers) = JsPromise::new_pending(self.context);
        self.known.answers.borrow_mut().insert(call, settlers);
        Some(promise.into())
    }

    fn settle_answer(
        &mut self,
        call: u64,
        answer: Result<JsValue, JsValue>,
    ) -> Result<(), Abrupt<JsValue>> {
        let settlers = self.known.answers.borrow_mut().remove(&call);
        let Some(settlers) = settlers else {
            return Ok(());
        };
        let (settle, value) = match answer {
            Ok(value) => (settlers.resolve, value),
            Err(reason) => (settlers.reject, reason),
        };
        // The `then` of an object is looked for, which may be a getter of the program's. Nothing of a primitive is.
        if value.is_object() {
            self.call(&settle.into(), &[value])?;
            return Ok(());
        }
        let result = settle.call(&JsValue::undefined(), &[value], self.context);
        self.finished(result).map(drop)
    }

    fn overwrite(&mut self, buffer: &JsValue, bytes: &[u8]) {
        let Some((inner, offset, length)) = self.window(buffer) else {
            return;
        };
        let Some(inner) = inner
            .as_object()
            .and_then(|inner| JsArrayBuffer::from_object(inner).ok())
        else {
            return;
        };
        let Some(mut data) = inner.data_mut() else {
            return;
        };
        let count = length.min(bytes.len());
        if let Some(target) = data.get_mut(offset..offset + count) {
            target.copy_from_slice(&bytes[..count]);
        }
    }

    fn evaluate(&mut self, code: &str, file: &str) -> Result<JsValue, Abrupt<JsValue>> {
        let source = Source::from_bytes(code).with_path(Path::new(file));
        let script = Script::parse(source, None, self.context).and_then(|script| {
            script.codeblock(self.context)?;
            Ok(script)
        });
        match script {
            Ok(script) => {
                let result = self.known.shelter.run(Work::Script(script), self.context);
                self.finished(result)
            }
            Err(error) => Err(match self.abrupt(error) {
                Abrupt::Thrown(value) => Abrupt::Syntax(value),
                other => other,
            }),
        }
    }

    fn call(
        &mut self,
        function: &JsValue,
        arguments: &[JsValue],
    ) -> Result<JsValue, Abrupt<JsValue>> {
        let Some(function) = function.as_object() else {
            return Ok(JsValue::undefined());
        };
        let work = Work::Call(function, JsValue::undefined(), arguments.to_vec());
        let result = self.known.shelter.run(work, self.context);
        self.finished(result)
    }

    fn run_job(&mut self) -> Result<bool, Abrupt<JsValue>> {
        if self.known.executor.is_idle() {
            return Ok(false);
        }
        let result = self.known.shelter.run(Work::Job, self.context);
        self.finished(result).map(|ran| ran.to_boolean())
    }

    fn drop_jobs(&mut self) {
        self.known.executor.clear();
    }

    fn take_rejections(&mut self, except: Option<&JsValue>) -> Vec<(u64, JsValue)> {
        let rejections = std::mem::take(&mut *self.known.rejections.borrow_mut());
        let except = except.and_then(|promise| promise.as_object());
        let mut reasons = Vec::new();
        for (cell, promise) in rejections {
            let object = promise.upcast();
            if except
                .as_ref()
                .is_some_and(|except| JsObject::equals(except, &object))
            {
                continue;
            }
            if let Some(PromiseState::Rejected(reason)) = self.promise(&object.into()) {
                reasons.push((cell, reason));
            }
        }
        reasons
    }

    fn has_global(&mut self, name: &str) -> bool {
        let key: PropertyKey = JsString::from(name).into();
        self.context
            .global_object()
            .borrow()
            .properties()
            .contains_key(&key)
    }

    fn recover(&mut self) {
        memory::disarm();
        limits::reset(self.context);
    }

    fn is_out_of_memory(&mut self, _: Option<&JsValue>) -> bool {
        memory::is_tripped()
    }

    fn reserve_memory(&mut self) {
        // Nothing is compared after a cell.
    }

    fn is_full(&mut self) -> bool {
        boa_gc::force_collect();
        self.known.budget.is_some_and(Budget::is_nearly_used)
    }

    fn make_room(&mut self, _: bool) {
        // A budget looks at what is used whenever a cell begins.
    }
}

impl Entered<'_> {
    /// The buffer, the offset and the length of a view.
    fn window(&mut self, view: &JsValue) -> Option<(JsValue, usize, usize)> {
        let known = self.known;
        let is_data_view = view.as_object()?.is::<DataView>();
        let (buffer, offset, length) = if is_data_view {
            (&known.data_buffer, &known.data_offset, &known.data_bytes)
        } else {
            (&known.view_buffer, &known.view_offset, &known.view_bytes)
        };
        let inner = self.ask(buffer, view)?;
        Some((
            inner,
            self.ask_number(offset, view)? as usize,
            self.ask_number(length, view)? as usize,
        ))
    }
}

fn property_of(descriptor: PropertyDescriptor) -> Property<JsValue> {
    let enumerable = descriptor.enumerable().unwrap_or(false);
    let is_function = |value: Option<&JsValue>| value.is_some_and(|value| !value.is_undefined());
    let content = if descriptor.is_accessor_descriptor() {
        Content::Accessor {
            get: is_function(descriptor.get()),
            set: is_function(descriptor.set()),
        }
    } else {
        Content::Data(descriptor.value().cloned().unwrap_or_default())
    };
    Property {
        content,
        enumerable,
    }
}

fn length(array: &JsObject) -> u32 {
    let descriptor = array
        .borrow()
        .properties()
        .get(&js_string!("length").into());
    descriptor
        .and_then(|descriptor| descriptor.value().and_then(JsValue::as_number))
        .unwrap_or(0.0) as u32
}

/// The length of an arguments object, whose class boa keeps to itself: it has `length` and `callee` of its own.
fn arguments_length(object: &JsObject) -> Option<u32> {
    let object_ref = object.borrow();
    object_ref.properties().get(&js_string!("callee").into())?;
    drop(object_ref);
    Some(length(object))
}

fn text_of(text: &JsString) -> Text {
    match text.to_std_string() {
        Ok(text) => Text::Utf8(text),
        Err(_) => Text::Broken(text.to_vec()),
    }
}

fn description(symbol: &JsSymbol) -> String {
    symbol
        .description()
        .map(|text| text.to_std_string_lossy())
        .unwrap_or_default()
}
