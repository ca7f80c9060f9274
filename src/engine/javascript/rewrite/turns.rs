//! `for (let ...;;)` loops whose turns QuickJS would not tell apart: its `continue` jumps past the copy of the variables
//! for the next turn, and what closed over them sees the next turn's. Of a loop that makes a function and has a `continue`
//! of its own, the body gets a label and the `continue` becomes a `break` to it, which says the same.

use std::collections::HashSet;

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};

use super::edits::Edits;

/// How the labels of bodies begin.
const LABEL: &str = "$turn";

/// The loops of a program, noted by the walk that surveys it.
#[derive(Debug, Default)]
pub(super) struct Turns<'a> {
    /// The loops around the place where the walk is, within its function.
    around: Vec<Loop<'a>>,
    /// The labels right before the statement that comes next.
    labels: Vec<&'a str>,
    /// How many functions and classes there were so far.
    functions: usize,
    found: Vec<Found>,
    /// The program's labels that could be taken for one of ours.
    taken: HashSet<&'a str>,
}

#[derive(Debug)]
struct Loop<'a> {
    labels: Vec<&'a str>,
    /// Where the body begins, of a loop with variables of its own for each turn.
    body: Option<u32>,
    /// How many functions there were before it.
    functions: usize,
    continues: Vec<Span>,
}

/// A loop to be mended.
#[derive(Debug)]
struct Found {
    body: u32,
    continues: Vec<Span>,
}

/// What is around a function, while the walk is inside.
pub(super) struct Outside<'a>(Vec<Loop<'a>>);

impl<'a> Turns<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Nothing inside of a function or a class continues a loop around it.
    pub(super) fn enter_function(&mut self) -> Outside<'a> {
        self.functions += 1;
        Outside(std::mem::take(&mut self.around))
    }

    pub(super) fn leave_function(&mut self, outside: Outside<'a>) {
        self.around = outside.0;
    }

    pub(super) fn label(&mut self, labelled: &LabeledStatement<'a>) {
        let name = labelled.label.name.as_str();
        if name.starts_with(LABEL) {
            self.taken.insert(name);
        }
        if labelled.body.is_iteration_statement()
            || matches!(labelled.body, Statement::LabeledStatement(_))
        {
            self.labels.push(name);
        } else {
            self.labels.clear();
        }
    }

    pub(super) fn enter_for(&mut self, statement: &ForStatement<'a>) {
        let is_per_turn = matches!(&statement.init,
            Some(ForStatementInit::VariableDeclaration(declaration))
                if declaration.kind == VariableDeclarationKind::Let);
        self.enter(is_per_turn.then(|| statement.body.span().start));
    }

    /// Any other loop.
    pub(super) fn enter_loop(&mut self) {
        self.enter(None);
    }

    fn enter(&mut self, body: Option<u32>) {
        self.around.push(Loop {
            labels: std::mem::take(&mut self.labels),
            body,
            functions: self.functions,
            continues: Vec::new(),
        });
    }

    pub(super) fn leave_loop(&mut self) {
        if let Some(Loop {
            body: Some(body),
            functions,
            continues,
            ..
        }) = self.around.pop()
            && functions < self.functions
            && !continues.is_empty()
        {
            self.found.push(Found { body, continues });
        }
    }

    pub(super) fn note_continue(&mut self, statement: &ContinueStatement<'a>) {
        let mut outwards = self.around.iter_mut().rev();
        let (target, end) = match &statement.label {
            None => (
                outwards.next(),
                statement.span.start + "continue".len() as u32,
            ),
            Some(label) => (
                outwards.find(|around| around.labels.contains(&label.name.as_str())),
                label.span.end,
            ),
        };
        if let Some(target) = target {
            target.continues.push(Span::new(statement.span.start, end));
        }
    }

    /// Labels the bodies. Comes before other edits: what they put at the same place belongs behind the label.
    pub(super) fn edit(&self, edits: &mut Edits) {
        let labels = (0..)
            .map(|number| format!("{LABEL}{number}"))
            .filter(|label| !self.taken.contains(label.as_str()));
        for (found, label) in self.found.iter().zip(labels) {
            edits.insert(found.body, format!("{label}:"));
            for place in &found.continues {
                edits.replace(place.start, place.end, format!("break {label}"));
            }
        }
    }
}
