//! One walk over a parsed cell before anything else is done with it: how deep it nests, what in it is not supported,
//! whether it awaits or returns at its top level, and which loops need their bodies labelled.

use oxc_ast::AstKind;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::{GetSpan, Span};
use oxc_syntax::scope::ScopeFlags;

use super::turns::Turns;

/// How many syntax nodes may enclose one another. boa needs up to 33 KB of stack a bracket (measured), so that this is
/// at most 50 MB of the 256 MB its thread has; code that people and models write stays below 100.
pub(super) const MAX_NESTING: usize = 1_500;

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    /// The cell awaits at its top level.
    pub(super) awaits: bool,
    /// The cell returns at its top level.
    pub(super) returns: bool,
    /// The first thing that no cell may hold.
    pub(super) refused: Option<Refusal>,
    pub(super) turns: Turns<'a>,
    nesting: usize,
    functions: usize,
}

/// Syntax that the parser takes and a cell may not use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) what: Refused,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Nesting,
    Using,
    Decorator,
    AccessorField,
    ImportMeta,
}

impl Refused {
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::Nesting => "the code is nested too deeply",
            Self::Using => "`using` declarations are not supported",
            Self::Decorator => "decorators are not supported",
            Self::AccessorField => "`accessor` fields are not supported",
            Self::ImportMeta => "`import.meta` is not available in a cell",
        }
    }

    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::Nesting => "build deep data in steps, or hand it in as a string for `JSON.parse`",
            Self::Using => "declare it with `const` and release it in a `finally` block",
            Self::Decorator => "apply the decorating function by hand, after the class",
            Self::AccessorField => "write a `get` and a `set` with a private field",
            Self::ImportMeta => "a cell has no file of its own",
        }
    }
}

impl<'a> Survey<'a> {
    pub(super) fn of(program: &Program<'a>) -> Self {
        let mut survey = Self::default();
        survey.visit_program(program);
        survey
    }

    fn refuse(&mut self, what: Refused, span: Span) {
        self.refused.get_or_insert(Refusal { what, span });
    }
}

impl<'a> Visit<'a> for Survey<'a> {
    fn enter_node(&mut self, kind: AstKind<'a>) {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            self.refuse(Refused::Nesting, kind.span());
        }
    }

    fn leave_node(&mut self, _: AstKind<'a>) {
        self.nesting -= 1;
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        self.functions += 1;
        let outside = self.turns.enter_function();
        walk::walk_function(self, function, flags);
        self.turns.leave_function(outside);
        self.functions -= 1;
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        self.functions += 1;
        let outside = self.turns.enter_function();
        walk::walk_arrow_function_expression(self, arrow);
        self.turns.leave_function(outside);
        self.functions -= 1;
    }

    fn visit_static_block(&mut self, block: &StaticBlock<'a>) {
        self.functions += 1;
        let outside = self.turns.enter_function();
        walk::walk_static_block(self, block);
        self.turns.leave_function(outside);
        self.functions -= 1;
    }

    fn visit_class(&mut self, class: &Class<'a>) {
        let outside = self.turns.enter_function();
        walk::walk_class(self, class);
        self.turns.leave_function(outside);
    }

    fn visit_await_expression(&mut self, expression: &AwaitExpression<'a>) {
        self.awaits |= self.functions == 0;
        walk::walk_await_expression(self, expression);
    }

    fn visit_for_of_statement(&mut self, statement: &ForOfStatement<'a>) {
        self.awaits |= self.functions == 0 && statement.r#await;
        self.turns.enter_loop();
        walk::walk_for_of_statement(self, statement);
        self.turns.leave_loop();
    }

    fn visit_for_statement(&mut self, statement: &ForStatement<'a>) {
        self.turns.enter_for(statement);
        walk::walk_for_statement(self, statement);
        self.turns.leave_loop();
    }

    fn visit_for_in_statement(&mut self, statement: &ForInStatement<'a>) {
        self.turns.enter_loop();
        walk::walk_for_in_statement(self, statement);
        self.turns.leave_loop();
    }

    fn visit_while_statement(&mut self, statement: &WhileStatement<'a>) {
        self.turns.enter_loop();
        walk::walk_while_statement(self, statement);
        self.turns.leave_loop();
    }

    fn visit_do_while_statement(&mut self, statement: &DoWhileStatement<'a>) {
        self.turns.enter_loop();
        walk::walk_do_while_statement(self, statement);
        self.turns.leave_loop();
    }

    fn visit_labeled_statement(&mut self, statement: &LabeledStatement<'a>) {
        self.turns.label(statement);
        walk::walk_labeled_statement(self, statement);
    }

    fn visit_continue_statement(&mut self, statement: &ContinueStatement<'a>) {
        self.turns.note_continue(statement);
        walk::walk_continue_statement(self, statement);
    }

    fn visit_return_statement(&mut self, statement: &ReturnStatement<'a>) {
        self.returns |= self.functions == 0;
        walk::walk_return_statement(self, statement);
    }

    fn visit_variable_declaration(&mut self, declaration: &VariableDeclaration<'a>) {
        if matches!(
            declaration.kind,
            VariableDeclarationKind::Using | VariableDeclarationKind::AwaitUsing
        ) {
            self.refuse(Refused::Using, declaration.span);
        }
        walk::walk_variable_declaration(self, declaration);
    }

    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.refuse(Refused::Decorator, decorator.span);
    }

    fn visit_accessor_property(&mut self, property: &AccessorProperty<'a>) {
        self.refuse(Refused::AccessorField, property.span());
    }

    fn visit_import_meta(&mut self, meta: &ImportMeta) {
        self.refuse(Refused::ImportMeta, meta.span);
    }
}
