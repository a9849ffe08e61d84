//! What functions make of what they are called with.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_gotmpl::syntax::{NodeId, NodeKind};
use pintle_tree::Str;

use super::{Call, Walker};
use crate::shape::{Shape, Types, dict_of};

/// An argument: its node, unless it is piped, and what it may be.
type Argument = (Option<NodeId>, Types);

impl Walker<'_> {
    /// The value of a command.
    pub(super) fn command(&mut self, node: NodeId, piped: Option<Types>) -> Types {
        self.visit(node);
        let tree = self.tree;
        let words: Vec<NodeId> = tree.children(node).collect();
        let Some((&first, arguments)) = words.split_first() else { return Types::default() };
        if tree.kind(first) == NodeKind::Function {
            self.visit(first);
            return self.function(first, arguments, piped);
        }
        let types = self.operand(first);
        // Arguments of a method, as of `.Files.Get`.
        for argument in arguments {
            self.operand(*argument);
        }
        if arguments.is_empty() && piped.is_none() { types } else { self.method(first, types) }
    }

    /// The result of a method: nothing is known, except that a field may have been meant.
    fn method(&self, first: NodeId, types: Types) -> Types {
        if self.tree.kind(first) == NodeKind::Selector { Types::default() } else { types }
    }

    pub(super) fn function(&mut self, node: NodeId, nodes: &[NodeId], piped: Option<Types>) -> Types {
        let mut arguments: Vec<Argument> = Vec::new();
        for node in nodes {
            let types = self.operand(*node);
            arguments.push((Some(*node), types));
        }
        arguments.extend(piped.map(|types| (None, types)));
        let name = String::from_utf8_lossy(self.tree.text_of(node)).into_owned();
        let plain = match name.strip_prefix("must") {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_uppercase()) => {
                format!("{}{}", rest[..1].to_ascii_lowercase(), &rest[1..])
            }
            _ => name,
        };
        self.call(&plain, &arguments)
    }

    fn call(&mut self, name: &str, arguments: &[Argument]) -> Types {
        let types = |index: usize| arguments.get(index).map(|(_, types)| types.clone()).unwrap_or_default();
        let last = || arguments.last().map(|(_, types)| types.clone()).unwrap_or_default();
        let all = || arguments.iter().fold(Types::default(), |all, (_, types)| all.or(types));
        match name {
            "include" => self.include(arguments),
            "default" | "coalesce" | "or" | "and" | "merge" | "mergeOverwrite" | "deepCopy" => all(),
            "concat" => {
                let items = arguments.iter().map(|(_, types)| self.world.element(types));
                Types::one(Shape::List(items.fold(Types::default(), |all, item| all.or(&item)).limited()))
            }
            "required" => last(),
            "ternary" => types(0).or(&types(1)),
            "index" => self.index(arguments),
            "get" => self.keyed(&types(0), arguments.get(1)),
            "hasKey" => {
                self.keyed(&types(0), arguments.get(1));
                Types::default()
            }
            "dig" => self.dig(arguments),
            "pluck" => {
                let maps = arguments.iter().skip(1).fold(Types::default(), |all, (_, types)| all.or(types));
                Types::one(Shape::List(self.keyed(&maps, arguments.first())))
            }
            "dict" => self.dict(arguments),
            "list" | "tuple" => Types::one(Shape::List(all().limited())),
            "append" | "push" => self.appended(&types(0), &types(1)),
            "prepend" => self.appended(&types(0), &types(1)),
            "first" | "last" | "splitList" => self.world.element(&last()),
            "rest" | "initial" | "reverse" | "uniq" | "compact" | "sortAlpha" | "slice" | "without" => {
                types(0)
            }
            "chunk" => Types::one(Shape::List(last())),
            "values" => Types::one(Shape::List(self.world.element(&all()))),
            "keys" => self.keys_of(arguments),
            "pick" | "omit" | "unset" => {
                self.mark_keys(&types(0), arguments.get(1..).unwrap_or_default());
                types(0)
            }
            "set" => self.set(arguments),
            "toYaml" | "toJson" | "toPrettyJson" | "toRawJson" | "toYamlPretty" => {
                Types::one(Shape::Encoded(last().limited()))
            }
            "fromYaml" | "fromJson" | "fromYamlArray" | "fromJsonArray" => {
                Types::collect(last().shapes().iter().flat_map(|shape| match shape {
                    Shape::Encoded(types) => types.shapes().to_vec(),
                    _ => Vec::new(),
                }))
            }
            "tpl" | "trim" | "nindent" | "indent" | "toString" => {
                let text = if name == "tpl" { types(0) } else { last() };
                Types::collect(
                    text.shapes().iter().filter(|shape| matches!(shape, Shape::Encoded(_))).cloned(),
                )
            }
            _ => Types::default(),
        }
    }

    fn include(&mut self, arguments: &[Argument]) -> Types {
        let Some((node, names)) = arguments.first() else { return Types::default() };
        if let (Some(facts), Some(node)) = (&mut self.facts, node) {
            facts.names.insert(*node, ());
        }
        let context = arguments.get(1).map(|(_, types)| types.clone()).unwrap_or_default();
        for name in names.texts() {
            self.outcome.calls.push(Call { name: name.clone(), context: context.clone().limited() });
        }
        Types::default()
    }

    /// What is at a key: exactly that if the key is known, else any.
    fn keyed(&mut self, of: &Types, key: Option<&Argument>) -> Types {
        let Some((node, key)) = key else { return Types::default() };
        self.mark(*node, of);
        let mut found = Types::default();
        for text in key.texts() {
            found = found.or(&self.world.select(of, &text.to_str_lossy()));
        }
        if found.is_unknown() && key.texts().next().is_none() { self.world.element(of) } else { found }
    }

    /// A string is a key of something.
    fn mark(&mut self, node: Option<NodeId>, of: &Types) {
        if let (Some(facts), Some(node)) = (&mut self.facts, node)
            && self.tree.kind(node) == NodeKind::String
        {
            let known = facts.keys.entry(node).or_default();
            *known = known.or(of);
        }
    }

    fn mark_keys(&mut self, of: &Types, keys: &[Argument]) {
        for (node, _) in keys {
            self.mark(*node, of);
        }
    }

    fn index(&mut self, arguments: &[Argument]) -> Types {
        let mut types = arguments.first().map(|(_, types)| types.clone()).unwrap_or_default();
        for key in arguments.iter().skip(1) {
            types = self.keyed(&types, Some(key));
        }
        types
    }

    /// `dig KEY… DEFAULT MAP`.
    fn dig(&mut self, arguments: &[Argument]) -> Types {
        let [keys @ .., default, (_, map)] = arguments else { return Types::default() };
        let mut types = map.clone();
        for key in keys {
            types = self.keyed(&types, Some(key));
        }
        types.or(&default.1)
    }

    fn dict(&mut self, arguments: &[Argument]) -> Types {
        let mut shapes = vec![Shape::Dict(Arc::new(BTreeMap::new()))];
        for pair in arguments.chunks(2) {
            let [(node, key), (_, value)] = pair else { continue };
            let site = self.site(*node);
            shapes.extend(key.texts().map(|key| dict_of(key.clone(), value.clone(), site)));
        }
        Types::collect(shapes)
    }

    fn site(&self, node: Option<NodeId>) -> crate::shape::Site {
        let range = node.map_or(0..0, |node| self.tree.range(node));
        (self.file, range.start, range.end)
    }

    fn appended(&self, list: &Types, item: &Types) -> Types {
        let items = self.world.element(list).or(item);
        Types::collect(list.shapes().iter().cloned().chain([Shape::List(items.limited())]))
    }

    fn keys_of(&self, arguments: &[Argument]) -> Types {
        let keys = arguments.iter().flat_map(|(_, types)| types.shapes()).flat_map(|shape| match shape {
            Shape::Dict(dict) => dict.keys().cloned().map(Shape::Text).collect(),
            _ => Vec::new(),
        });
        Types::one(Shape::List(Types::collect(keys)))
    }

    /// `set MAP KEY VALUE`: changes the map, which a variable may hold.
    fn set(&mut self, arguments: &[Argument]) -> Types {
        let [(map, of), (key, name), (_, value)] = arguments else { return Types::default() };
        let site = self.site(*key);
        let names: Vec<Str> = name.texts().cloned().collect();
        for name in names {
            for shape in of.shapes() {
                if matches!(shape, Shape::Root(_) | Shape::Values(..)) {
                    self.outcome.sets.push((shape.clone(), name.clone(), value.clone().limited(), site));
                }
            }
            let Some(variable) = map.filter(|node| self.tree.kind(*node) == NodeKind::Variable) else {
                continue;
            };
            let variable: Str = self.tree.name(variable).into();
            let entry = dict_of(name, value.clone(), site);
            if let Some(known) = self.env.variables.iter_mut().rev().find(|known| known.name == variable) {
                known.types = known.types.or(&Types::one(entry)).limited();
            }
        }
        of.clone()
    }
}
