//! The parser: blocks, definitions, and the state that Go's parser keeps, because its messages depend on it.
//! Error messages of Go's parser name the line of the token that was read last, not of the one that is wrong.
//! So the lookahead buffer and each `peek` are reproduced exactly; a call that looks redundant usually moves
//! that line.

mod expression;
pub(crate) mod literal;

use std::rc::Rc;
use std::sync::Arc;

use pintle_tree::{Str, quote};

use crate::ast::{Branch, Call, Command, Expr, Node, Position, Source, Tree, VariableId};
use crate::error::Error;
use crate::function::Functions;
use crate::lex::{Kind, Lexer, Token};
use crate::pool::{Id, Span};
use crate::print::with_stack;

/// The maximum nesting of blocks. Go has none; it keeps generated templates from exhausting memory.
const MAX_BLOCK_DEPTH: usize = 100_000;

/// A parsed source with its definitions. `Send`, unlike the trees built from it.
pub(crate) struct ParsedSource {
    source: Source,
    templates: Vec<ParsedTemplate>,
}

impl ParsedSource {
    /// The templates: the definitions of the source, and the source itself, which is last.
    pub(crate) fn into_trees(self) -> impl Iterator<Item = Rc<Tree>> {
        let source = Rc::new(self.source);
        self.templates.into_iter().map(move |draft| {
            Rc::new(Tree { name: draft.name, nodes: draft.nodes, source: Rc::clone(&source) })
        })
    }
}

/// Parses a source into its templates.
pub(crate) fn parse(name: &Str, text: &Str, functions: &Arc<Functions>) -> Result<ParsedSource, Error> {
    let mut parser = Parser::new(name, text, functions);
    let nodes = parser.source_nodes()?;
    parser.add(nodes)?;
    let Parser { mut source, templates, .. } = parser;
    source.shrink();
    Ok(ParsedSource { source, templates })
}

/// A parsed template, while its source is not finished.
struct ParsedTemplate {
    name: Str,
    nodes: Span<Node>,
}

/// Parts of lists being parsed. Those of an inner list are above those of the enclosing lists.
#[derive(Default)]
struct PendingLists {
    nodes: Vec<Node>,
    commands: Vec<Command>,
    words: Vec<Expr>,
}

/// The state of Go's parser for each template.
struct State {
    name: Str,
    /// The last token, and tokens pushed back before it.
    tokens: [Token; 3],
    waiting: usize,
    variables: Vec<VariableId>,
    action: Option<Position>,
    range_depth: usize,
    paren_depth: usize,
}

impl State {
    fn new(name: Str) -> Self {
        let none = Token { kind: Kind::End, start: 0, end: 0 };
        State {
            name,
            tokens: [none; 3],
            waiting: 0,
            variables: vec![0],
            action: None,
            range_depth: 0,
            paren_depth: 0,
        }
    }
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    source: Source,
    waiting: PendingLists,
    state: State,
    templates: Vec<ParsedTemplate>,
    block_depth: usize,
}

/// What ends a list of nodes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    End,
    Else,
}

impl Ending {
    fn text(self) -> &'static str {
        match self {
            Ending::End => "{{end}}",
            Ending::Else => "{{else}}",
        }
    }
}

/// A node, or the end of a list of nodes.
enum Item {
    Node(Node),
    Ending(Ending),
}

impl<'s> Parser<'s> {
    fn new(name: &Str, text: &'s Str, functions: &Arc<Functions>) -> Self {
        let mut lexer = Lexer::new(text.as_bytes());
        lexer.break_is_keyword = functions.get("break").is_none();
        lexer.continue_is_keyword = functions.get("continue").is_none();
        Parser {
            lexer,
            source: Source::new(name, text, functions),
            waiting: PendingLists::default(),
            state: State::new(name.clone()),
            templates: Vec::new(),
            block_depth: 0,
        }
    }

    // Tokens, with Go's lookahead of three.

    fn next(&mut self) -> Token {
        if self.state.waiting > 0 {
            self.state.waiting -= 1;
        } else {
            self.state.tokens[0] = self.lexer.next();
        }
        self.state.tokens[self.state.waiting]
    }

    fn back_up(&mut self) {
        self.state.waiting += 1;
    }

    fn back_up_two(&mut self, first: Token) {
        self.state.tokens[1] = first;
        self.state.waiting = 2;
    }

    fn back_up_three(&mut self, first: Token, second: Token) {
        self.state.tokens[1] = second;
        self.state.tokens[2] = first;
        self.state.waiting = 3;
    }

    fn peek(&mut self) -> Token {
        if self.state.waiting == 0 {
            self.state.waiting = 1;
            self.state.tokens[0] = self.lexer.next();
        }
        self.state.tokens[self.state.waiting - 1]
    }

    fn next_token(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_token(&mut self) -> Token {
        let token = self.next_token();
        self.back_up();
        token
    }

    // Errors.

    fn line(&self, position: Position) -> usize {
        let before = &self.source.text.as_bytes()[..position as usize];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    fn error(&self, message: impl Into<String>) -> Error {
        // Slot 0 is the token that the lexer produced last, even if others were pushed back in front of it.
        let position = self.state.tokens[0].start;
        Error::parse(&self.source.name, &self.source.text, position, message.into())
    }

    fn unexpected(&self, token: Token, context: &str) -> Error {
        if token.kind != Kind::Error {
            return self.error(format!("unexpected {} in {context}", self.shown(token)));
        }
        let mut message = self.lexer.error.clone();
        if let Some(action) = self.state.action
            && self.line(action) != self.line(token.start)
        {
            // "unclosed action in action" would repeat itself.
            let link = if message.ends_with(" action") { " started at" } else { " in action started at" };
            message.push_str(&format!("{link} {}:{}", self.source.name, self.line(action)));
        }
        self.error(message)
    }

    /// A token as messages show it.
    fn shown(&self, token: Token) -> String {
        let text = self.lexer.text(token);
        match token.kind {
            Kind::End => "EOF".to_owned(),
            Kind::Error => self.lexer.error.clone(),
            kind if kind.is_keyword() => format!("<{}>", String::from_utf8_lossy(text)),
            _ if text.len() > 10 => {
                // Go cuts long tokens with `%.10q...`, which puts the dots behind the closing quote.
                let shown = crate::printf::format(b"%.10q...", &[crate::value::Value::str(text)]);
                String::from_utf8_lossy(&shown).into_owned()
            }
            _ => quote::quote(text),
        }
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Result<Token, Error> {
        let token = self.next_token();
        if token.kind == kind { Ok(token) } else { Err(self.unexpected(token, context)) }
    }

    fn quoted_name(&mut self, context: &str) -> Result<(Token, Str), Error> {
        let token = self.next_token();
        if !matches!(token.kind, Kind::Quoted | Kind::RawText) {
            return Err(self.unexpected(token, context));
        }
        Ok((token, self.unquoted(token)?))
    }

    /// The content of a quoted string.
    fn unquoted(&self, token: Token) -> Result<Str, Error> {
        let quoted = self.lexer.text(token);
        // Most strings are plain, which needs no copy.
        if literal::is_plain(quoted) {
            return Ok(self.source.text.slice(token.start as usize + 1..token.end as usize - 1));
        }
        literal::unquote(quoted).map(Str::from).map_err(|message| self.error(message))
    }

    // Templates.

    /// Adds the current template to the definitions of the source.
    fn add(&mut self, nodes: Span<Node>) -> Result<(), Error> {
        let name = self.state.name.clone();
        // Go allows a second definition in one source only if one of the two is blank, and keeps the other
        // one.
        match self.templates.iter().position(|draft| draft.name == name) {
            None => self.templates.push(ParsedTemplate { name, nodes }),
            Some(at) if self.source.is_blank(self.templates[at].nodes) => {
                // The source itself must stay last.
                self.templates.remove(at);
                self.templates.push(ParsedTemplate { name, nodes });
            }
            Some(at) if self.source.is_blank(nodes) => {
                let kept = self.templates.remove(at);
                self.templates.push(kept);
            }
            Some(_) => {
                let name = quote::quote(name.as_bytes());
                return Err(self.error(format!("template: multiple definition of template {name}")));
            }
        }
        Ok(())
    }

    /// Everything up to the end of the source, including definitions.
    fn source_nodes(&mut self) -> Result<Span<Node>, Error> {
        loop {
            match self.peek().kind {
                Kind::End => return Ok(self.source.nodes.take(&mut self.waiting.nodes, 0)),
                Kind::LeftDelimiter => {
                    let delimiter = self.next();
                    if self.next_token().kind == Kind::KeywordDefine {
                        self.definition()?;
                        continue;
                    }
                    self.back_up_two(delimiter);
                }
                _ => {}
            }
            match self.text_or_action()? {
                Item::Node(node) => self.waiting.nodes.push(node),
                Item::Ending(ending) => return Err(self.error(format!("unexpected {}", ending.text()))),
            }
        }
    }

    fn definition(&mut self) -> Result<(), Error> {
        const CONTEXT: &str = "define clause";
        // Go parses a definition with a tree of its own, whose lookahead starts empty. So a `break` in it is
        // not inside a `range` around the definition, and its variables are not visible.
        let outer = std::mem::replace(&mut self.state, State::new(Str::EMPTY));
        self.state.name = self.quoted_name(CONTEXT)?.1;
        self.expect(Kind::RightDelimiter, CONTEXT)?;
        let (nodes, ending) = self.list()?;
        if ending != Ending::End {
            return Err(self.error(format!("unexpected {} in {CONTEXT}", ending.text())));
        }
        self.add(nodes)?;
        self.state = outer;
        Ok(())
    }

    /// Nodes up to `{{end}}` or `{{else}}`.
    fn list(&mut self) -> Result<(Span<Node>, Ending), Error> {
        let base = self.waiting.nodes.len();
        // This skips blanks, although there are none outside of actions: Go uses `peekNonSpace`, which fills
        // the lookahead.
        while self.peek_token().kind != Kind::End {
            match self.text_or_action()? {
                Item::Node(node) => self.waiting.nodes.push(node),
                Item::Ending(ending) => {
                    return Ok((self.source.nodes.take(&mut self.waiting.nodes, base), ending));
                }
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Item, Error> {
        let token = self.next_token();
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text { start: token.start, end: token.end })),
            Kind::LeftDelimiter => {
                self.state.action = Some(token.start);
                let item = with_stack(|| self.action());
                self.state.action = None;
                item
            }
            _ => Err(self.unexpected(token, "input")),
        }
    }

    fn action(&mut self) -> Result<Item, Error> {
        let token = self.next_token();
        let node = match token.kind {
            Kind::KeywordBlock => self.block()?,
            Kind::KeywordBreak => {
                self.loop_control("break")?;
                Node::Break(token.start)
            }
            Kind::KeywordContinue => {
                self.loop_control("continue")?;
                Node::Continue(token.start)
            }
            Kind::KeywordElse => return self.otherwise(),
            Kind::KeywordEnd => {
                self.expect(Kind::RightDelimiter, "end")?;
                return Ok(Item::Ending(Ending::End));
            }
            Kind::KeywordIf => Node::If(self.branch("if")?),
            Kind::KeywordRange => Node::Range(self.branch("range")?),
            Kind::KeywordWith => Node::With(self.branch("with")?),
            Kind::KeywordTemplate => self.template_call()?,
            _ => {
                self.back_up();
                self.peek();
                Node::Action(self.pipeline("command", Kind::RightDelimiter)?)
            }
        };
        Ok(Item::Node(node))
    }

    fn loop_control(&mut self, word: &str) -> Result<(), Error> {
        let token = self.next_token();
        if token.kind != Kind::RightDelimiter {
            return Err(self.unexpected(token, &format!("{{{{{word}}}}}")));
        }
        if self.state.range_depth == 0 {
            return Err(self.error(format!("{{{{{word}}}}} outside {{{{range}}}}")));
        }
        Ok(())
    }

    fn otherwise(&mut self) -> Result<Item, Error> {
        // In "else if" and "else with" the second keyword is left for the branch.
        if !matches!(self.peek_token().kind, Kind::KeywordIf | Kind::KeywordWith) {
            self.expect(Kind::RightDelimiter, "else")?;
        }
        Ok(Item::Ending(Ending::Else))
    }

    fn branch(&mut self, context: &str) -> Result<Id<Branch>, Error> {
        self.block_depth += 1;
        if self.block_depth > MAX_BLOCK_DEPTH {
            return Err(self.error("max block depth exceeded"));
        }
        let outer_variables = self.state.variables.len();
        let pipe = self.pipeline(context, Kind::RightDelimiter)?;
        let looping = usize::from(context == "range");
        self.state.range_depth += looping;
        let (list, ending) = self.list()?;
        self.state.range_depth -= looping;
        let otherwise = match ending {
            Ending::End => Span::EMPTY,
            Ending::Else => self.else_list(context)?,
        };
        self.state.variables.truncate(outer_variables);
        self.block_depth -= 1;
        Ok(self.source.branches.push(Branch { pipe, list, otherwise }))
    }

    fn else_list(&mut self, context: &str) -> Result<Span<Node>, Error> {
        let next = self.peek().kind;
        if context == "if" && next == Kind::KeywordIf {
            self.next();
            // As in Go, `else if` is an `if` inside the `else` list, and shares its `{{end}}`.
            let branch = with_stack(|| self.branch("if"))?;
            return Ok(self.source.nodes.push_single(Node::If(branch)));
        }
        if context == "with" && next == Kind::KeywordWith {
            self.next();
            let branch = with_stack(|| self.branch("with"))?;
            return Ok(self.source.nodes.push_single(Node::With(branch)));
        }
        let (list, ending) = self.list()?;
        if ending != Ending::End {
            return Err(self.error(format!("expected end; found {}", ending.text())));
        }
        Ok(list)
    }

    /// A definition that is also called in place.
    fn block(&mut self) -> Result<Node, Error> {
        const CONTEXT: &str = "block clause";
        let (token, name) = self.quoted_name(CONTEXT)?;
        // Parsed in the state of the enclosing template: the argument of a block sees its variables.
        let pipe = self.pipeline(CONTEXT, Kind::RightDelimiter)?;
        self.block_depth += 1;
        if self.block_depth > MAX_BLOCK_DEPTH {
            return Err(self.error("max block depth exceeded"));
        }
        let outer = std::mem::replace(&mut self.state, State::new(name.clone()));
        let (nodes, ending) = self.list()?;
        if ending != Ending::End {
            // Go reports this one from the state of the outer template.
            self.state = outer;
            return Err(self.error(format!("unexpected {} in {CONTEXT}", ending.text())));
        }
        self.add(nodes)?;
        self.state = outer;
        self.block_depth -= 1;
        let call = Call { position: token.start, name, pipe: Some(pipe) };
        Ok(Node::Template(self.source.calls.push(call)))
    }

    fn template_call(&mut self) -> Result<Node, Error> {
        const CONTEXT: &str = "template clause";
        let (token, name) = self.quoted_name(CONTEXT)?;
        let mut pipe = None;
        if self.next_token().kind != Kind::RightDelimiter {
            self.back_up();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelimiter)?);
        }
        Ok(Node::Template(self.source.calls.push(Call { position: token.start, name, pipe })))
    }
}
