//! Top-level declarations become assignments to the session's bindings, which live outside the cell; the walk notes which
//! names those are.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use super::edits::Edits;

/// How a name was declared. Only [`Constant`](Self::Constant) changes what later cells may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine::javascript) enum DeclarationKind {
    Variable,
    Constant,
    Function,
    Class,
}

/// The names a cell declares, in their order.
#[derive(Debug, Default)]
pub(super) struct Declared(pub(super) Vec<(String, DeclarationKind)>);

impl Declared {
    pub(super) fn add(&mut self, name: &str, kind: DeclarationKind) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = kind,
            None => self.0.push((name.to_owned(), kind)),
        }
    }

    fn add_all(&mut self, declaration: &VariableDeclaration<'_>, kind: DeclarationKind) {
        for declarator in &declaration.declarations {
            for identifier in declarator.id.get_binding_identifiers() {
                self.add(&identifier.name, kind);
            }
        }
    }
}

/// `let a = 1, b` becomes `void(a = 1, b=void 0)`: same columns, no value of its own.
pub(super) fn variables(
    declaration: &VariableDeclaration<'_>,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    let kind = match declaration.kind {
        VariableDeclarationKind::Const => DeclarationKind::Constant,
        _ => DeclarationKind::Variable,
    };
    declared.add_all(declaration, kind);
    assign(declaration, edits);
}

/// The first `enum E` of a cell becomes `var E = function (E) {..}(E || {})`, which would add to what an earlier cell had
/// made of `E`.
pub(super) fn fresh_enum(declaration: &VariableDeclaration<'_>, edits: &mut Edits) {
    if let [declarator] = declaration.declarations.as_slice()
        && declaration.kind == VariableDeclarationKind::Var
        && let Some(name) = declarator.id.get_identifier_name()
        && let Some(Expression::CallExpression(call)) = &declarator.init
        && let [Argument::LogicalExpression(merged)] = call.arguments.as_slice()
        && merged.left.is_specific_id(&name)
        && matches!(&merged.right, Expression::ObjectExpression(object) if object.properties.is_empty())
    {
        edits.replace(merged.span.start, merged.span.end, "{}");
    }
}

/// A function declaration becomes an assignment of the same function without a name of its own, so that what it calls by
/// its name is the session's binding; the assignment gives it its name. It goes to the front where something might use it
/// before.
pub(super) fn function(
    function: &Function<'_>,
    hoist: bool,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    let Some(id) = &function.id else { return };
    declared.add(&id.name, DeclarationKind::Function);
    edits.replace(id.span.start, id.span.end, "");
    let opening = format!("void({}=", id.name);
    if hoist {
        edits.hoist(function.span.start, function.span.end, opening, ");");
    } else {
        edits.insert(function.span.start, opening);
        edits.insert(function.span.end, ");");
    }
}

/// A class keeps its own name inside, as the language has it, and is assigned to the session's binding.
pub(super) fn class(class: &Class<'_>, edits: &mut Edits, declared: &mut Declared) {
    let Some(id) = &class.id else { return };
    declared.add(&id.name, DeclarationKind::Class);
    edits.insert(class.span.start, format!("void({}=", id.name));
    edits.insert(class.span.end, ");");
}

/// The `var` declarations inside the blocks and loops of a top-level statement, which belong to the whole session.
pub(super) fn nested_variables(
    statement: &Statement<'_>,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    Nested { edits, declared }.visit_statement(statement);
}

struct Nested<'e> {
    edits: &'e mut Edits,
    declared: &'e mut Declared,
}

impl Nested<'_> {
    /// The head of a loop takes an assignment target as it is: only the keyword goes.
    fn head(&mut self, declaration: &VariableDeclaration<'_>) {
        if declaration.kind == VariableDeclarationKind::Var {
            self.declared
                .add_all(declaration, DeclarationKind::Variable);
            let start = declaration.span.start;
            self.edits.replace(start, start + 3, "   ");
        }
    }

    fn loop_head(&mut self, left: &ForStatementLeft<'_>) {
        if let ForStatementLeft::VariableDeclaration(declaration) = left {
            self.head(declaration);
        }
    }
}

impl<'a> Visit<'a> for Nested<'_> {
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_expression(&mut self, _: &Expression<'a>) {}

    fn visit_class(&mut self, _: &Class<'a>) {}

    fn visit_for_statement(&mut self, statement: &ForStatement<'a>) {
        if let Some(ForStatementInit::VariableDeclaration(declaration)) = &statement.init {
            self.head(declaration);
        }
        self.visit_statement(&statement.body);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.loop_head(&statement.left);
        self.visit_statement(&statement.body);
    }

    fn visit_for_in_statement(&mut self, statement: &ForInStatement<'a>) {
        self.loop_head(&statement.left);
        self.visit_statement(&statement.body);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        if declaration.kind == VariableDeclarationKind::Var {
            self.declared
                .add_all(declaration, DeclarationKind::Variable);
            assign(declaration, self.edits);
        }
        walk::walk_variable_declaration(self, declaration);
    }
}

fn assign(declaration: &VariableDeclaration<'_>, edits: &mut Edits) {
    let keyword = match declaration.kind {
        VariableDeclarationKind::Const => 5,
        _ => 3,
    };
    let start = declaration.span.start;
    edits.replace(start, start + keyword, "void(");
    let mut end = start + keyword;
    for declarator in &declaration.declarations {
        end = declarator.span.end;
        NumericKeys(edits).visit_binding_pattern(&declarator.id);
        // `let x` sets it to undefined each time; `var x` leaves it as it is.
        if declarator.init.is_none() && declaration.kind != VariableDeclarationKind::Var {
            edits.insert(declarator.id.span().end, "=void 0");
        }
    }
    edits.insert(end, ")");
}

/// boa 0.22 takes no number for a key with a default in an assignment, as it does in a declaration: a text says the same.
struct NumericKeys<'e>(&'e mut Edits);

impl<'a> Visit<'a> for NumericKeys<'_> {
    fn visit_binding_property(&mut self, property: &BindingProperty<'a>) {
        if let PropertyKey::NumericLiteral(number) = &property.key
            && number.value.fract() == 0.0
            && number.value.abs() < 1e15
        {
            let text = format!("'{}'", number.value);
            self.0.replace(number.span.start, number.span.end, text);
        }
        walk::walk_binding_property(self, property);
    }

    fn visit_expression(&mut self, _: &Expression<'a>) {}
}
