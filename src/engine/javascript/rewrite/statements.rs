//! The statements of a cell's top level: what declares gives its names to the session, and the last expression is the value.

use oxc_ast::ast::*;
use oxc_semantic::Scoping;
use oxc_span::GetSpan;

use super::declarations::{self, Declared};
use super::edits::Edits;
use super::{Form, TAIL, modules};

/// Edits the top-level statements in their order; of a program that was TypeScript with the scopes in which names are looked
/// up.
pub(super) fn edit(
    text: &str,
    program: &Program<'_>,
    form: Form,
    was_typescript: Option<&Scoping>,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    // What nothing in the cell uses.
    let may_be_type = |binding: &BindingIdentifier<'_>| {
        was_typescript.is_some_and(|scoping| {
            let uses = |symbol| !scoping.get_resolved_reference_ids(symbol).is_empty();
            !binding.symbol_id.get().is_some_and(uses)
        })
    };
    // Functions may be used before they stand there as soon as anything runs before them.
    let mut something_ran = false;
    for (index, statement) in program.body.iter().enumerate() {
        let is_last = index + 1 == program.body.len();
        let declaration = match statement {
            Statement::ImportDeclaration(import) => {
                modules::import(text, import, &may_be_type, edits, declared);
                continue;
            }
            Statement::ExportFromDeclaration(export) => {
                modules::export_from(text, export.span, &export.source.value, edits);
                continue;
            }
            Statement::ExportAllDeclaration(export) => {
                modules::export_from(text, export.span, &export.source.value, edits);
                continue;
            }
            Statement::ExportNamedDeclaration(export) => {
                modules::export_names(text, export, edits);
                continue;
            }
            Statement::ExportDefaultDeclaration(export) => {
                export_default(
                    export,
                    is_last && form != Form::Script,
                    something_ran,
                    edits,
                    declared,
                );
                something_ran = true;
                continue;
            }
            Statement::ExportDeclaration(export) => {
                modules::export_keyword(export, edits);
                Some(&export.declaration)
            }
            other => other.as_declaration(),
        };
        match declaration {
            Some(Declaration::VariableDeclaration(variables)) => {
                declarations::variables(variables, edits, declared);
                if was_typescript.is_some() {
                    declarations::fresh_enum(variables, edits);
                }
                something_ran = true;
            }
            Some(Declaration::FunctionDeclaration(function)) => {
                declarations::function(function, something_ran, edits, declared);
                if is_last && form == Form::Script {
                    // A cell that ends with a declaration has no value.
                    edits.insert(function.span.end, "void 0;");
                }
            }
            Some(Declaration::ClassDeclaration(class)) => {
                declarations::class(class, edits, declared);
                something_ran = true;
            }
            _ => {
                declarations::nested_variables(statement, edits, declared);
                if is_last && form != Form::Script {
                    tail(statement, edits);
                }
                something_ran = true;
            }
        }
    }
}

/// `export default` before a named declaration goes; before an expression it makes it the cell's value.
fn export_default(
    export: &ExportDefaultDeclaration<'_>,
    is_tail: bool,
    hoist: bool,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    let start = export.declaration.span().start;
    edits.replace(export.span.start, start, "");
    match &export.declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(function) if function.id.is_some() => {
            declarations::function(function, hoist, edits, declared);
        }
        ExportDefaultDeclarationKind::ClassDeclaration(class) if class.id.is_some() => {
            declarations::class(class, edits, declared);
        }
        _ => {
            let end = export.declaration.span().end;
            edits.insert(
                start,
                if is_tail {
                    format!("return {TAIL}(")
                } else {
                    "(".to_owned()
                },
            );
            edits.insert(end, ");");
        }
    }
}

/// Makes the last expression of a function's body what it returns, also at the end of a block, `if` or `try`.
fn tail(statement: &Statement<'_>, edits: &mut Edits) {
    match statement {
        Statement::ExpressionStatement(statement) => {
            let span = statement.expression.span();
            edits.insert(span.start, format!("return {TAIL}("));
            edits.insert(span.end, ")");
        }
        Statement::BlockStatement(block) => {
            block
                .body
                .last()
                .into_iter()
                .for_each(|last| tail(last, edits));
        }
        Statement::IfStatement(branch) => {
            tail(&branch.consequent, edits);
            branch
                .alternate
                .iter()
                .for_each(|alternate| tail(alternate, edits));
        }
        Statement::TryStatement(attempt) => {
            attempt
                .block
                .body
                .last()
                .into_iter()
                .for_each(|last| tail(last, edits));
            let handler = attempt
                .handler
                .iter()
                .filter_map(|handler| handler.body.body.last());
            handler.for_each(|last| tail(last, edits));
        }
        _ => {}
    }
}
