//! Static `import` and `export` in a cell: an import becomes an awaited dynamic one, an export is harmless.

use std::fmt::Write;

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};

use super::declarations::{DeclarationKind, Declared};
use super::edits::Edits;

/// `import d, { a as b } from "m"` becomes assignments from the awaited module; its lines stay. What may be a type need not
/// be there.
pub(super) fn import(
    source: &str,
    import: &ImportDeclaration<'_>,
    may_be_type: &dyn Fn(&BindingIdentifier<'_>) -> bool,
    edits: &mut Edits,
    declared: &mut Declared,
) {
    let module = quoted(&import.source.value);
    let mut text = String::new();
    match &import.specifiers {
        None => _ = write!(text, "await import({module});"),
        Some(specifiers) => {
            _ = write!(text, "{{const $module=await import({module});");
            for specifier in specifiers {
                let local = &specifier.local().name;
                let imported = |name: &str| match may_be_type(specifier.local()) {
                    true => format!("{local}=$module[{name}];"),
                    false => format!("{local}=$warmcell.imported($module,{name},{module});"),
                };
                match specifier {
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => {
                        _ = write!(text, "{local}=$module;");
                    }
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(_) => {
                        text.push_str(&imported("\"default\""));
                    }
                    ImportDeclarationSpecifier::ImportSpecifier(specifier) => {
                        text.push_str(&imported(&quoted(&specifier.imported.name())));
                    }
                }
                declared.add(local, DeclarationKind::Constant);
            }
            text.push('}');
        }
    }
    replace_keeping_lines(source, import.span, text, edits);
}

/// `export { a } from "m"` and `export * from "m"` run the module, which is all they can mean in a cell.
pub(super) fn export_from(source: &str, span: Span, module: &str, edits: &mut Edits) {
    replace_keeping_lines(
        source,
        span,
        format!("await import({});", quoted(module)),
        edits,
    );
}

/// `export { a };` says nothing in a cell.
pub(super) fn export_names(source: &str, export: &ExportNamedDeclaration<'_>, edits: &mut Edits) {
    replace_keeping_lines(source, export.span, ";".to_owned(), edits);
}

/// `export` before a declaration goes.
pub(super) fn export_keyword(export: &ExportDeclaration<'_>, edits: &mut Edits) {
    edits.replace(export.span.start, export.declaration.span().start, "");
}

fn replace_keeping_lines(source: &str, span: Span, mut text: String, edits: &mut Edits) {
    let lines = source[span.start as usize..span.end as usize]
        .matches('\n')
        .count();
    text.extend(std::iter::repeat_n('\n', lines));
    edits.replace(span.start, span.end, text);
}

/// `text` as a JavaScript string literal: JSON with the two line ends that JSON lets stand.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text)
        .to_string()
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
