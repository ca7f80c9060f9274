//! The names of what a path of names leads to: own and inherited properties, without asking a getter or a proxy.

use super::{BINDINGS_FILE, Cells};
use crate::engine::javascript::realm::{Class, KeyName, Kind, Realm, Text};

/// How many prototypes are gone through.
const PROTOTYPES: usize = 64;

impl Cells {
    /// The names of what `path` leads to from the session's names; those themselves, and the globals, for an empty path.
    pub(in crate::engine::javascript) fn members<R: Realm>(
        &self,
        realm: &mut R,
        path: &[String],
    ) -> Vec<String> {
        // `this` of a script is the global object, whatever a program made of `globalThis`.
        let Ok(global) = realm.evaluate("this", BINDINGS_FILE) else {
            return Vec::new();
        };
        let Some((first, rest)) = path.split_first() else {
            let mut names = self.bindings.names().to_vec();
            names.extend(names_of(realm, &global));
            return names;
        };
        let is_bound = self.bindings.names().contains(first);
        let mut value = if is_bound {
            self.read(realm, std::slice::from_ref(first)).pop()
        } else {
            member(realm, &global, &global, first)
        };
        for name in rest {
            value = value.and_then(|value| member(realm, &global, &value, name));
        }
        let chain = value.map(|value| chain(realm, &global, value));
        let mut names = Vec::new();
        for object in chain.unwrap_or_default() {
            names.extend(names_of(realm, &object));
        }
        names
    }
}

/// A property, unless a getter would have to be asked.
fn member<R: Realm>(
    realm: &mut R,
    global: &R::Value,
    value: &R::Value,
    name: &str,
) -> Option<R::Value> {
    let key = realm.key(name);
    for object in chain(realm, global, value.clone()) {
        if let Some(property) = realm.property(&object, &key) {
            return property.into_value();
        }
    }
    None
}

/// The objects in which the properties of a value are, as far as a proxy does not stand between.
fn chain<R: Realm>(realm: &mut R, global: &R::Value, value: R::Value) -> Vec<R::Value> {
    let class = match realm.kind(&value) {
        Kind::Object(_) => None,
        Kind::String(_) => Some("String"),
        Kind::Number(_) => Some("Number"),
        Kind::Boolean(_) => Some("Boolean"),
        Kind::BigInt(_) => Some("BigInt"),
        Kind::Symbol(_) => Some("Symbol"),
        Kind::Undefined | Kind::Null => return Vec::new(),
    };
    // A primitive has the properties of its class's prototype.
    let mut next = match class {
        None => Some(value),
        Some(class) => own(realm, global, class).and_then(|class| own(realm, &class, "prototype")),
    };
    let mut chain = Vec::new();
    while let Some(object) = next {
        match realm.kind(&object) {
            Kind::Object(Class::Proxy) => break,
            Kind::Object(_) if chain.len() < PROTOTYPES => {}
            _ => break,
        }
        next = realm.prototype(&object);
        chain.push(object);
    }
    chain
}

fn own<R: Realm>(realm: &mut R, object: &R::Value, name: &str) -> Option<R::Value> {
    match realm.kind(object) {
        Kind::Object(class) if class != Class::Proxy => {}
        _ => return None,
    }
    let key = realm.key(name);
    realm.property(object, &key)?.into_value()
}

/// The own names of an object that could stand behind a dot.
fn names_of<R: Realm>(realm: &mut R, object: &R::Value) -> Vec<String> {
    let keys = match realm.kind(object) {
        // The elements have numbers, and there may be millions of them.
        Kind::Object(Class::Array(1..)) => return vec!["length".to_owned()],
        Kind::Object(Class::TypedArray(1..)) => return Vec::new(),
        _ => realm.keys(object),
    };
    let names = keys.iter().filter_map(|key| match realm.key_name(key) {
        KeyName::String(Text::Utf8(name)) => is_name(&name).then_some(name),
        _ => None,
    });
    names.collect()
}

fn is_name(name: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
    name.starts_with(|first: char| is_part(first) && !first.is_numeric())
        && name.chars().all(is_part)
}
