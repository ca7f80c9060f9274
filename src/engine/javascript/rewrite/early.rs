//! Names that the top level reads before it declares them: each becomes a property of [`EARLY`], whose getter throws what
//! the language says. The session's binding, which the name is to the engine, would have what an earlier cell gave it.
//!
//! Statements of the top level run in the order in which they stand, so that it is enough to look at where a name stands.
//! What a function reads, it reads when it is called.

use std::collections::HashMap;

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_syntax::scope::ScopeFlags;
use oxc_syntax::symbol::SymbolId;

use super::edits::Edits;

/// What a name becomes where it is read too early.
const EARLY: &str = "$warmcell.early.";

/// Guards every such place in `program`.
pub(super) fn guard(program: &Program<'_>, scoping: &Scoping, edits: &mut Edits) {
    let declared = declared(program);
    if !declared.is_empty() {
        Guard {
            scoping,
            declared: &declared,
            edits,
        }
        .visit_program(program);
    }
}

/// What the top level declares, with the place from where on it may be read, if anything stands before that.
fn declared(program: &Program<'_>) -> HashMap<SymbolId, u32> {
    let mut declared = HashMap::new();
    for statement in &program.body {
        let declaration = match statement {
            Statement::ExportDeclaration(export) => Some(&export.declaration),
            other => other.as_declaration(),
        };
        let mut add = |identifier: &BindingIdentifier<'_>| {
            if let Some(symbol) = identifier.symbol_id.get() {
                declared.insert(symbol, identifier.span.start);
            }
        };
        match declaration {
            Some(Declaration::VariableDeclaration(variables)) if variables.kind.is_lexical() => {
                for declarator in &variables.declarations {
                    declarator
                        .id
                        .get_binding_identifiers()
                        .into_iter()
                        .for_each(&mut add);
                }
            }
            Some(Declaration::ClassDeclaration(class)) => class.id.iter().for_each(add),
            _ => {}
        }
    }
    declared
}

struct Guard<'e> {
    scoping: &'e Scoping,
    declared: &'e HashMap<SymbolId, u32>,
    edits: &'e mut Edits,
}

impl Guard<'_> {
    fn is_early(&self, identifier: &IdentifierReference<'_>) -> bool {
        identifier.reference_id.get().is_some_and(|reference| {
            let reference = self.scoping.get_reference(reference);
            let symbol = reference.symbol_id().filter(|_| !reference.is_write());
            symbol
                .and_then(|symbol| self.declared.get(&symbol))
                .is_some_and(|from| identifier.span.start < *from)
        })
    }
}

impl<'a> Visit<'a> for Guard<'_> {
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}

    fn visit_property_definition(&mut self, definition: &PropertyDefinition<'a>) {
        if definition.computed {
            self.visit_property_key(&definition.key);
        }
    }

    fn visit_identifier_reference(&mut self, identifier: &IdentifierReference<'a>) {
        if self.is_early(identifier) {
            self.edits.insert(identifier.span.start, EARLY);
        }
    }

    fn visit_object_property(&mut self, property: &ObjectProperty<'a>) {
        if property.shorthand
            && let Expression::Identifier(identifier) = &property.value
            && self.is_early(identifier)
        {
            let text = format!(":{EARLY}{}", identifier.name);
            self.edits.insert(property.span.end, text);
            return;
        }
        walk::walk_object_property(self, property);
    }
}
