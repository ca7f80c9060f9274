//! The few things of QuickJS's C interface that rquickjs has no word for: own properties without running code, classes,
//! bytes of buffers, compiling apart from running, the memory limit while a context is entered, and its version.
//!
//! Every other function takes values of the context it is given, on the thread that has entered it; `Ctx` and `Value` cannot be
//! had otherwise.

use std::ffi::CStr;
use std::ptr;

use rquickjs::{Ctx, Value, qjs};

use crate::engine::javascript::realm::{Content, Property};

/// The version of the library.
pub(super) fn version() -> &'static str {
    // SAFETY: it has no preconditions, and the text it returns is a constant of the library that ends with a null byte.
    let version = unsafe { CStr::from_ptr(qjs::JS_GetVersion()) };
    version.to_str().unwrap_or("unknown")
}

/// A property key.
pub(super) struct Key<'js> {
    context: Ctx<'js>,
    atom: qjs::JSAtom,
}

impl Clone for Key<'_> {
    fn clone(&self) -> Self {
        // SAFETY: the atom is alive, since this key owns a count of it.
        let atom = unsafe { qjs::JS_DupAtom(self.context.as_raw().as_ptr(), self.atom) };
        Self {
            context: self.context.clone(),
            atom,
        }
    }
}

impl Drop for Key<'_> {
    fn drop(&mut self) {
        // SAFETY: this key owns one count of the atom.
        unsafe { qjs::JS_FreeAtom(self.context.as_raw().as_ptr(), self.atom) };
    }
}

/// The key of a name.
pub(super) fn key<'js>(context: &Ctx<'js>, name: &str) -> Key<'js> {
    // SAFETY: the text is readable for its length; QuickJS copies it.
    let atom = unsafe {
        qjs::JS_NewAtomLen(
            context.as_raw().as_ptr(),
            name.as_ptr().cast(),
            name.len() as _,
        )
    };
    Key {
        context: context.clone(),
        atom,
    }
}

/// A key as a string or a symbol.
pub(super) fn key_value<'js>(key: &Key<'js>) -> Value<'js> {
    // SAFETY: the atom is alive; the new value is owned by whom it is given to.
    unsafe {
        let value = qjs::JS_AtomToValue(key.context.as_raw().as_ptr(), key.atom);
        Value::from_raw(key.context.clone(), value)
    }
}

/// The own keys of an object that is no proxy.
pub(super) fn own_keys<'js>(context: &Ctx<'js>, object: &Value<'js>) -> Vec<Key<'js>> {
    let mut table: *mut qjs::JSPropertyEnum = ptr::null_mut();
    let mut length = 0u32;
    let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_SYMBOL_MASK) as i32;
    let raw = context.as_raw().as_ptr();
    // SAFETY: both out pointers are valid; on success the table has `length` entries, each of which owns its atom, and is
    // to be freed by `js_free`.
    unsafe {
        if qjs::JS_GetOwnPropertyNames(raw, &mut table, &mut length, object.as_raw(), flags) != 0 {
            context.catch();
            return Vec::new();
        }
        let keys = (0..length as usize).map(|index| Key {
            context: context.clone(),
            atom: (*table.add(index)).atom,
        });
        let keys = keys.collect();
        qjs::js_free(raw, table.cast());
        keys
    }
}

/// How many enumerable properties with names an object has of its own.
pub(super) fn count_enumerable<'js>(context: &Ctx<'js>, object: &Value<'js>) -> u32 {
    let mut table: *mut qjs::JSPropertyEnum = ptr::null_mut();
    let mut length = 0u32;
    let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as i32;
    let raw = context.as_raw().as_ptr();
    // SAFETY: both out pointers are valid; on success the table has `length` entries and is freed with them.
    unsafe {
        if qjs::JS_GetOwnPropertyNames(raw, &mut table, &mut length, object.as_raw(), flags) != 0 {
            context.catch();
            return 0;
        }
        qjs::JS_FreePropertyEnum(raw, table, length);
    }
    length
}

/// An own property of an object that is no proxy.
pub(super) fn own_property<'js>(
    context: &Ctx<'js>,
    object: &Value<'js>,
    key: &Key<'js>,
) -> Option<Property<Value<'js>>> {
    let raw = context.as_raw().as_ptr();
    let mut descriptor = qjs::JSPropertyDescriptor {
        flags: 0,
        value: qjs::JS_UNDEFINED,
        getter: qjs::JS_UNDEFINED,
        setter: qjs::JS_UNDEFINED,
    };
    // SAFETY: the out pointer is valid; on success its three values are owned by whom they are given to.
    let (value, getter, setter) = unsafe {
        match qjs::JS_GetOwnProperty(raw, &mut descriptor, object.as_raw(), key.atom) {
            1 => {}
            0 => return None,
            _ => {
                context.catch();
                return None;
            }
        }
        (
            Value::from_raw(context.clone(), descriptor.value),
            Value::from_raw(context.clone(), descriptor.getter),
            Value::from_raw(context.clone(), descriptor.setter),
        )
    };
    let has = |flag: u32| descriptor.flags & flag as i32 != 0;
    let content = if has(qjs::JS_PROP_GETSET) {
        Content::Accessor {
            get: !getter.is_undefined(),
            set: !setter.is_undefined(),
        }
    } else {
        Content::Data(value)
    };
    Some(Property {
        content,
        enumerable: has(qjs::JS_PROP_ENUMERABLE),
    })
}

/// An own element of an array, or an element of a typed array.
pub(super) fn own_element<'js>(
    context: &Ctx<'js>,
    array: &Value<'js>,
    index: u32,
) -> Option<Property<Value<'js>>> {
    // SAFETY: as in `key`.
    let atom = unsafe { qjs::JS_NewAtomUInt32(context.as_raw().as_ptr(), index) };
    own_property(
        context,
        array,
        &Key {
            context: context.clone(),
            atom,
        },
    )
}

/// The number of an object's class.
pub(super) fn class(value: &Value<'_>) -> u32 {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_GetClassID(value.as_raw()) }
}

pub(super) fn is_map(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_IsMap(value.as_raw()) }
}

pub(super) fn is_set(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_IsSet(value.as_raw()) }
}

pub(super) fn is_date(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_IsDate(value.as_raw()) }
}

pub(super) fn is_regexp(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_IsRegExp(value.as_raw()) }
}

pub(super) fn is_typed_array(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_GetTypedArrayType(value.as_raw()) >= 0 }
}

pub(super) fn is_array_buffer(value: &Value<'_>) -> bool {
    // SAFETY: looks at the value alone.
    unsafe { qjs::JS_IsArrayBuffer(value.as_raw()) }
}

/// A number that tells objects apart while they live.
pub(super) fn identity(value: &Value<'_>) -> usize {
    // SAFETY: takes the pointer out of the value, without following it.
    unsafe { qjs::JS_VALUE_GET_PTR(value.as_raw()) }.addr()
}

/// The prototype of an object that is no proxy.
pub(super) fn prototype<'js>(context: &Ctx<'js>, object: &Value<'js>) -> Option<Value<'js>> {
    // SAFETY: the value that comes back is owned by whom it is given to.
    let prototype = unsafe {
        let raw = qjs::JS_GetPrototype(context.as_raw().as_ptr(), object.as_raw());
        Value::from_raw(context.clone(), raw)
    };
    prototype.is_object().then_some(prototype)
}

/// The object behind a proxy.
pub(super) fn proxy_target<'js>(context: &Ctx<'js>, proxy: &Value<'js>) -> Option<Value<'js>> {
    // SAFETY: the value that comes back is owned by whom it is given to.
    let target = unsafe {
        let raw = qjs::JS_GetProxyTarget(context.as_raw().as_ptr(), proxy.as_raw());
        Value::from_raw(context.clone(), raw)
    };
    if target.is_object() {
        Some(target)
    } else {
        context.catch();
        None
    }
}

/// The UTF-16 units of a string.
pub(super) fn units(context: &Ctx<'_>, text: &Value<'_>) -> Vec<u16> {
    let raw = context.as_raw().as_ptr();
    let mut length = 0;
    // SAFETY: what comes back has `length` units and is to be freed by its own function.
    unsafe {
        let start = qjs::JS_ToCStringLenUTF16(raw, &mut length, text.as_raw());
        if start.is_null() {
            context.catch();
            return Vec::new();
        }
        let units = std::slice::from_raw_parts(start, length as usize).to_vec();
        qjs::JS_FreeCStringUTF16(raw, start);
        units
    }
}

/// How many UTF-16 units a string has, without a copy of it.
pub(super) fn string_length(context: &Ctx<'_>, text: &Value<'_>) -> usize {
    let mut length = 0;
    // SAFETY: a string's length is its own and runs no code; `length` is written where there is one.
    unsafe {
        qjs::JS_GetLength(context.as_raw().as_ptr(), text.as_raw(), &mut length);
    }
    usize::try_from(length).unwrap_or(0)
}

/// A string of UTF-16 units.
pub(super) fn string_of_units<'js>(context: &Ctx<'js>, units: &[u16]) -> Value<'js> {
    // SAFETY: the units are readable for their length; QuickJS copies them.
    unsafe {
        let raw =
            qjs::JS_NewStringUTF16(context.as_raw().as_ptr(), units.as_ptr(), units.len() as _);
        Value::from_raw(context.clone(), raw)
    }
}

/// A new array buffer with these bytes.
pub(super) fn buffer<'js>(context: &Ctx<'js>, bytes: &[u8]) -> Value<'js> {
    // SAFETY: the bytes are readable for their length; QuickJS copies them.
    let buffer = unsafe {
        let raw =
            qjs::JS_NewArrayBufferCopy(context.as_raw().as_ptr(), bytes.as_ptr(), bytes.len() as _);
        Value::from_raw(context.clone(), raw)
    };
    if buffer.is_exception() {
        Value::new_undefined(context.clone())
    } else {
        buffer
    }
}

/// Lends the bytes of an array buffer; nothing of JavaScript runs meanwhile.
pub(super) fn with_bytes<'js, T>(
    context: &Ctx<'js>,
    buffer: &Value<'js>,
    look: impl FnOnce(&mut [u8]) -> T,
) -> Option<T> {
    let mut length = 0;
    // SAFETY: what comes back is the buffer's own memory of `length` bytes, which stays as long as no JavaScript runs; the
    // value keeps it alive, and nobody else looks at it meanwhile.
    unsafe {
        let start = qjs::JS_GetArrayBuffer(context.as_raw().as_ptr(), &mut length, buffer.as_raw());
        if start.is_null() {
            if length != 0 {
                context.catch();
            }
            return None;
        }
        Some(look(std::slice::from_raw_parts_mut(start, length as usize)))
    }
}

/// The buffer of a typed array, the offset in it, and how many bytes there are.
pub(super) fn typed_array<'js>(
    context: &Ctx<'js>,
    array: &Value<'js>,
) -> Option<(Value<'js>, usize, usize, usize)> {
    let (mut offset, mut length, mut size) = (0, 0, 0);
    // SAFETY: the out pointers are valid; the value that comes back is owned by whom it is given to.
    let buffer = unsafe {
        let raw = qjs::JS_GetTypedArrayBuffer(
            context.as_raw().as_ptr(),
            array.as_raw(),
            &mut offset,
            &mut length,
            &mut size,
        );
        Value::from_raw(context.clone(), raw)
    };
    if buffer.is_exception() {
        context.catch();
        return None;
    }
    Some((buffer, offset as usize, length as usize, size as usize))
}

/// Compiles a script; an exception is left with the context.
pub(super) fn compile<'js>(context: &Ctx<'js>, code: &str, file: &str) -> Option<Value<'js>> {
    let code = std::ffi::CString::new(code).ok()?;
    let file = std::ffi::CString::new(file).ok()?;
    let flags =
        qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    // SAFETY: both texts end with a zero, which the length of the code does not count; QuickJS copies what it keeps.
    let script = unsafe {
        let raw = qjs::JS_Eval(
            context.as_raw().as_ptr(),
            code.as_ptr(),
            code.as_bytes().len() as _,
            file.as_ptr(),
            flags as i32,
        );
        Value::from_raw(context.clone(), raw)
    };
    (!script.is_exception()).then_some(script)
}

/// Runs what was compiled; an exception is left with the context.
pub(super) fn run<'js>(context: &Ctx<'js>, script: &Value<'js>) -> Option<Value<'js>> {
    // SAFETY: the script is one of this context; `JS_EvalFunction` takes over the count that is added here.
    let value = unsafe {
        let raw = qjs::JS_DupValue(context.as_raw().as_ptr(), script.as_raw());
        let value = qjs::JS_EvalFunction(context.as_raw().as_ptr(), raw);
        Value::from_raw(context.clone(), value)
    };
    (!value.is_exception()).then_some(value)
}

/// The memory limit of a runtime, for its own interrupt handler, which has no context.
pub(super) struct MemoryLimit(*mut qjs::JSRuntime);

impl MemoryLimit {
    pub(super) fn of(context: &Ctx<'_>) -> Self {
        // SAFETY: asks a living context for its runtime.
        Self(unsafe { qjs::JS_GetRuntime(context.as_raw().as_ptr()) })
    }

    /// Sets it. To be called by the runtime's handler alone.
    pub(super) fn set(&self, bytes: usize) {
        // SAFETY: the runtime that calls its handler lives; sets a number of it.
        unsafe { qjs::JS_SetMemoryLimit(self.0, bytes as _) };
    }
}

/// Sets the memory limit while the context is entered, where rquickjs's own way is closed; 0 is none.
pub(super) fn set_memory_limit(context: &Ctx<'_>, bytes: usize) {
    // SAFETY: sets a number of the runtime.
    unsafe { qjs::JS_SetMemoryLimit(qjs::JS_GetRuntime(context.as_raw().as_ptr()), bytes as _) };
}

/// How much memory the runtime has allocated.
pub(super) fn memory_used(context: &Ctx<'_>) -> usize {
    let mut usage = std::mem::MaybeUninit::<qjs::JSMemoryUsage>::zeroed();
    // SAFETY: the out pointer is valid, and the struct consists of integers, so that zeroes are a value of it.
    let usage = unsafe {
        qjs::JS_ComputeMemoryUsage(
            qjs::JS_GetRuntime(context.as_raw().as_ptr()),
            usage.as_mut_ptr(),
        );
        usage.assume_init()
    };
    usage.malloc_size.max(0) as usize
}
