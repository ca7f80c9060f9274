//! Assignments to constants: each target becomes a property of [`CONSTANT`], whose setter throws what the language says.
//! So the error comes when the assignment runs, with its position, and the right side is evaluated before.

use std::collections::HashSet;

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_semantic::Scoping;
use oxc_span::{GetSpan, Span};
use oxc_syntax::symbol::SymbolId;

use super::edits::Edits;

/// What a constant becomes where it is assigned to.
const CONSTANT: &str = "$warmcell.constant.";

/// Guards every assignment in `program` to one of `own`, the constants of this cell, and to a name that is not of this
/// cell and that `is_constant` knows.
pub(super) fn guard(
    program: &Program<'_>,
    scoping: &Scoping,
    own: &HashSet<SymbolId>,
    is_constant: &dyn Fn(&str) -> bool,
    edits: &mut Edits,
) {
    Guard {
        scoping,
        own,
        is_constant,
        edits,
    }
    .visit_program(program);
}

/// The constants that `program` declares at its top level.
pub(super) fn declared(program: &Program<'_>) -> HashSet<SymbolId> {
    let mut constants = HashSet::new();
    for statement in &program.body {
        let declaration = match statement {
            Statement::VariableDeclaration(declaration) => declaration,
            Statement::ExportDeclaration(export) => match &export.declaration {
                Declaration::VariableDeclaration(declaration) => declaration,
                _ => continue,
            },
            Statement::ImportDeclaration(import) => {
                for specifier in import.specifiers.iter().flatten() {
                    constants.extend(specifier.local().symbol_id.get());
                }
                continue;
            }
            _ => continue,
        };
        if declaration.kind == VariableDeclarationKind::Const {
            for declarator in &declaration.declarations {
                for identifier in declarator.id.get_binding_identifiers() {
                    constants.extend(identifier.symbol_id.get());
                }
            }
        }
    }
    constants
}

struct Guard<'e> {
    scoping: &'e Scoping,
    own: &'e HashSet<SymbolId>,
    is_constant: &'e dyn Fn(&str) -> bool,
    edits: &'e mut Edits,
}

impl Guard<'_> {
    fn guards(&self, identifier: &IdentifierReference<'_>) -> bool {
        let Some(reference) = identifier.reference_id.get() else {
            return false;
        };
        match self.scoping.get_reference(reference).symbol_id() {
            Some(symbol) => self.own.contains(&symbol),
            None => (self.is_constant)(&identifier.name),
        }
    }

    fn replace(&mut self, span: Span, name: &str) {
        self.edits
            .replace(span.start, span.end, format!("{CONSTANT}{name}"));
    }
}

impl<'a> Visit<'a> for Guard<'_> {
    fn visit_assignment_expression(&mut self, expression: &AssignmentExpression<'a>) {
        if expression.operator.is_logical()
            && let AssignmentTarget::AssignmentTargetIdentifier(identifier) = &expression.left
            && self.guards(identifier)
        {
            // `x ??= v` assigns only where it must: `x ??($warmcell.constant.x = v)`.
            let right = expression.right.span();
            let operator = expression
                .operator
                .as_str()
                .trim_end_matches('=')
                .to_owned();
            let assignment = format!("{operator}({CONSTANT}{}=", identifier.name);
            self.edits
                .replace(identifier.span.end, right.start, assignment);
            self.visit_expression(&expression.right);
            self.edits.insert(expression.span.end, ")");
            return;
        }
        walk::walk_assignment_expression(self, expression);
    }

    fn visit_simple_assignment_target(&mut self, target: &SimpleAssignmentTarget<'a>) {
        if let SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) = target
            && self.guards(identifier)
        {
            self.replace(identifier.span, &identifier.name);
            return;
        }
        walk::walk_simple_assignment_target(self, target);
    }

    fn visit_assignment_target_property_identifier(
        &mut self,
        property: &AssignmentTargetPropertyIdentifier<'a>,
    ) {
        if self.guards(&property.binding) {
            let name = &property.binding.name;
            self.edits.replace(
                property.binding.span.start,
                property.binding.span.end,
                format!("{name}:{CONSTANT}{name}"),
            );
        }
        if let Some(default) = &property.init {
            self.visit_expression(default);
        }
    }
}
