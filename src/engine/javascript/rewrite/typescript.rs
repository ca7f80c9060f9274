//! TypeScript to JavaScript, by oxc's transformer: types go, what has a meaning at run time stays.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::{ImportDeclarationSpecifier, Program, Statement};
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_semantic::SemanticBuilder;
use oxc_transformer::{TransformOptions, Transformer};

use super::positions::TypeScript;
use super::{SyntaxFault, fault_of};

/// Transforms a parsed TypeScript `program`, which was surveyed before. Of a cell all imports stay that are not of types
/// by their own word, since a later cell may use them; of a module those that it uses.
pub(super) fn to_javascript<'a>(
    allocator: &'a Allocator,
    source: &str,
    mut program: Program<'a>,
    is_cell: bool,
) -> Result<TypeScript, SyntaxFault> {
    if is_cell {
        program.body.retain(|statement| !imports_types(statement));
    }
    let analysed = SemanticBuilder::new()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .build(&program);
    let scoping = analysed.semantic.into_scoping();
    let mut options = TransformOptions::default();
    options.typescript.only_remove_type_imports = is_cell;
    let path = Path::new("cell.ts");
    let transformed =
        Transformer::new(allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(diagnostic) = transformed.diagnostics.errors().next() {
        return Err(fault_of(source, 0, diagnostic));
    }
    // A warning to the transformer; but what it makes of it gives other values than TypeScript does.
    let is_live = |diagnostic: &&OxcDiagnostic| diagnostic.message.contains("exporting non-const");
    if let Some(diagnostic) = transformed.diagnostics.iter().find(is_live) {
        return Err(SyntaxFault {
            message: "a namespace that exports a variable is not supported".to_owned(),
            hint: Some("export a `const`, or functions that read and set the variable".to_owned()),
            ..fault_of(source, 0, diagnostic)
        });
    }
    let codegen = CodegenOptions {
        source_map_path: Some(path.into()),
        ..CodegenOptions::default()
    };
    let printed = Codegen::new()
        .with_options(codegen)
        .with_source_text(source)
        .build(&program);
    match printed.map {
        Some(map) => Ok(TypeScript {
            javascript: printed.code,
            map: map.into_owned_sourcemap(),
        }),
        None => Err(SyntaxFault::new(
            "the TypeScript transformer gave no positions",
        )),
    }
}

/// `import { type A, type B } from "m"`, which would still load the module.
fn imports_types(statement: &Statement<'_>) -> bool {
    let Statement::ImportDeclaration(import) = statement else {
        return false;
    };
    import.specifiers.as_ref().is_some_and(|specifiers| {
        !specifiers.is_empty()
            && specifiers.iter().all(|specifier| {
                matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(specifier)
                    if specifier.import_kind.is_type())
            })
    })
}
