//! [`Realm`]: what both JavaScript engines can do, in the words of neither. Everything above it (running cells, values,
//! the inspector, the console) is written once.
//!
//! Reading never runs the program's code: no getter, no proxy trap, no method that a cell may have replaced.

/// A JavaScript engine while it is entered: values live as long as the realm they come from.
pub(super) trait Realm {
    /// A value of the engine's, cheap to clone.
    type Value: Clone;
    /// A property key of the engine's.
    type Key: Clone;

    // Reading.

    /// What kind of value it is.
    fn kind(&mut self, value: &Self::Value) -> Kind;
    /// How many UTF-16 units a string has, without a copy of it; nothing for any other value.
    fn string_length(&self, value: &Self::Value) -> Option<usize>;
    /// The own keys of an object that is no proxy, in the language's order.
    fn keys(&mut self, object: &Self::Value) -> Vec<Self::Key>;
    /// Whether an array has keys of its own besides `length` and those of so many elements: cheaper than asking for them.
    fn has_more_keys(&mut self, array: &Self::Value, elements: u32) -> bool;
    /// What a key is called.
    fn key_name(&mut self, key: &Self::Key) -> KeyName;
    /// The key of a name.
    fn key(&mut self, name: &str) -> Self::Key;
    /// An own property of an object that is no proxy.
    fn property(&mut self, object: &Self::Value, key: &Self::Key) -> Option<Property<Self::Value>>;
    /// The element of an array or a typed array, where it is an own data property.
    fn element(&mut self, array: &Self::Value, index: u32) -> Option<Property<Self::Value>>;
    /// The prototype of an object that is no proxy.
    fn prototype(&mut self, object: &Self::Value) -> Option<Self::Value>;
    /// A number that tells objects apart while they live.
    fn identity(&mut self, object: &Self::Value) -> usize;
    /// At most `limit` entries of a `Map` (key and value) or a `Set` (value and nothing).
    fn entries(
        &mut self,
        collection: &Self::Value,
        limit: usize,
    ) -> Vec<(Self::Value, Option<Self::Value>)>;
    /// What a promise has come to; `None` for what is no promise.
    fn promise(&mut self, value: &Self::Value) -> Option<PromiseState<Self::Value>>;
    /// The object behind a proxy; `None` once it is revoked.
    fn proxy_target(&mut self, proxy: &Self::Value) -> Option<Self::Value>;
    /// The primitive inside `new Number(1)` and its like.
    fn unboxed(&mut self, boxed: &Self::Value) -> Option<Self::Value>;
    /// The bytes of an array buffer, a typed array or a data view.
    fn bytes(&mut self, buffer: &Self::Value) -> Option<Vec<u8>>;
    /// The stack an error was made with, as the engine writes it: frames alone, one a line.
    fn stack(&mut self, error: &Self::Value) -> Option<String>;
    /// The source text of a function.
    fn function_source(&mut self, function: &Self::Value) -> Option<String>;
    /// Whether `prototype` is the one that object literals (or array literals) are born with.
    fn is_intrinsic(&mut self, prototype: &Self::Value, intrinsic: Intrinsic) -> bool;
    /// The files of the functions that are being called, innermost first.
    fn running_files(&mut self) -> Vec<String>;

    // Making.

    fn undefined(&mut self) -> Self::Value;
    fn null(&mut self) -> Self::Value;
    fn boolean(&mut self, value: bool) -> Self::Value;
    fn number(&mut self, value: f64) -> Self::Value;
    fn string(&mut self, text: &str) -> Self::Value;
    /// A string of UTF-16 units, which may hold lone surrogates.
    fn string_of_units(&mut self, units: &[u16]) -> Self::Value;
    fn array(&mut self, elements: Vec<Self::Value>) -> Self::Value;
    /// An object with plain properties.
    fn object(&mut self, properties: Vec<(String, Self::Value)>) -> Self::Value;
    /// An array buffer.
    fn buffer(&mut self, bytes: Vec<u8>) -> Self::Value;
    /// An error of one of the language's classes.
    fn error(&mut self, class: ErrorClass, message: &str) -> Self::Value;
    /// A promise of the answer to a call of the host, which is kept by the call's number until it is settled. None where the
    /// engine has no memory left for it.
    fn promise_answer(&mut self, call: u64) -> Option<Self::Value>;
    /// Settles such a promise: it is fulfilled with a value, or rejected with a reason.
    fn settle_answer(
        &mut self,
        call: u64,
        answer: Result<Self::Value, Self::Value>,
    ) -> Result<(), Abrupt<Self::Value>>;
    /// Writes `bytes` over the beginning of a typed array; what does not fit is left out.
    fn overwrite(&mut self, buffer: &Self::Value, bytes: &[u8]);

    // Running.

    /// Runs a script in the global scope.
    fn evaluate(&mut self, code: &str, file: &str) -> Result<Self::Value, Abrupt<Self::Value>>;
    /// Calls a function without a `this`.
    fn call(
        &mut self,
        function: &Self::Value,
        arguments: &[Self::Value],
    ) -> Result<Self::Value, Abrupt<Self::Value>>;
    /// Runs the next microtask; false when none waits.
    fn run_job(&mut self) -> Result<bool, Abrupt<Self::Value>>;
    /// Drops every microtask that waits, without running it.
    fn drop_jobs(&mut self);
    /// The reasons of promises that were rejected since the last call and that nothing handles.
    /// `except` is the promise of the cell itself. With each comes the cell in whose name the code ran that rejected it.
    fn take_rejections(&mut self, except: Option<&Self::Value>) -> Vec<(u64, Self::Value)>;
    /// Whether the global object has a property of this name.
    fn has_global(&mut self, name: &str) -> bool;
    /// Makes the engine fit to run again after a cell, however that ended.
    fn recover(&mut self);
    /// Whether the cell has run out of its memory budget: by what the engine noted, or by the reason of a promise that it
    /// left rejected.
    fn is_out_of_memory(&mut self, reason: Option<&Self::Value>) -> bool;
    /// Gives the engine some memory beyond its budget, until it recovers.
    fn reserve_memory(&mut self);
    /// Whether what is alive nearly fills the memory budget.
    fn is_full(&mut self) -> bool;
    /// Says whether later cells have a little more than the budget, since what earlier ones have bound fills it: enough to free that.
    fn make_room(&mut self, is_full: bool);
}

/// A value without what is inside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Undefined,
    Null,
    Boolean(bool),
    Number(f64),
    /// Its decimal digits.
    BigInt(String),
    String(Text),
    /// Its description.
    Symbol(String),
    Object(Class),
}

/// The sort of an object, by what it is inside and not by what it says of itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Class {
    /// Nothing but properties: literals, class instances, and whatever has no sort of its own.
    Plain,
    Array(u32),
    Function,
    Error,
    /// Its time value.
    Date(f64),
    /// As a literal: `/a/g`.
    RegExp(String),
    Map(usize),
    Set(usize),
    Promise,
    Proxy,
    TypedArray(u32),
    ArrayBuffer(usize),
    DataView,
    /// A primitive in an object.
    Boxed,
    Arguments(u32),
    /// Anything else: its inside cannot be seen (`WeakMap`, generators, iterators).
    Opaque,
}

/// A JavaScript string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Utf8(String),
    /// It holds a surrogate without its partner.
    Broken(Vec<u16>),
}

impl Text {
    /// The text with U+FFFD for what is broken.
    pub(super) fn into_lossy(self) -> String {
        match self {
            Self::Utf8(text) => text,
            Self::Broken(units) => String::from_utf16_lossy(&units),
        }
    }
}

/// What a property key is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyName {
    String(Text),
    /// Its description.
    Symbol(String),
}

/// An own property.
#[derive(Clone, Debug)]
pub(super) struct Property<V> {
    pub(super) content: Content<V>,
    pub(super) enumerable: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Content<V> {
    Data(V),
    Accessor { get: bool, set: bool },
}

impl<V> Property<V> {
    /// Its value, unless a getter would have to be asked.
    pub(super) fn into_value(self) -> Option<V> {
        match self.content {
            Content::Data(value) => Some(value),
            Content::Accessor { .. } => None,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum PromiseState<V> {
    Pending,
    Fulfilled(V),
    Rejected(V),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intrinsic {
    ObjectPrototype,
    ArrayPrototype,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ErrorClass {
    Error,
    TypeError,
    RangeError,
}

/// How running something ended when it did not end with a value.
#[derive(Clone, Debug)]
pub(super) enum Abrupt<V> {
    /// It threw.
    Thrown(V),
    /// The engine could not compile it: nothing ran.
    Syntax(V),
    /// The interrupter stopped it, here.
    Stopped(Option<String>),
    /// It ran out of stack in a way the program cannot catch, here.
    #[cfg_attr(
        not(feature = "javascript"),
        expect(dead_code, reason = "on QuickJS it is an error like any other")
    )]
    Recursion(Option<String>),
    /// It ran out of its memory budget.
    Memory,
}
