//! TypeScript to JavaScript, by oxc's transformer: types go, what has a meaning at run time stays.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_semantic::SemanticBuilder;
use oxc_transformer::{TransformOptions, Transformer};

use super::positions::TypeScript;
use super::{SyntaxFault, fault_of};

/// Transforms a parsed TypeScript `program`, which was surveyed before.
pub(super) fn to_javascript<'a>(
    allocator: &'a Allocator,
    source: &str,
    mut program: Program<'a>,
) -> Result<TypeScript, SyntaxFault> {
    let analysed = SemanticBuilder::new()
        .with_excess_capacity(2.0)
        .with_enum_eval(true)
        .build(&program);
    let scoping = analysed.semantic.into_scoping();
    let mut options = TransformOptions::default();
    // Without it an import that only later cells use would vanish.
    options.typescript.only_remove_type_imports = true;
    let path = Path::new("cell.ts");
    let transformed =
        Transformer::new(allocator, path, &options).build_with_scoping(scoping, &mut program);
    if let Some(diagnostic) = transformed.diagnostics.errors().next() {
        return Err(fault_of(source, 0, diagnostic));
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
