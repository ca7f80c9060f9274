//! [`Host`]: what a session's JavaScript can reach of the world, and the functions through which it does. Shared by the
//! engine's thread alone; both engines call it by the same names.

mod calls;
mod console;
mod display;
mod encoding;
pub(super) mod urls;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(super) use self::calls::{Calls, OpenCall};
use self::console::{Console, Method};
use super::inspect::{Detail, inspect};
use super::memory;
use super::realm::{Class, ErrorClass, Kind, Realm, Text};
use super::sources::Sources;
use super::stopper::Stopper;
use super::values::class_name;
use crate::engine::Opening;
use crate::outcome::Display;
use crate::output::{Origin, Sink, Stream};

/// What the functions of one session share.
pub(super) struct Host {
    pub(super) sink: Arc<dyn Sink>,
    pub(super) stopper: Arc<Stopper>,
    pub(super) sources: RefCell<Sources>,
    pub(super) timers: RefCell<super::timers::Timers>,
    console: RefCell<Console>,
    /// The cell that runs.
    cell: Cell<u64>,
    /// The cell in whose name code runs now: the one that runs, or the one that started the timer.
    acting: Cell<u64>,
    /// The cell's last expression was reached.
    pub(super) reached_tail: Cell<bool>,
    /// Nothing is printed: microtasks of a stopped cell are being run out.
    pub(super) is_muted: Cell<bool>,
    started: Instant,
    /// The calls of the host; none where it offers nothing.
    pub(super) calls: Option<Calls>,
}

/// The functions that JavaScript calls, by name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Function {
    Console(Method),
    /// Passes the value of a cell's last expression through.
    Tail,
    StartTimer,
    CancelTimer,
    /// Prints an error that nothing caught.
    Report,
    /// What `stack` of an error says: class, message, and the frames of the user's code as the user wrote it.
    Stack,
    /// The sort of a value: `Map`, `Error`, `Proxy`, or what `typeof` says.
    Sort,
    Now,
    TimeOrigin,
    FillRandom,
    Uuid,
    /// Evaluates a part of the prelude.
    Load,
    TextToBytes,
    BytesToText,
    Decode,
    EncodingName,
    ParseUrl,
    ChangeUrl,
    ParseQuery,
    FormatQuery,
    /// Calls a function of the host's. Gives the promise of its answer.
    CallHost,
    Display,
    ClearDisplay,
}

impl Function {
    /// All of them that the prelude gets besides the console's.
    const NAMED: [(&'static str, Self); 22] = [
        ("startTimer", Self::StartTimer),
        ("cancelTimer", Self::CancelTimer),
        ("report", Self::Report),
        ("stack", Self::Stack),
        ("sort", Self::Sort),
        ("now", Self::Now),
        ("timeOrigin", Self::TimeOrigin),
        ("fillRandom", Self::FillRandom),
        ("uuid", Self::Uuid),
        ("load", Self::Load),
        ("textToBytes", Self::TextToBytes),
        ("bytesToText", Self::BytesToText),
        ("decode", Self::Decode),
        ("encodingName", Self::EncodingName),
        ("parseUrl", Self::ParseUrl),
        ("changeUrl", Self::ChangeUrl),
        ("parseQuery", Self::ParseQuery),
        ("formatQuery", Self::FormatQuery),
        ("tail", Self::Tail),
        ("callHost", Self::CallHost),
        ("display", Self::Display),
        ("clearDisplay", Self::ClearDisplay),
    ];

    /// The name and the function of each, for an engine to make them.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, Self)> {
        let console = Method::ALL
            .iter()
            .map(|(name, method)| (*name, Self::Console(*method)));
        Self::NAMED.into_iter().chain(console)
    }
}

/// Why a function throws: a class of the language's and a message.
pub(super) type Complaint = (ErrorClass, String);

impl Host {
    pub(super) fn new(opening: &Opening, stopper: Arc<Stopper>) -> Rc<Self> {
        let value_bytes = opening.limits.value_bytes;
        let caller = opening.caller.clone();
        Rc::new(Self {
            calls: caller.map(|caller| Calls::new(caller, value_bytes)),
            sink: opening.sink.clone(),
            stopper,
            sources: RefCell::default(),
            timers: RefCell::default(),
            console: RefCell::default(),
            cell: Cell::new(0),
            acting: Cell::new(0),
            reached_tail: Cell::new(false),
            is_muted: Cell::new(false),
            started: Instant::now(),
        })
    }

    /// A cell starts.
    pub(super) fn begin(&self, cell: u64) {
        self.cell.set(cell);
        self.acting.set(cell);
        self.reached_tail.set(false);
        self.console.borrow_mut().begin();
    }

    /// Code runs in the name of `cell` from now on.
    pub(super) fn act_for(&self, cell: u64) {
        self.acting.set(cell);
    }

    /// The cell in whose name code runs.
    pub(super) fn acting(&self) -> u64 {
        self.acting.get()
    }

    /// Prints, in the name of the cell whose code runs.
    pub(super) fn print<R: Realm>(&self, realm: &mut R, stream: Stream, text: &str) {
        if self.is_muted.get() {
            return;
        }
        let origin = self.origin(realm);
        memory::uncounted(|| self.sink.write(stream, origin, text.as_bytes()));
    }

    /// Shows an entry. One of an earlier cell's timer comes with the outcome that is next, and says so.
    fn show<R: Realm>(&self, realm: &mut R, entry: &Display) {
        if self.is_muted.get() {
            return;
        }
        let origin = self.origin(realm);
        memory::uncounted(|| {
            let mut entry = entry.clone();
            if origin == Origin::Background {
                let metadata = entry.metadata.get_or_insert_default();
                metadata.insert("background".to_owned(), true.into());
            }
            self.sink.display(entry);
        });
    }

    /// In whose name code runs.
    ///
    /// A timer of an earlier cell may resume the cell that runs, by settling a promise it awaits: then a function of the
    /// running cell is being called, and its files say so.
    fn origin<R: Realm>(&self, realm: &mut R) -> Origin {
        let cell = self.cell.get();
        let is_own = self.acting.get() == cell || {
            let file = Sources::file_of(cell);
            realm.running_files().contains(&file)
        };
        if is_own {
            Origin::Cell
        } else {
            Origin::Background
        }
    }

    /// Prints an error that nothing caught.
    pub(super) fn report<R: Realm>(&self, realm: &mut R, what: &str, error: &R::Value) {
        let text = inspect(realm, &self.sources.borrow(), error, Detail::DISPLAY);
        self.print(realm, Stream::Stderr, &format!("{what} {text}\n"));
    }

    /// Runs one of the functions.
    pub(super) fn call<R: Realm>(
        &self,
        realm: &mut R,
        function: Function,
        arguments: &[R::Value],
    ) -> Result<R::Value, R::Value> {
        self.dispatch(realm, function, arguments)
            .map_err(|(class, message)| realm.error(class, &message))
    }

    fn dispatch<R: Realm>(
        &self,
        realm: &mut R,
        function: Function,
        arguments: &[R::Value],
    ) -> Result<R::Value, Complaint> {
        let mut given = Arguments {
            realm,
            values: arguments,
        };
        match function {
            Function::Console(method) => {
                let text = self.console.borrow_mut().run(
                    given.realm,
                    &self.sources.borrow(),
                    method,
                    arguments,
                );
                if let Some((stream, text)) = text {
                    self.print(given.realm, stream, &text);
                }
            }
            Function::Tail => {
                self.reached_tail.set(true);
                return Ok(given.value(0));
            }
            Function::StartTimer => {
                let delay = given.number(0);
                // A delay that is no number, or beyond what 32 bits hold, is one millisecond, as everywhere.
                let delay = if (1.0..=2_147_483_647.0).contains(&delay) {
                    delay.trunc()
                } else {
                    1.0
                };
                let delay = Duration::from_millis(delay as u64);
                let repeats = given.flag(1);
                let number = self
                    .timers
                    .borrow_mut()
                    .start(delay, repeats, self.acting.get());
                let Some(number) = number else {
                    return Err((ErrorClass::RangeError, "too many timers wait".to_owned()));
                };
                return Ok(realm.number(number as f64));
            }
            Function::CancelTimer => self.timers.borrow_mut().cancel(given.number(0) as u64),
            Function::Report => {
                let error = given.value(0);
                self.report(realm, "Uncaught", &error);
            }
            Function::Stack => {
                let error = given.value(0);
                if realm.kind(&error) == Kind::Object(Class::Error) {
                    let constructor = class_name(realm, &error);
                    let sources = self.sources.borrow();
                    let text = sources.error_text(realm, &error, constructor.as_deref());
                    return Ok(realm.string(&text));
                }
            }
            Function::Sort => {
                let value = given.value(0);
                let sort = sort(realm.kind(&value));
                return Ok(realm.string(sort));
            }
            Function::Now => return Ok(realm.number(self.started.elapsed().as_secs_f64() * 1e3)),
            Function::TimeOrigin => {
                let since_epoch = std::time::SystemTime::now()
                    .duration_since(std::time::UNIX_EPOCH)
                    .unwrap_or_default();
                return Ok(realm.number((since_epoch - self.started.elapsed()).as_secs_f64() * 1e3));
            }
            Function::FillRandom => {
                let buffer = given.value(0);
                let mut bytes = realm.bytes(&buffer).unwrap_or_default();
                random(&mut bytes)?;
                realm.overwrite(&buffer, &bytes);
                return Ok(buffer);
            }
            Function::Uuid => {
                let text = uuid()?;
                return Ok(realm.string(&text));
            }
            Function::Load => {
                let name = given.text(0);
                let Some(part) = super::prelude::part(&name) else {
                    return Err((
                        ErrorClass::Error,
                        format!("the prelude has no part `{name}`"),
                    ));
                };
                return realm
                    .evaluate(part, super::prelude::FILE)
                    .map_err(|_| (ErrorClass::Error, format!("`{name}` could not be loaded")));
            }
            Function::TextToBytes => return encoding::text_to_bytes(&mut given),
            Function::BytesToText => return encoding::bytes_to_text(&mut given),
            Function::Decode => return encoding::decode(&mut given),
            Function::EncodingName => return Ok(encoding::name(&mut given)),
            Function::ParseUrl => return Ok(urls::parse(&mut given)),
            Function::ChangeUrl => return Ok(urls::change(&mut given)),
            Function::ParseQuery => return Ok(urls::parse_query(&mut given)),
            Function::FormatQuery => return Ok(urls::format_query(&mut given)),
            Function::CallHost => {
                let (capability, action) = (given.text(0), given.text(1));
                let parameters = given.value(2);
                let Some(calls) = &self.calls else {
                    return Err((ErrorClass::Error, "the host offers nothing".to_owned()));
                };
                return calls.start(realm, capability, action, &parameters);
            }
            Function::Display => {
                let entry = display::entry(&mut given, &self.sources.borrow(), &|| {
                    self.stopper.is_pressed()
                })?;
                self.show(realm, &entry);
            }
            Function::ClearDisplay => {
                let wait = given.flag(0);
                if !self.is_muted.get() && self.origin(realm) == Origin::Cell {
                    memory::uncounted(|| self.sink.clear(wait));
                }
            }
        }
        Ok(realm.undefined())
    }
}

/// What a function was called with; what is missing is undefined.
struct Arguments<'a, R: Realm> {
    realm: &'a mut R,
    values: &'a [R::Value],
}

impl<R: Realm> Arguments<'_, R> {
    fn value(&mut self, index: usize) -> R::Value {
        match self.values.get(index) {
            Some(value) => value.clone(),
            None => self.realm.undefined(),
        }
    }

    fn kind(&mut self, index: usize) -> Kind {
        match self.values.get(index) {
            Some(value) => self.realm.kind(value),
            None => Kind::Undefined,
        }
    }

    fn number(&mut self, index: usize) -> f64 {
        match self.kind(index) {
            Kind::Number(number) => number,
            _ => f64::NAN,
        }
    }

    fn flag(&mut self, index: usize) -> bool {
        self.kind(index) == Kind::Boolean(true)
    }

    fn string(&mut self, index: usize) -> Text {
        match self.kind(index) {
            Kind::String(text) => text,
            _ => Text::Utf8(String::new()),
        }
    }

    fn text(&mut self, index: usize) -> String {
        self.string(index).into_lossy()
    }

    fn bytes(&mut self, index: usize) -> Vec<u8> {
        let value = self.value(index);
        self.realm.bytes(&value).unwrap_or_default()
    }
}

fn sort(kind: Kind) -> &'static str {
    match kind {
        Kind::Undefined => "undefined",
        Kind::Null => "null",
        Kind::Boolean(_) => "boolean",
        Kind::Number(_) => "number",
        Kind::BigInt(_) => "bigint",
        Kind::String(_) => "string",
        Kind::Symbol(_) => "symbol",
        Kind::Object(class) => match class {
            Class::Plain => "Object",
            Class::Array(_) => "Array",
            Class::Function => "function",
            Class::Error => "Error",
            Class::Date(_) => "Date",
            Class::RegExp(_) => "RegExp",
            Class::Map(_) => "Map",
            Class::Set(_) => "Set",
            Class::Promise => "Promise",
            Class::Proxy => "Proxy",
            Class::TypedArray(_) => "TypedArray",
            Class::ArrayBuffer(_) => "ArrayBuffer",
            Class::DataView => "DataView",
            Class::Boxed => "Boxed",
            Class::Arguments(_) => "Arguments",
            Class::Opaque => "Opaque",
        },
    }
}

fn random(bytes: &mut [u8]) -> Result<(), Complaint> {
    getrandom::fill(bytes).map_err(|error| {
        (
            ErrorClass::Error,
            format!("the system gave no random bytes: {error}"),
        )
    })
}

/// A random UUID, version 4.
fn uuid() -> Result<String, Complaint> {
    let mut bytes = [0; 16];
    random(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}
