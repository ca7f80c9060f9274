//! The names a session has bound: declared apart from its cells, so that closures and later cells share one variable.

use std::collections::HashMap;

use super::{BINDINGS_FILE, Cells};
use crate::engine::javascript::inspect::{Detail, inspect};
use crate::engine::javascript::realm::{Abrupt, Class, Kind, Realm};
use crate::engine::javascript::rewrite::{self, DeclarationKind};
use crate::engine::javascript::values;
use crate::engine::{EngineError, Variable};
use crate::outcome::{Failure, FailureKind, Json};

/// The names, in their order, and how each was declared.
#[derive(Default)]
pub(super) struct Bindings {
    kinds: HashMap<String, DeclarationKind>,
    order: Vec<String>,
}

impl Bindings {
    fn insert(&mut self, name: &str, kind: DeclarationKind) {
        if self.kinds.insert(name.to_owned(), kind).is_none() {
            self.order.push(name.to_owned());
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.order
    }

    pub(super) fn is_constant(&self, name: &str) -> bool {
        self.kinds.get(name) == Some(&DeclarationKind::Constant)
    }
}

impl Cells {
    /// Declares what the cell declares and the session does not have yet. Gives the names whose values are the cell's own.
    pub(super) fn declare<R: Realm>(
        &mut self,
        realm: &mut R,
        declared: &[(String, DeclarationKind)],
        assigned: &[String],
    ) -> Result<Vec<String>, Failure> {
        let mut fresh: Vec<&str> = Vec::new();
        let mut own = Vec::new();
        for (name, _) in declared {
            if !self.bindings.kinds.contains_key(name) {
                fresh.push(name);
            }
            own.push(name.clone());
        }
        for name in assigned {
            if !self.bindings.kinds.contains_key(name) && !realm.has_global(name) {
                fresh.push(name);
                own.push(name.clone());
            }
        }
        if !fresh.is_empty() {
            let script = format!("let {};", fresh.join(","));
            if let Err(abrupt) = realm.evaluate(&script, BINDINGS_FILE) {
                if matches!(abrupt, Abrupt::Memory) {
                    return Err(self.out_of_memory());
                }
                return Err(Failure::new(
                    FailureKind::Syntax,
                    format!(
                        "cannot declare `{}`: the language itself has that name",
                        fresh.join("`, `")
                    ),
                ));
            }
        }
        for name in fresh {
            self.bindings.insert(name, DeclarationKind::Variable);
        }
        for (name, kind) in declared {
            self.bindings.insert(name, *kind);
        }
        Ok(own)
    }

    /// A constant that its failed cell never set may be assigned to: it could not be used for anything else.
    pub(super) fn loosen_unset_constants<R: Realm>(
        &mut self,
        realm: &mut R,
        declared: &[(String, DeclarationKind)],
    ) {
        let constants = declared
            .iter()
            .filter(|(_, kind)| *kind == DeclarationKind::Constant);
        let names: Vec<String> = constants.map(|(name, _)| name.clone()).collect();
        for (name, value) in names.iter().zip(self.read(realm, &names)) {
            if realm.kind(&value) == Kind::Undefined {
                self.bindings.insert(name, DeclarationKind::Variable);
            }
        }
    }

    /// What the names are bound to.
    pub(super) fn read<R: Realm>(&self, realm: &mut R, names: &[String]) -> Vec<R::Value> {
        if names.is_empty() {
            return Vec::new();
        }
        let Ok(array) = realm.evaluate(&format!("[{}]", names.join(",")), BINDINGS_FILE) else {
            return Vec::new();
        };
        (0..names.len() as u32)
            .map_while(|index| {
                realm
                    .element(&array, index)
                    .and_then(|property| property.into_value())
            })
            .collect()
    }

    /// The names the session has bound.
    pub(in crate::engine::javascript) fn inspect<R: Realm>(&self, realm: &mut R) -> Vec<Variable> {
        let sources = self.host.sources.borrow();
        let values = self.read(realm, &self.bindings.order);
        let mut variables = Vec::with_capacity(values.len());
        for (name, value) in self.bindings.order.iter().zip(values) {
            variables.push(Variable {
                name: name.clone(),
                type_name: type_name(realm, &value),
                preview: inspect(realm, &sources, &value, Detail::PREVIEW),
            });
        }
        variables
    }

    /// Binds a name to a host's value.
    pub(in crate::engine::javascript) fn bind<R: Realm>(
        &mut self,
        realm: &mut R,
        name: &str,
        value: &Json,
    ) -> Result<(), EngineError> {
        if !rewrite::is_bindable(name) {
            return Err(EngineError(format!(
                "`{name}` cannot be the name of a variable"
            )));
        }
        let value = values::from_json(realm, value.as_str()).map_err(EngineError)?;
        let declared = [(name.to_owned(), DeclarationKind::Variable)];
        self.declare(realm, &declared, &[])
            .map_err(|failure| EngineError(failure.message))?;
        // No name of a parameter, which could be the one to be bound.
        let setter = format!("(function () {{ {name} = arguments[0] }})");
        let setter = realm.evaluate(&setter, BINDINGS_FILE);
        let is_set = setter
            .and_then(|setter| realm.call(&setter, &[value]))
            .is_ok();
        if is_set {
            Ok(())
        } else {
            Err(EngineError(format!("`{name}` could not be set")))
        }
    }
}

/// What a value is, in a word.
fn type_name<R: Realm>(realm: &mut R, value: &R::Value) -> String {
    match realm.kind(value) {
        Kind::Undefined => "undefined".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Boolean(_) => "boolean".to_owned(),
        Kind::Number(_) => "number".to_owned(),
        Kind::BigInt(_) => "bigint".to_owned(),
        Kind::String(_) => "string".to_owned(),
        Kind::Symbol(_) => "symbol".to_owned(),
        Kind::Object(Class::Function) => "function".to_owned(),
        Kind::Object(Class::Proxy) => "Proxy".to_owned(),
        Kind::Object(_) => values::class_name(realm, value).unwrap_or_else(|| "Object".to_owned()),
    }
}
