//! Pipelines, commands and operands.

use pintle_tree::{Str, quote};

use super::{Parser, literal};
use crate::ast::{Callee, Command, Expr, Name, Pipe, Text, VariableId, Variables};
use crate::builtins::Builtin;
use crate::error::Error;
use crate::lex::{Kind, Token};
use crate::pool::{Id, Span};
use crate::print::with_stack;

/// The maximum nesting of parentheses, as in Go.
const MAX_PAREN_DEPTH: usize = 10_000;

impl Parser<'_> {
    /// Variables, if any, and commands up to `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Id<Pipe>, Error> {
        let position = self.peek_token().start;
        let mut pipe =
            Pipe { position, assigns: false, variables: Variables::default(), commands: Span::EMPTY };
        self.declarations(&mut pipe, context)?;
        let base = self.waiting.commands.len();
        loop {
            let token = self.next_token();
            match token.kind {
                kind if kind == end => {
                    self.check(&self.waiting.commands[base..], context)?;
                    pipe.commands = self.source.commands.take(&mut self.waiting.commands, base);
                    return Ok(self.source.pipes.push(pipe));
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawText
                | Kind::Quoted
                | Kind::Variable
                | Kind::LeftParen => {
                    self.back_up();
                    let command = self.command()?;
                    self.waiting.commands.push(command);
                }
                _ => return Err(self.unexpected(token, context)),
            }
        }
    }

    /// `$x :=`, `$x =`, and in ranges `$x, $y :=`.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<(), Error> {
        loop {
            let variable = self.peek_token();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // The following token is needed to push everything back if this is not a declaration.
            let after = self.peek();
            let next = self.peek_token();
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.assigns = next.kind == Kind::Assign;
                self.next_token();
                self.declare(pipe, variable);
                return Ok(());
            }
            if next.kind == Kind::Char && self.lexer.text(next) == b"," {
                self.next_token();
                self.declare(pipe, variable);
                if context != "range" || pipe.variables.as_slice().len() >= 2 {
                    return Err(self.error(format!("too many declarations in {context}")));
                }
                // The two closing kinds are let through because Go reports them later, as a missing value.
                if !matches!(self.peek_token().kind, Kind::Variable | Kind::RightDelimiter | Kind::RightParen)
                {
                    return Err(self.error("range can only initialize variables"));
                }
                continue;
            }
            if after.kind == Kind::Space {
                self.back_up_three(variable, after);
            } else {
                self.back_up_two(variable);
            }
            return Ok(());
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, variable: Token) {
        let id = self.variable_id(self.lexer.text(variable));
        pipe.variables.push(id);
        self.state.variables.push(id);
    }

    fn variable_id(&mut self, name: &[u8]) -> VariableId {
        let variables = &mut self.source.variables;
        let known = variables.iter().position(|known| known.as_bytes() == name);
        known.unwrap_or_else(|| {
            variables.push(Str::new(name));
            variables.len() - 1
        }) as VariableId
    }

    fn check(&self, commands: &[Command], context: &str) -> Result<(), Error> {
        if commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        // Only the first command may be a plain value, because the others get an argument.
        for (index, command) in commands.iter().enumerate().skip(1) {
            if matches!(
                self.source.words[command.words][0],
                Expr::Bool(..) | Expr::Dot(_) | Expr::Nil(_) | Expr::Number(_) | Expr::Text(_)
            ) {
                return Err(self.error(format!("non executable command in pipeline stage {}", index + 1)));
            }
        }
        Ok(())
    }

    /// Operands up to a pipe or the end of the pipeline.
    fn command(&mut self) -> Result<Command, Error> {
        let position = self.peek_token().start;
        let base = self.waiting.words.len();
        loop {
            // Skips blanks. Without it a blank would be taken for the end of the operand.
            self.peek_token();
            let word = self.operand()?;
            self.waiting.words.extend(word);
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParen => self.back_up(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(token, "operand")),
            }
            break;
        }
        let words = self.source.words.take(&mut self.waiting.words, base);
        if words.is_empty() {
            return Err(self.error("empty command"));
        }
        Ok(Command { position, words })
    }

    /// A term and the fields that follow it.
    fn operand(&mut self) -> Result<Option<Expr>, Error> {
        // Nothing is not an error here: `command` reports an empty command, and `pipeline` an unexpected
        // token.
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        // The names of a field or variable are last in their pool, so more can be appended.
        let mut names = match term {
            Expr::Field(_, names) | Expr::Variable(_, _, names) => names,
            _ => Span::EMPTY,
        };
        while self.peek().kind == Kind::Field {
            let token = self.next();
            self.source.names.extend(&mut names, field_name(token));
        }
        // The position of a chain is its second part, as in Go.
        Ok(Some(match term {
            Expr::Field(..) => Expr::Field(first.start, names),
            Expr::Variable(_, id, _) => Expr::Variable(first.start, id, names),
            Expr::Bool(..) | Expr::Text(_) | Expr::Number(_) | Expr::Nil(_) | Expr::Dot(_) => {
                let text = quote::quote(self.literal_text(&term));
                return Err(self.error(format!("unexpected . after term {text}")));
            }
            _ => Expr::Chain(first.start, self.source.words.push(term), names),
        }))
    }

    fn literal_text(&self, term: &Expr) -> &[u8] {
        match term {
            Expr::Bool(_, true) => b"true",
            Expr::Bool(_, false) => b"false",
            Expr::Text(text) => {
                let text = &self.source.texts[*text];
                &self.source.text.as_bytes()[text.position as usize..text.end as usize]
            }
            Expr::Number(number) => self.source.numbers[*number].text.as_bytes(),
            Expr::Nil(_) => b"nil",
            _ => b".",
        }
    }

    fn term(&mut self) -> Result<Option<Expr>, Error> {
        let token = self.next_token();
        let text = self.lexer.text(token);
        let term = match token.kind {
            Kind::Identifier => Expr::Function(token.start, self.callee(text)?),
            Kind::Dot => Expr::Dot(token.start),
            Kind::Nil => Expr::Nil(token.start),
            Kind::Variable => {
                let id = self.variable_id(text);
                // Ids are per source, scopes per template: a name that is known to the source may still be
                // undefined here.
                if !self.state.variables.contains(&id) {
                    return Err(self.error(format!("undefined variable {}", quote::quote(text))));
                }
                Expr::Variable(token.start, id, Span::EMPTY)
            }
            Kind::Field => Expr::Field(token.start, self.source.names.push_single(field_name(token))),
            Kind::Bool => Expr::Bool(token.start, text == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let number = match token.kind {
                    Kind::CharConstant => literal::character(text),
                    Kind::Complex => literal::complex(text),
                    _ => literal::number(text),
                };
                let mut number = number.map_err(|message| self.error(message))?;
                number.position = token.start;
                Expr::Number(self.source.numbers.push(number))
            }
            Kind::LeftParen => {
                if self.state.paren_depth >= MAX_PAREN_DEPTH {
                    return Err(self.error("max expression depth exceeded"));
                }
                self.state.paren_depth += 1;
                let pipe = with_stack(|| self.pipeline("parenthesized pipeline", Kind::RightParen))?;
                self.state.paren_depth -= 1;
                Expr::Pipe(pipe)
            }
            Kind::Quoted | Kind::RawText => {
                let text = Text { position: token.start, end: token.end, value: self.unquoted(token)? };
                Expr::Text(self.source.texts.push(text))
            }
            _ => {
                self.back_up();
                return Ok(None);
            }
        };
        Ok(Some(term))
    }

    fn callee(&self, name: &[u8]) -> Result<Callee, Error> {
        // Functions win over built-ins: sprig replaces `slice`, for example.
        let function = self.source.functions.find(name).map(Callee::Function);
        let known = function.or_else(|| Builtin::named(name).map(Callee::Builtin));
        known.ok_or_else(|| self.error(format!("function {} not defined", quote::quote(name))))
    }
}

/// The name of a field without its dot.
fn field_name(token: Token) -> Name {
    Name { start: token.start + 1, end: token.end }
}
