//! A cell's source into what an engine runs: the same text with a few edits, so that positions stay the user's.
//!
//! Top-level declarations become assignments to bindings of the session, which the engine declares beforehand
//! ([`Rewritten::declared`]); a cell that awaits or returns at its top level becomes the body of a function. Everything
//! else stands byte for byte. A cell is parsed on its own, so nothing in it can close what is put around it.
//!
//! Nesting is measured here, before an engine sees the source: boa's parser and compiler overflow their stack, and with
//! it the process, from a few thousand nested brackets.

mod constants;
mod declarations;
mod early;
mod edits;
mod modules;
mod positions;
mod statements;
mod survey;
mod suspects;
#[cfg(test)]
mod tests;
mod turns;
mod typescript;

use std::thread;

use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::{ParseOptions, Parser, ParserReturn};
use oxc_semantic::{Scoping, SemanticBuilder};
use oxc_span::SourceType;

pub(super) use self::declarations::DeclarationKind;
use self::declarations::Declared;
use self::edits::{Edits, Rendered};
pub(super) use self::positions::{Position, Positions};
use self::positions::{TypeScript, position_of};
use self::survey::Survey;

/// The longest source that is taken. Data belongs into `bind`, or into a file.
const MAX_SOURCE: usize = 1 << 20;
/// Sources up to this size are parsed where they are: at 2.5 KB of stack a byte they cannot overflow 64 MB.
const PARSED_IN_PLACE: usize = 16 << 10;
/// What the parser may need of stack for each byte of source; measured at most 2.1 KB, for `{`.
const STACK_PER_BYTE: usize = 2_560;

/// The two ways to write a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    JavaScript,
    TypeScript,
}

/// How the rewritten code is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It is a script, and the value of the script is the cell's.
    Script,
    /// It is a function that takes [`TAIL`] and is called; async when the cell awaits.
    Function { awaits: bool },
}

/// The parameter through which a cell's last expression passes, to tell it from what `return` gives.
const TAIL: &str = "$tail";

/// What stands after a module: boa 0.22 finds no end to one whose last token is the `}` of an `export`.
const MODULE_END: &str = "\n;";

/// A cell, ready to run.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) code: String,
    pub(super) form: Form,
    /// The names it declares at its top level.
    pub(super) declared: Vec<(String, DeclarationKind)>,
    /// Names it assigns to without declaring them, which become bindings where nothing has that name yet.
    pub(super) assigned: Vec<String>,
    /// The modules that its declarations import, and where these stand.
    pub(super) imports: Vec<(String, Position)>,
    pub(super) positions: Positions,
}

/// Why a source cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SyntaxFault {
    pub(super) message: String,
    pub(super) position: Option<Position>,
    pub(super) hint: Option<String>,
}

impl SyntaxFault {
    fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            position: None,
            hint: None,
        }
    }

    fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Rewrites the source of one cell. `is_constant` knows the constants of earlier cells.
pub(super) fn rewrite(
    source: &str,
    flavour: Flavour,
    is_constant: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Rewritten, SyntaxFault> {
    on_enough_stack(source, || match object_literal(source) {
        Some(wrapped) => rewrite_parsed(source, &wrapped, 1, flavour, is_constant),
        None => rewrite_parsed(source, source, 0, flavour, is_constant),
    })
}

/// Whether a host may bind a name: it must be an identifier that a cell could declare.
pub(super) fn is_bindable(name: &str) -> bool {
    let source = format!("let {name};");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &source, SourceType::mjs()).parse();
    let [Statement::VariableDeclaration(declaration)] = parsed.program.body.as_slice() else {
        return false;
    };
    parsed.diagnostics.is_empty()
        && name.len() <= 1_000
        && matches!(declaration.declarations.as_slice(), [only] if only.init.is_none()
            && only.id.get_identifier_name().is_some_and(|identifier| identifier == name))
}

/// The JavaScript of a module, which keeps its declarations, and the way back from it.
pub(super) fn module_javascript(
    source: &str,
    flavour: Flavour,
) -> Result<(String, Positions), SyntaxFault> {
    on_enough_stack(source, || {
        let allocator = Allocator::default();
        let (parsed, survey) = parse(&allocator, source, 0, source_type(flavour), false)?;
        let (rendered, typescript) = match flavour {
            Flavour::JavaScript => (module_edits(&survey).render(source, "", MODULE_END), None),
            Flavour::TypeScript => {
                let has_turns = !survey.turns.is_empty();
                let typescript =
                    typescript::to_javascript(&allocator, source, parsed.program, false)?;
                let javascript = typescript.javascript.clone();
                let allocator = Allocator::default();
                let edits = if has_turns {
                    let source_type = source_type(Flavour::JavaScript);
                    let (_, survey) = parse(&allocator, &javascript, 0, source_type, false)
                        .map_err(|fault| moved(fault, &typescript))?;
                    module_edits(&survey)
                } else {
                    Edits::default()
                };
                (edits.render(&javascript, "", MODULE_END), Some(typescript))
            }
        };
        let positions = Positions::new(source, 0, typescript, &rendered);
        Ok((rendered.text, positions))
    })
}

fn module_edits(survey: &Survey<'_>) -> Edits {
    let mut edits = Edits::default();
    survey.turns.edit(&mut edits);
    edits
}

/// Runs `work`, which parses `source`, where the stack holds whatever nesting the source can have.
fn on_enough_stack<T: Send>(
    source: &str,
    work: impl FnOnce() -> Result<T, SyntaxFault> + Send,
) -> Result<T, SyntaxFault> {
    if source.len() > MAX_SOURCE {
        return Err(SyntaxFault::new(format!(
            "the code has {} bytes, and a cell takes at most {MAX_SOURCE}",
            source.len()
        ))
        .with_hint("hand data in with `bind`, or split the cell"));
    }
    if source.len() <= PARSED_IN_PLACE {
        return work();
    }
    thread::scope(|scope| {
        let parser = thread::Builder::new()
            .name("warmcell-parser".to_owned())
            .stack_size(source.len() * STACK_PER_BYTE + (1 << 20))
            .spawn_scoped(scope, work);
        match parser.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(error) => Err(SyntaxFault::new(format!(
                "no thread to parse the code on: {error}"
            ))),
        }
    })
}

/// A cell that as a whole is an object literal, in parentheses: as a statement it would be a block.
fn object_literal(source: &str) -> Option<String> {
    if !(source.trim_start().starts_with('{') && source.trim_end().ends_with('}')) {
        return None;
    }
    let wrapped = format!("({source}\n)");
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, &wrapped, SourceType::ts().with_module(true)).parse();
    (parsed.diagnostics.is_empty()
        && matches!(
            parsed.program.body.as_slice(),
            [Statement::ExpressionStatement(_)]
        ))
    .then_some(wrapped)
}

/// Rewrites `text`, which is `source` after `lead` bytes.
fn rewrite_parsed(
    source: &str,
    text: &str,
    lead: u32,
    flavour: Flavour,
    is_constant: &dyn Fn(&str) -> bool,
) -> Result<Rewritten, SyntaxFault> {
    let allocator = Allocator::default();
    let (parsed, survey) = parse(&allocator, text, lead, source_type(flavour), true)?;
    match flavour {
        Flavour::JavaScript => {
            let program = &parsed.program;
            rewrite_program(source, text, lead, None, program, &survey, is_constant)
        }
        Flavour::TypeScript => {
            let typescript = typescript::to_javascript(&allocator, text, parsed.program, true)?;
            let allocator = Allocator::default();
            let javascript = typescript.javascript.clone();
            let (parsed, survey) = parse(
                &allocator,
                &javascript,
                0,
                source_type(Flavour::JavaScript),
                true,
            )
            .map_err(|fault| moved(fault, &typescript))?;
            rewrite_program(
                source,
                &javascript,
                lead,
                Some(typescript),
                &parsed.program,
                &survey,
                is_constant,
            )
        }
    }
}

/// Parses and surveys `text`; what is wrong with it is told with its position less `lead` bytes.
fn parse<'a>(
    allocator: &'a Allocator,
    text: &'a str,
    lead: u32,
    source_type: SourceType,
    is_cell: bool,
) -> Result<(ParserReturn<'a>, Survey<'a>), SyntaxFault> {
    let options = ParseOptions {
        allow_return_outside_function: is_cell,
        preserve_parens: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(allocator, text, source_type)
        .with_options(options)
        .parse();
    if let Some(diagnostic) = parsed.diagnostics.errors().next() {
        let fault = fault_of(text, lead, diagnostic);
        return Err(if is_jsx(text, source_type, options) {
            SyntaxFault {
                message: "JSX is not supported".to_owned(),
                hint: Some(
                    "build markup as text, or call the functions that JSX stands for".to_owned(),
                ),
                ..fault
            }
        } else {
            fault
        });
    }
    let survey = Survey::of(&parsed.program);
    if let Some(refusal) = survey.refused {
        let fault = SyntaxFault {
            position: Some(position_of(
                &text[lead as usize..],
                refusal.span.start.saturating_sub(lead),
            )),
            ..SyntaxFault::new(refusal.what.message())
        };
        return Err(fault.with_hint(refusal.what.hint()));
    }
    Ok((parsed, survey))
}

/// Whether a source that does not parse would with JSX.
fn is_jsx(text: &str, source_type: SourceType, options: ParseOptions) -> bool {
    (text.contains("/>") || text.contains("</"))
        && Parser::new(&Allocator::default(), text, source_type.with_jsx(true))
            .with_options(options)
            .parse()
            .diagnostics
            .is_empty()
}

fn source_type(flavour: Flavour) -> SourceType {
    match flavour {
        Flavour::JavaScript => SourceType::mjs(),
        Flavour::TypeScript => SourceType::ts().with_module(true),
    }
}

/// What the parser found wrong, in the user's positions.
fn fault_of(text: &str, lead: u32, diagnostic: &OxcDiagnostic) -> SyntaxFault {
    let offset = diagnostic.labels.iter().next().map(|label| label.offset());
    SyntaxFault {
        message: diagnostic.message.to_string(),
        position: offset
            .map(|offset| position_of(&text[lead as usize..], offset.saturating_sub(lead))),
        hint: diagnostic.help.as_ref().map(ToString::to_string),
    }
}

/// The same fault, found in JavaScript that came of TypeScript.
fn moved(fault: SyntaxFault, typescript: &TypeScript) -> SyntaxFault {
    SyntaxFault {
        position: fault.position.map(|position| typescript.locate(position)),
        ..fault
    }
}

fn rewrite_program(
    source: &str,
    text: &str,
    lead: u32,
    typescript: Option<TypeScript>,
    program: &Program<'_>,
    survey: &Survey<'_>,
    is_constant: &dyn Fn(&str) -> bool,
) -> Result<Rewritten, SyntaxFault> {
    let analysed = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .build(program);
    if let Some(diagnostic) = analysed.diagnostics.errors().next() {
        let fault = fault_of(
            text,
            if typescript.is_some() { 0 } else { lead },
            diagnostic,
        );
        return Err(match &typescript {
            Some(typescript) => moved(fault, typescript),
            None => fault,
        });
    }
    let scoping = analysed.semantic.scoping();
    let imports: Vec<(&str, u32)> = program.body.iter().filter_map(loaded_module).collect();
    let form = match (survey.awaits || !imports.is_empty(), survey.returns) {
        (true, _) => Form::Function { awaits: true },
        (false, true) => Form::Function { awaits: false },
        (false, false) => Form::Script,
    };
    let mut edits = Edits::default();
    let mut declared = Declared::default();
    survey.turns.edit(&mut edits);
    constants::guard(
        program,
        scoping,
        &constants::declared(program),
        is_constant,
        &mut edits,
    );
    early::guard(program, scoping, &mut edits);
    let was_typescript = typescript.is_some().then_some(scoping);
    statements::edit(
        text,
        program,
        form,
        was_typescript,
        &mut edits,
        &mut declared,
    );
    let Rendered {
        text: code,
        segments,
    } = match form {
        // boa 0.22 takes `async` at the end for the beginning of a function, and finds none.
        Form::Script if text.trim_end().ends_with("async") => edits.render(text, "", "\n;"),
        Form::Script => edits.render(text, "", ""),
        Form::Function { awaits: true } => {
            edits.render(text, &format!("(async {TAIL}=>{{"), "\n})")
        }
        Form::Function { awaits: false } => edits.render(text, &format!("({TAIL}=>{{"), "\n})"),
    };
    let rendered = Rendered {
        text: code,
        segments,
    };
    let positions = Positions::new(source, lead, typescript, &rendered);
    let imports = imports
        .into_iter()
        .map(|(module, start)| (module.to_owned(), positions.locate_offset(start)))
        .collect();
    let is_strict = program
        .directives
        .iter()
        .any(|directive| directive.directive == "use strict");
    let assigned = if is_strict {
        Vec::new()
    } else {
        assigned(scoping)
    };
    Ok(Rewritten {
        code: rendered.text,
        form,
        declared: declared.0,
        assigned,
        imports,
        positions,
    })
}

/// The module that a declaration loads, and where the declaration begins.
fn loaded_module<'s>(statement: &'s Statement<'_>) -> Option<(&'s str, u32)> {
    match statement {
        Statement::ImportDeclaration(import) => Some((&import.source.value, import.span.start)),
        Statement::ExportAllDeclaration(export) => Some((&export.source.value, export.span.start)),
        Statement::ExportFromDeclaration(export) => Some((&export.source.value, export.span.start)),
        _ => None,
    }
}

/// The names that are assigned to and that nothing in the cell declares.
fn assigned(scoping: &Scoping) -> Vec<String> {
    let writes = scoping
        .root_unresolved_references()
        .iter()
        .filter(|(_, references)| {
            references
                .iter()
                .any(|reference| scoping.get_reference(*reference).is_write())
        });
    let mut names: Vec<String> = writes.map(|(name, _)| name.to_string()).collect();
    names.sort_unstable();
    names
}
