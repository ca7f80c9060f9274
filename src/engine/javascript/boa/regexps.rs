//! Methods of regular expressions that boa 0.22 runs in time that grows with the square of the text, natively and linear;
//! and their source as it was written.
//!
//! boa's matcher works on UTF-16 and so copies a text that is stored as Latin-1 for every single match. A long text is
//! given to it as UTF-16 to begin with. `split` is worse: at each unit of the text it looks for a match in all that follows.

use std::cell::RefCell;
use std::rc::Rc;

use boa_engine::builtins::regexp::RegExp;
use boa_engine::object::JsObject;
use boa_engine::object::builtins::JsArray;
use boa_engine::property::PropertyKey;
use boa_engine::string::{JsStr, JsStrVariant};
use boa_engine::{Context, JsArgs, JsResult, JsString, JsSymbol, JsValue, js_string};

use super::builtins::{getter, guard, guard_at, within};
use super::known::Known;
use super::text::{Watch, part};
use crate::engine::EngineError;

/// Copying texts up to this length does not matter.
const SHORT: usize = 256;

/// What splitting reads of the prototype.
const READ: [&str; 11] = [
    "constructor",
    "exec",
    "flags",
    "hasIndices",
    "global",
    "ignoreCase",
    "multiline",
    "dotAll",
    "unicode",
    "unicodeSets",
    "sticky",
];

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let regexp = context.intrinsics().constructors().regexp().prototype();
    guard(context, &regexp, "exec", 1, widened)?;
    guard(context, &regexp, "test", 1, widened)?;
    for (symbol, name, length) in [
        (JsSymbol::r#match(), "[Symbol.match]", 1),
        (JsSymbol::match_all(), "[Symbol.matchAll]", 1),
        (JsSymbol::replace(), "[Symbol.replace]", 2),
        (JsSymbol::search(), "[Symbol.search]", 1),
    ] {
        guard_at(context, &regexp, symbol.into(), name, length, widened)?;
    }
    within(
        context,
        &getter(&regexp, "source")?,
        "source",
        false,
        source,
    )?;
    let symbol = JsSymbol::split().into();
    guard_at(context, &regexp, symbol, "[Symbol.split]", 2, split)
}

/// What matching needs to know of a realm.
pub(super) struct RegExps {
    constructor: JsObject,
    prototype: JsObject,
    /// What the prototype and the constructor hold before any cell runs.
    properties: Vec<(Option<JsObject>, JsObject, PropertyKey)>,
    /// The text that was made UTF-16 last, as it was and as it became.
    last: RefCell<Option<(JsString, JsString)>>,
}

impl RegExps {
    /// Of a realm whose methods have been replaced.
    pub(super) fn of(context: &mut Context) -> Self {
        let regexp = context.intrinsics().constructors().regexp();
        let (constructor, prototype) = (regexp.constructor(), regexp.prototype());
        let mut properties = Vec::new();
        for name in READ {
            let key = JsString::from(name).into();
            properties.push((function_at(&prototype, &key), prototype.clone(), key));
        }
        let species = JsSymbol::species().into();
        properties.push((
            function_at(&constructor, &species),
            constructor.clone(),
            species,
        ));
        Self {
            constructor,
            prototype,
            properties,
            last: RefCell::new(None),
        }
    }

    /// Whether a regular expression does what its class did before any cell ran.
    fn is_plain(&self, regexp: &JsObject, context: &mut Context) -> JsResult<bool> {
        let is_own = regexp
            .prototype()
            .is_some_and(|prototype| JsObject::equals(&prototype, &self.prototype));
        Ok(is_own
            && regexp.own_property_keys(context)?.len() == 1
            && self
                .properties
                .iter()
                .all(|(function, holder, key)| function_at(holder, key) == *function))
    }

    /// The same text as UTF-16.
    fn widen(&self, text: JsString) -> JsString {
        let JsStrVariant::Latin1(bytes) = text.as_str().variant() else {
            return text;
        };
        if bytes.len() <= SHORT {
            return text;
        }
        let mut last = self.last.borrow_mut();
        let is_same = |known: &JsString| {
            matches!(known.as_str().variant(), JsStrVariant::Latin1(known)
                if known.as_ptr() == bytes.as_ptr() && known.len() == bytes.len())
        };
        if let Some((known, wide)) = &*last
            && is_same(known)
        {
            return wide.clone();
        }
        let units: Vec<u16> = bytes.iter().copied().map(u16::from).collect();
        let wide = JsString::from(JsStr::utf16(&units));
        *last = Some((text, wide.clone()));
        wide
    }

    /// Lets go of the text that was matched last.
    pub(super) fn forget(&self) {
        self.last.take();
    }
}

/// The function that is, or that gets, a property of an object's own.
fn function_at(holder: &JsObject, key: &PropertyKey) -> Option<JsObject> {
    let property = holder.borrow().properties().get(key)?;
    property
        .value()
        .or(property.get())
        .and_then(JsValue::as_object)
}

fn widened(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    if let Some(text) = arguments.first().and_then(JsValue::as_string)
        && text.len() > SHORT
        && let Some(known) = context.get_data::<Rc<Known>>()
    {
        let mut arguments = arguments.to_vec();
        arguments[0] = known.regexps.widen(text).into();
        return original.call(this, &arguments, context);
    }
    original.call(this, arguments, context)
}

/// boa puts a `\` before every `/`, also before one that has it, and in a class, where it needs none.
fn source(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    const SLASH: u16 = b'/' as u16;
    const ESCAPE: u16 = b'\\' as u16;
    let text = original.call(this, arguments, context)?;
    let Some(escaped) = text
        .as_string()
        .filter(|text| text.iter().any(|unit| unit == SLASH))
    else {
        return Ok(text);
    };
    let mut pattern: Vec<u16> = Vec::with_capacity(escaped.len());
    for unit in escaped.iter() {
        if unit == SLASH {
            pattern.pop();
        }
        pattern.push(unit);
    }
    let mut source = Vec::with_capacity(escaped.len());
    let (mut is_escaped, mut is_in_class) = (false, false);
    for unit in pattern {
        if unit == SLASH && !is_escaped && !is_in_class {
            source.push(ESCAPE);
        }
        if !is_escaped && (unit == u16::from(b'[') || unit == u16::from(b']')) {
            is_in_class = unit == u16::from(b'[');
        }
        is_escaped = unit == ESCAPE && !is_escaped;
        source.push(unit);
    }
    Ok(JsString::from(source.as_slice()).into())
}

fn split(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let known = context.get_data::<Rc<Known>>().cloned();
    let (Some(known), Some(regexp), Some(text)) = (
        known,
        this.as_object().filter(JsObject::is::<RegExp>),
        arguments.first().and_then(JsValue::as_string),
    ) else {
        return original.call(this, arguments, context);
    };
    if !known.regexps.is_plain(&regexp, context)? {
        return original.call(this, arguments, context);
    }
    let limit = match arguments.get_or_undefined(1) {
        limit if limit.is_undefined() => u32::MAX,
        limit => limit.to_u32(context)?,
    } as usize;
    let matcher = matcher(&known, &regexp, context)?;
    let parts = Splitting {
        known: &known,
        matcher,
        subject: known.regexps.widen(text.clone()),
        text,
    }
    .parts(limit, context)?;
    Ok(JsArray::from_iter(parts, context).into())
}

/// The same expression, made to look for matches from wherever it is told.
fn matcher(known: &Known, regexp: &JsObject, context: &mut Context) -> JsResult<JsObject> {
    let this = regexp.clone().into();
    let flags = known.regexp_flags.call(&this, &[], context)?;
    let flags = flags.to_string(context)?.to_std_string_lossy();
    let flags = format!("{}g", flags.replace(['g', 'y'], ""));
    known
        .regexps
        .constructor
        .construct(&[this, JsString::from(flags).into()], None, context)
}

/// One text that is being split.
struct Splitting<'k> {
    known: &'k Known,
    matcher: JsObject,
    /// What is matched, and what is cut: the same text.
    subject: JsString,
    text: JsString,
}

impl Splitting<'_> {
    fn parts(&self, limit: usize, context: &mut Context) -> JsResult<Vec<JsValue>> {
        let mut watch = Watch::of(context);
        let mut parts = Vec::new();
        if limit == 0 {
            return Ok(parts);
        }
        if self.text.is_empty() {
            if self.next(0, context)?.is_none() {
                parts.push(self.text.clone().into());
            }
            return Ok(parts);
        }
        let (mut start, mut from) = (0, 0);
        while let Some((found, end)) = self.next(from, context)? {
            watch.turn()?;
            let place = found
                .get(js_string!("index"), context)?
                .to_length(context)? as usize;
            if place >= self.text.len() {
                break;
            }
            if end == start {
                from = self.after(place, context)?;
                continue;
            }
            parts.push(part(&self.text, start, place).into());
            let groups = found
                .get(js_string!("length"), context)?
                .to_length(context)?;
            for group in 1..groups {
                if parts.len() == limit {
                    return Ok(parts);
                }
                parts.push(found.get(group, context)?);
            }
            if parts.len() >= limit {
                return Ok(parts);
            }
            start = end;
            from = end;
        }
        parts.push(part(&self.text, start, self.text.len()).into());
        Ok(parts)
    }

    /// The next match at or after `from`, and where it ends.
    fn next(&self, from: usize, context: &mut Context) -> JsResult<Option<(JsObject, usize)>> {
        let last = js_string!("lastIndex");
        self.matcher.set(last.clone(), from, true, context)?;
        let this = self.matcher.clone().into();
        let found = self
            .known
            .regexp_exec
            .call(&this, &[self.subject.clone().into()], context)?;
        let Some(found) = found.as_object() else {
            return Ok(None);
        };
        let end = self.matcher.get(last, context)?.to_length(context)? as usize;
        Ok(Some((found, end)))
    }

    /// The place after the character at `place`.
    fn after(&self, place: usize, context: &mut Context) -> JsResult<usize> {
        let is_unicode = self
            .matcher
            .get(js_string!("unicode"), context)?
            .to_boolean()
            || self
                .matcher
                .get(js_string!("unicodeSets"), context)?
                .to_boolean();
        if is_unicode && place < self.text.len() {
            return Ok(place + self.text.code_point_at(place).code_unit_count());
        }
        Ok(place + 1)
    }
}
