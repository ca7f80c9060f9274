//! Where a property was read of undefined or null, by what boa 0.22 says of it.
//!
//! boa gives instructions the position of the innermost expression around them that it keeps one for: a property that is
//! read, an assignment, the arguments of a call, what is thrown, the body of a function. A method that is called has none of
//! its own. Its failure is told where what encloses it begins or, at the top level of a script, what ended before it.

use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

/// What may have failed at a position.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    /// What has this position itself, and needs an object.
    pub(super) own: bool,
    /// A call has this position, which fails so where it is of a built-in that needs an object.
    pub(super) call: bool,
    /// The names of methods that are told there, by where they stand.
    pub(super) methods: Vec<u32>,
}

impl Suspects {
    /// Of the failures in `program` that are told at `at`.
    pub(super) fn of(text: &str, program: &Program<'_>, at: u32) -> Self {
        let mut walk = Walk {
            text,
            at,
            around: Vec::new(),
            before: None,
            suspects: Self::default(),
        };
        walk.visit_program(program);
        walk.suspects
    }
}

struct Walk<'t> {
    text: &'t str,
    at: u32,
    /// The positions around the place where the walk is, within its function.
    around: Vec<u32>,
    /// The position of what ended last with nothing around it.
    before: Option<u32>,
    suspects: Suspects,
}

impl Walk<'_> {
    /// Walks what boa has a position for; `may_fail` says that its own operation needs an object.
    fn within(&mut self, position: u32, may_fail: bool, inner: impl FnOnce(&mut Self)) {
        self.suspects.own |= may_fail && position == self.at;
        self.around.push(position);
        inner(self);
        self.around.pop();
        if self.around.is_empty() {
            self.before = Some(position);
        }
    }

    fn function(&mut self, body: u32, inner: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.around, vec![body]);
        let before = self.before.take();
        inner(self);
        self.around = around;
        self.before = before;
    }

    fn method(&mut self, receiver: &Expression<'_>, name: u32) {
        if !is_object(receiver) && self.around.last().copied().or(self.before) == Some(self.at) {
            self.suspects.methods.push(name);
        }
    }

    /// The callee of a call, or a part of an optional chain: what it reads has no position.
    fn unplaced<'a>(&mut self, expression: &Expression<'a>) {
        match expression {
            Expression::ParenthesizedExpression(inner) => self.unplaced(&inner.expression),
            Expression::StaticMemberExpression(member) => {
                self.visit_expression(&member.object);
                self.method(&member.object, member.property.span.start);
            }
            Expression::ComputedMemberExpression(member) => {
                self.visit_expression(&member.object);
                self.visit_expression(&member.expression);
                self.method(&member.object, member.expression.span().start);
            }
            other => self.visit_expression(other),
        }
    }

    /// A link of an optional chain.
    fn link<'a>(&mut self, expression: &Expression<'a>) {
        match expression {
            Expression::CallExpression(call) => self.call_link(call),
            Expression::StaticMemberExpression(member) => self.static_link(member),
            Expression::ComputedMemberExpression(member) => self.computed_link(member),
            other => self.visit_expression(other),
        }
    }

    fn call_link<'a>(&mut self, call: &CallExpression<'a>) {
        self.link(&call.callee);
        self.arguments(&call.callee, &call.arguments);
    }

    fn static_link<'a>(&mut self, member: &StaticMemberExpression<'a>) {
        self.link(&member.object);
        self.method(&member.object, member.property.span.start);
    }

    fn computed_link<'a>(&mut self, member: &ComputedMemberExpression<'a>) {
        self.link(&member.object);
        self.visit_expression(&member.expression);
        self.method(&member.object, member.expression.span().start);
    }

    fn arguments<'a>(&mut self, callee: &Expression<'a>, arguments: &[Argument<'a>]) {
        let bracket = bracket(self.text, callee.span().end);
        self.suspects.call |= bracket == self.at;
        self.within(bracket, needs_object(callee), |walk| {
            arguments
                .iter()
                .for_each(|argument| walk.visit_argument(argument));
        });
    }

    /// Where an expression begins to boa: a call with its bracket.
    fn start(&self, expression: &Expression<'_>) -> u32 {
        match expression {
            Expression::CallExpression(call) => bracket(self.text, call.callee.span().end),
            Expression::StaticMemberExpression(member) => self.start(&member.object),
            Expression::ComputedMemberExpression(member) => self.start(&member.object),
            Expression::BinaryExpression(binary) => self.start(&binary.left),
            Expression::LogicalExpression(logical) => self.start(&logical.left),
            Expression::ConditionalExpression(conditional) => self.start(&conditional.test),
            other => other.span().start,
        }
    }
}

/// Globals that nobody sets to null.
const GLOBALS: [&str; 10] = [
    "Array", "Date", "JSON", "Math", "Number", "Object", "Promise", "String", "console", "display",
];
/// Methods that give an object or a text, whatever they are called on.
const GIVERS: [&str; 16] = [
    "concat",
    "entries",
    "filter",
    "flat",
    "flatMap",
    "join",
    "keys",
    "map",
    "replace",
    "replaceAll",
    "reverse",
    "slice",
    "sort",
    "split",
    "trim",
    "values",
];

/// Whether something is neither undefined nor null, as far as one can see.
fn is_object(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::Identifier(name) => GLOBALS.contains(&name.name.as_str()),
        Expression::CallExpression(call) => matches!(&call.callee,
            Expression::StaticMemberExpression(member)
                if GIVERS.contains(&member.property.name.as_str())),
        Expression::ParenthesizedExpression(inner) => is_object(&inner.expression),
        Expression::ArrayExpression(_)
        | Expression::NewExpression(_)
        | Expression::ObjectExpression(_)
        | Expression::StringLiteral(_)
        | Expression::TemplateLiteral(_) => true,
        _ => false,
    }
}

/// Whether a callee is a built-in that needs an object, by its name.
fn needs_object(callee: &Expression<'_>) -> bool {
    let Expression::StaticMemberExpression(member) = callee else {
        return false;
    };
    matches!(member.property.name.as_str(), "call" | "apply")
        || ["Object", "Array", "String"]
            .iter()
            .any(|class| member.object.is_specific_id(class))
}

/// The bracket of the arguments of a call whose callee ends at `callee_end`.
fn bracket(text: &str, callee_end: u32) -> u32 {
    let after = text.get(callee_end as usize..).unwrap_or("");
    callee_end + after.find('(').unwrap_or(0) as u32
}

impl<'a> Visit<'a> for Walk<'_> {
    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        self.unplaced(&call.callee);
        self.arguments(&call.callee, &call.arguments);
    }

    fn visit_new_expression(&mut self, new: &NewExpression<'a>) {
        self.visit_expression(&new.callee);
        self.arguments(&new.callee, &new.arguments);
    }

    fn visit_tagged_template_expression(&mut self, tagged: &TaggedTemplateExpression<'a>) {
        self.unplaced(&tagged.tag);
        self.visit_template_literal(&tagged.quasi);
    }

    fn visit_chain_expression(&mut self, chain: &ChainExpression<'a>) {
        match &chain.expression {
            ChainElement::CallExpression(call) => self.call_link(call),
            ChainElement::StaticMemberExpression(member) => self.static_link(member),
            ChainElement::ComputedMemberExpression(member) => self.computed_link(member),
            _ => walk::walk_chain_expression(self, chain),
        }
    }

    fn visit_static_member_expression(&mut self, member: &StaticMemberExpression<'a>) {
        self.within(member.property.span.start, true, |walk| {
            walk.visit_expression(&member.object);
        });
    }

    fn visit_computed_member_expression(&mut self, member: &ComputedMemberExpression<'a>) {
        self.within(self.start(&member.expression), true, |walk| {
            walk.visit_expression(&member.object);
            walk.visit_expression(&member.expression);
        });
    }

    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        let is_name = matches!(
            assignment.left,
            AssignmentTarget::AssignmentTargetIdentifier(_)
        );
        self.within(assignment.span.start, !is_name, |walk| {
            walk::walk_assignment_expression(walk, assignment);
        });
    }

    fn visit_update_expression(&mut self, update: &UpdateExpression<'a>) {
        self.within(update.span.start, true, |walk| {
            walk::walk_update_expression(walk, update);
        });
    }

    fn visit_unary_expression(&mut self, unary: &UnaryExpression<'a>) {
        match unary.operator {
            UnaryOperator::Delete => self.within(unary.span.start, true, |walk| {
                walk::walk_unary_expression(walk, unary);
            }),
            _ => walk::walk_unary_expression(self, unary),
        }
    }

    fn visit_throw_statement(&mut self, throw: &ThrowStatement<'a>) {
        self.within(self.start(&throw.argument), false, |walk| {
            walk::walk_throw_statement(walk, throw);
        });
    }

    fn visit_function(&mut self, function: &Function<'a>, flags: ScopeFlags) {
        let body = function.body.as_ref().map_or(0, |body| body.span.start);
        self.function(body, |walk| walk::walk_function(walk, function, flags));
    }

    fn visit_arrow_function_expression(&mut self, arrow: &ArrowFunctionExpression<'a>) {
        let body = match arrow.get_expression() {
            Some(expression) => self.start(expression),
            None => arrow.body.span().start,
        };
        self.function(body, |walk| {
            walk::walk_arrow_function_expression(walk, arrow);
        });
    }

    fn visit_property_definition(&mut self, definition: &PropertyDefinition<'a>) {
        let start = definition
            .value
            .as_ref()
            .map_or(0, |value| self.start(value));
        self.function(start, |walk| {
            walk::walk_property_definition(walk, definition)
        });
    }
}
