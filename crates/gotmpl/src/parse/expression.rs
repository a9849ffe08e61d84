//! Pipelines, commands and operands.

use pintle_tree::{Str, quote};

use super::{Parser, literal};
use crate::ast::{Callee, Command, Expr, Pipe, Text, VariableId};
use crate::builtins::Builtin;
use crate::error::Error;
use crate::lex::{Kind, Token};
use crate::print::with_stack;
use crate::value::Value;

/// How deep parentheses may nest, as in Go.
const MAX_PAREN_DEPTH: usize = 10_000;

impl Parser<'_> {
    /// Variables, if any, and commands up to `end`.
    pub(super) fn pipeline(&mut self, context: &str, end: Kind) -> Result<Pipe, Error> {
        let position = self.peek_word().start;
        let mut pipe = Pipe { position, assigns: false, variables: Vec::new(), commands: Vec::new() };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_word();
            match token.kind {
                kind if kind == end => {
                    self.check(&pipe, context)?;
                    pipe.commands.shrink_to_fit();
                    return Ok(pipe);
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
                    pipe.commands.push(self.command()?);
                }
                _ => return Err(self.unexpected(token, context)),
            }
        }
    }

    /// `$x :=`, `$x =`, and in ranges `$x, $y :=`.
    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Result<(), Error> {
        loop {
            let variable = self.peek_word();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // What follows directly is needed to put everything back when this is no declaration.
            let after = self.peek();
            let next = self.peek_word();
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.assigns = next.kind == Kind::Assign;
                self.next_word();
                self.declare(pipe, variable);
                return Ok(());
            }
            if next.kind == Kind::Char && self.lexer.text(next) == b"," {
                self.next_word();
                self.declare(pipe, variable);
                if context != "range" || pipe.variables.len() >= 2 {
                    return Err(self.error(format!("too many declarations in {context}")));
                }
                if !matches!(self.peek_word().kind, Kind::Variable | Kind::RightDelimiter | Kind::RightParen)
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
        let known = self.names.iter().position(|known| known.as_bytes() == name);
        known.unwrap_or_else(|| {
            self.names.push(Str::new(name));
            self.names.len() - 1
        }) as VariableId
    }

    fn check(&self, pipe: &Pipe, context: &str) -> Result<(), Error> {
        if pipe.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        // Only the first command may be a plain value, because the others get an argument.
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            if matches!(
                command.words[0],
                Expr::Bool(..) | Expr::Dot(_) | Expr::Nil(_) | Expr::Number(_) | Expr::Text(_)
            ) {
                return Err(self.error(format!("non executable command in pipeline stage {}", index + 1)));
            }
        }
        Ok(())
    }

    /// Operands up to a pipe or the end of the pipeline.
    fn command(&mut self) -> Result<Command, Error> {
        let mut command = Command { position: self.peek_word().start, words: Vec::new() };
        loop {
            self.peek_word();
            command.words.extend(self.operand()?);
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelimiter | Kind::RightParen => self.back_up(),
                Kind::Pipe => {}
                _ => return Err(self.unexpected(token, "operand")),
            }
            break;
        }
        if command.words.is_empty() {
            return Err(self.error("empty command"));
        }
        command.words.shrink_to_fit();
        Ok(command)
    }

    /// A term and the fields that follow it.
    fn operand(&mut self) -> Result<Option<Expr>, Error> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let first = self.peek();
        if first.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            let token = self.next();
            fields.push(self.field_name(token));
        }
        // The place of a chain is its second part, as in Go.
        Ok(Some(match term {
            Expr::Field(_, names) => Expr::Field(first.start, joined(names, fields)),
            Expr::Variable(_, id, names) => Expr::Variable(first.start, id, joined(names, fields)),
            Expr::Bool(..) | Expr::Text(_) | Expr::Number(_) | Expr::Nil(_) | Expr::Dot(_) => {
                let text = quote::quote(self.literal_text(&term).as_bytes());
                return Err(self.error(format!("unexpected . after term {text}")));
            }
            _ => Expr::Chain(first.start, Box::new(term), fields.into()),
        }))
    }

    fn literal_text(&self, term: &Expr) -> Str {
        match term {
            Expr::Bool(_, true) => "true".into(),
            Expr::Bool(_, false) => "false".into(),
            Expr::Text(text) => text.quoted.clone(),
            Expr::Number(number) => number.text.clone(),
            Expr::Nil(_) => "nil".into(),
            _ => ".".into(),
        }
    }

    fn field_name(&self, token: Token) -> Str {
        // Without the dot.
        Str::new(&self.lexer.text(token)[1..])
    }

    fn term(&mut self) -> Result<Option<Expr>, Error> {
        let token = self.next_word();
        let text = self.lexer.text(token);
        let term = match token.kind {
            Kind::Identifier => Expr::Function(token.start, self.callee(text)?),
            Kind::Dot => Expr::Dot(token.start),
            Kind::Nil => Expr::Nil(token.start),
            Kind::Variable => {
                let id = self.variable_id(text);
                if !self.state.variables.contains(&id) {
                    return Err(self.error(format!("undefined variable {}", quote::quote(text))));
                }
                Expr::Variable(token.start, id, Box::default())
            }
            Kind::Field => Expr::Field(token.start, Box::new([self.field_name(token)])),
            Kind::Bool => Expr::Bool(token.start, text == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let number = match token.kind {
                    Kind::CharConstant => literal::character(text),
                    Kind::Complex => literal::complex(text),
                    _ => literal::number(text),
                };
                let mut number = number.map_err(|message| self.error(message))?;
                number.position = token.start;
                Expr::Number(Box::new(number))
            }
            Kind::LeftParen => {
                if self.state.paren_depth >= MAX_PAREN_DEPTH {
                    return Err(self.error("max expression depth exceeded"));
                }
                self.state.paren_depth += 1;
                let pipe = with_stack(|| self.pipeline("parenthesized pipeline", Kind::RightParen))?;
                self.state.paren_depth -= 1;
                Expr::Pipe(Box::new(pipe))
            }
            Kind::Quoted | Kind::RawText => {
                let quoted = self.source.slice(token.start as usize..token.end as usize);
                // Most texts are what stands between the quotes, which needs no copy.
                let value = match literal::is_plain(text) {
                    true => quoted.slice(1..quoted.len() - 1),
                    false => Str::from(literal::unquote(text).map_err(|message| self.error(message))?),
                };
                Expr::Text(Box::new(Text { position: token.start, quoted, value: Value::Str(value) }))
            }
            _ => {
                self.back_up();
                return Ok(None);
            }
        };
        Ok(Some(term))
    }

    fn callee(&self, name: &[u8]) -> Result<Callee, Error> {
        let known = std::str::from_utf8(name).ok().and_then(|name| {
            let function = self.functions.get(name).map(|function| Callee::Function(function.clone()));
            function.or_else(|| Builtin::named(name).map(Callee::Builtin))
        });
        known.ok_or_else(|| self.error(format!("function {} not defined", quote::quote(name))))
    }
}

fn joined(names: Box<[Str]>, fields: Vec<Str>) -> Box<[Str]> {
    names.into_iter().chain(fields).collect()
}
