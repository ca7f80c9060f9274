//! Methods of strings that boa 0.22 runs in time that grows with the square of the text, natively and linear.
//!
//! boa starts each of its searches at the beginning of the string: splitting 1 MB into lines took five seconds, and nothing
//! could stop it.

use boa_engine::object::JsObject;
use boa_engine::object::builtins::JsArray;
use boa_engine::value::IntegerOrInfinity;
use boa_engine::{Context, JsArgs, JsResult, JsString, JsValue, JsVariant};

use super::builtins::guard;
use super::text::{Builder, Search, Watch, part};
use crate::engine::EngineError;

/// Where the search starts does not matter in texts up to this length.
const SHORT: usize = 256;

/// Replaces them in a fresh realm.
pub(super) fn replace(context: &mut Context) -> Result<(), EngineError> {
    let string = context.intrinsics().constructors().string().prototype();
    guard(context, &string, "split", 2, split)?;
    guard(context, &string, "replaceAll", 2, replace_all)?;
    guard(context, &string, "indexOf", 1, index_of)?;
    guard(context, &string, "includes", 1, includes)
}

fn split(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let separator = arguments.get_or_undefined(0);
    // A separator that is an object says itself how it splits.
    if this.is_null_or_undefined() || separator.is_undefined() || separator.is_object() {
        return original.call(this, arguments, context);
    }
    let text = this.to_string(context)?;
    let limit = match arguments.get_or_undefined(1) {
        limit if limit.is_undefined() => u32::MAX,
        limit => limit.to_u32(context)?,
    } as usize;
    let separator = separator.to_string(context)?;
    let parts = if separator.is_empty() {
        split_units(&text, limit, context)?
    } else {
        split_parts(&text, &separator, limit, context)?
    };
    Ok(JsArray::from_iter(parts, context).into())
}

/// One string for each UTF-16 unit.
fn split_units(text: &JsString, limit: usize, context: &Context) -> JsResult<Vec<JsValue>> {
    let mut watch = Watch::of(context);
    let mut units = Vec::new();
    for place in 0..text.len().min(limit) {
        watch.turn()?;
        units.push(part(text, place, place + 1).into());
    }
    Ok(units)
}

fn split_parts(
    text: &JsString,
    separator: &JsString,
    limit: usize,
    context: &Context,
) -> JsResult<Vec<JsValue>> {
    let mut watch = Watch::of(context);
    let search = Search::new(text.as_str(), separator.as_str());
    let mut parts: Vec<JsValue> = Vec::new();
    let mut start = 0;
    while parts.len() < limit {
        let Some(end) = search.next(start, &mut watch)? else {
            parts.push(part(text, start, text.len()).into());
            break;
        };
        parts.push(part(text, start, end).into());
        start = end + separator.len();
    }
    Ok(parts)
}

fn replace_all(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    let (pattern, replacement) = (arguments.get_or_undefined(0), arguments.get_or_undefined(1));
    // A pattern that is an object says itself how it replaces.
    if this.is_null_or_undefined() || pattern.is_object() {
        return original.call(this, arguments, context);
    }
    let text = this.to_string(context)?;
    let pattern = pattern.to_string(context)?;
    let replacement = match replacement.as_callable() {
        Some(function) => Replacement::Function(function),
        None => Replacement::Template(replacement.to_string(context)?),
    };
    let mut watch = Watch::of(context);
    // All places are found before a function runs.
    let places = places(&text, &pattern, &mut watch)?;
    let mut result = Builder::new();
    let mut end = 0;
    for place in places {
        watch.turn()?;
        append(&mut result, &text, end, place);
        match &replacement {
            Replacement::Template(template) => {
                expand(template, &text, place, pattern.len(), &mut result);
            }
            Replacement::Function(function) => {
                let arguments = [
                    pattern.clone().into(),
                    JsValue::from(place),
                    text.clone().into(),
                ];
                let replaced = function.call(&JsValue::undefined(), &arguments, context)?;
                result.append(replaced.to_string(context)?.as_str());
            }
        }
        result.check_length()?;
        end = place + pattern.len();
    }
    append(&mut result, &text, end, text.len());
    result.check_length()?;
    Ok(result.build().into())
}

enum Replacement {
    Function(JsObject),
    Template(JsString),
}

/// Where `pattern` stands, without overlaps; the empty one stands before every unit and at the end.
fn places(text: &JsString, pattern: &JsString, watch: &mut Watch) -> JsResult<Vec<usize>> {
    if pattern.is_empty() {
        return Ok((0..=text.len()).collect());
    }
    let search = Search::new(text.as_str(), pattern.as_str());
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(place) = search.next(from, watch)? {
        places.push(place);
        from = place + pattern.len();
    }
    Ok(places)
}

/// Appends a replacement, in which `$$`, `$&`, `` $` `` and `$'` stand for a dollar, the match, and what is before and after it.
fn expand(template: &JsString, text: &JsString, place: usize, length: usize, result: &mut Builder) {
    const DOLLAR: u16 = b'$' as u16;
    let template_units = template.as_str();
    let mut start = 0;
    while let Some(dollar) =
        (start..template.len()).find(|index| template_units.get(*index) == Some(DOLLAR))
    {
        append(result, template, start, dollar);
        let next = template_units.get(dollar + 1).unwrap_or_default();
        start = dollar + 2;
        match u8::try_from(next) {
            Ok(b'$') => result.ascii("$"),
            Ok(b'&') => append(result, text, place, place + length),
            Ok(b'`') => append(result, text, 0, place),
            Ok(b'\'') => append(result, text, place + length, text.len()),
            _ => {
                result.ascii("$");
                start = dollar + 1;
            }
        }
    }
    append(result, template, start, template.len());
}

fn append(result: &mut Builder, text: &JsString, start: usize, end: usize) {
    if let Some(part) = text.as_str().get(start..end) {
        result.append(part);
    }
}

fn index_of(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    match find(this, arguments, context)? {
        Some(place) => Ok(place.map_or(JsValue::from(-1), JsValue::from)),
        None => original.call(this, arguments, context),
    }
}

fn includes(
    this: &JsValue,
    arguments: &[JsValue],
    original: &JsObject,
    context: &mut Context,
) -> JsResult<JsValue> {
    match find(this, arguments, context)? {
        Some(place) => Ok(place.is_some().into()),
        None => original.call(this, arguments, context),
    }
}

/// Where a string stands in a long one; `None` when boa's own method does as well.
fn find(
    this: &JsValue,
    arguments: &[JsValue],
    context: &mut Context,
) -> JsResult<Option<Option<usize>>> {
    let (JsVariant::String(text), Some(needle)) = (
        this.variant(),
        arguments.first().and_then(JsValue::as_string),
    ) else {
        return Ok(None);
    };
    if text.len() <= SHORT || needle.is_empty() {
        return Ok(None);
    }
    let from = match arguments
        .get_or_undefined(1)
        .to_integer_or_infinity(context)?
    {
        IntegerOrInfinity::Integer(from) => usize::try_from(from).unwrap_or(0),
        IntegerOrInfinity::PositiveInfinity => text.len(),
        IntegerOrInfinity::NegativeInfinity => 0,
    };
    let search = Search::new(text.as_str(), needle.as_str());
    search.next(from, &mut Watch::of(context)).map(Some)
}
