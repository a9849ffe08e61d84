//! Random changes to random trees, made by a script and by a model, must give the same result.

use crate::common;

use common::{scripted, test_env, yaml};
use pintle_events::{Context, Event};
use pintle_tree::{Map, Node, Str};

/// A deterministic pseudo-random generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most.max(1) as u64).expect("it is small")
    }

    fn tree(&mut self, depth: usize) -> Node {
        match self.below(if depth == 0 { 7 } else { 11 }) {
            0 => Node::Nil,
            1 => Node::Bool(self.below(2) == 0),
            2 => Node::Int(i64::MAX - i64::try_from(self.below(9)).expect("it is small")),
            3 => Node::Int(i64::try_from(self.below(100)).expect("it is small") - 50),
            4 => Node::Float(0.25),
            5 => Node::Str(Str::new([b'\xff', b'a'])),
            6 => Node::from("text that is longer than what fits inline"),
            7 | 8 => Node::List((0..self.below(5)).map(|_| self.tree(depth - 1)).collect()),
            _ => Node::Map(self.map(depth - 1)),
        }
    }

    fn map(&mut self, depth: usize) -> Map<Node> {
        let count = self.below(6);
        (0..count).map(|_| (Str::from(self.key()), self.tree(depth))).collect()
    }

    fn key(&mut self) -> &'static str {
        ["a", "b", "c", "odd key", "e.f", "g"][self.below(6)]
    }

    /// The path of some map or list: steps that scripts write, and steps for the model.
    fn path(&mut self, tree: &Node) -> (String, Vec<Nesting>) {
        let (mut text, mut steps, mut node) = ("ctx.values".to_owned(), Vec::new(), tree);
        while self.below(4) != 0 {
            let children: Vec<(Nesting, &Node)> = match node {
                Node::Map(map) => map.iter().map(|(key, node)| (Nesting::Key(key.clone()), node)).collect(),
                Node::List(list) => {
                    list.iter().enumerate().map(|(at, node)| (Nesting::Index(at), node)).collect()
                }
                _ => Vec::new(),
            };
            let deeper: Vec<&(Nesting, &Node)> =
                children.iter().filter(|(_, node)| matches!(node, Node::Map(_) | Node::List(_))).collect();
            if deeper.is_empty() {
                break;
            }
            let (step, below) = deeper[self.below(deeper.len())];
            match step {
                Nesting::Key(key) => text.push_str(&format!("[{:?}]", key.to_str_lossy())),
                Nesting::Index(index) => text.push_str(&format!("[{}]", index + 1)),
            }
            steps.push(step.clone());
            node = below;
        }
        (text, steps)
    }
}

#[derive(Clone)]
enum Nesting {
    Key(Str),
    Index(usize),
}

fn at<'a>(tree: &'a mut Node, steps: &[Nesting]) -> &'a mut Node {
    steps.iter().fold(tree, |node, step| match (node, step) {
        (Node::Map(map), Nesting::Key(key)) => map.get_mut(key).expect("the path is there"),
        (Node::List(list), Nesting::Index(index)) => &mut list[*index],
        _ => panic!("the path does not fit"),
    })
}

/// Makes one change to the model, and gives the line of a script that makes the same.
fn change(chance: &mut Chance, tree: &mut Node) -> String {
    let (path, steps) = chance.path(tree);
    let (other, other_steps) = chance.path(tree);
    let copied = at(tree, &other_steps).clone();
    let inside = other_steps.len() <= steps.len();
    match at(tree, &steps) {
        Node::Map(map) => match chance.below(4) {
            0 => {
                let key = chance.key();
                map.remove(key);
                format!("{path}[{key:?}] = nil")
            }
            1 => {
                let key = chance.key();
                map.insert(key.into(), Node::List(vec![Node::Int(1), Node::empty_map()]));
                format!("{path}[{key:?}] = array({{1, {{}}}})")
            }
            // A table cannot be put into itself, so only deeper tables outside of this one are copied.
            2 if !inside && !other.starts_with(&path) => {
                let key = chance.key();
                map.insert(key.into(), copied);
                // A copy, because the model cannot share a table between two paths.
                format!("{path}[{key:?}] = copy({other})")
            }
            _ => {
                let key = chance.key();
                map.insert(key.into(), "new".into());
                format!("{path}[{key:?}] = 'new'")
            }
        },
        Node::List(list) => match chance.below(4) {
            0 if !list.is_empty() => {
                let index = chance.below(list.len());
                list.remove(index);
                format!("table.remove({path}, {})", index + 1)
            }
            1 if list.len() > 1 => {
                let (one, two) = (chance.below(list.len()), chance.below(list.len()));
                list.swap(one, two);
                let (one, two) = (one + 1, two + 1);
                format!("{path}[{one}], {path}[{two}] = {path}[{two}], {path}[{one}]")
            }
            2 => {
                let index = chance.below(list.len() + 1);
                list.insert(index, Node::Bool(true));
                format!("table.insert({path}, {}, true)", index + 1)
            }
            _ => {
                list.push("new".into());
                format!("table.insert({path}, 'new')")
            }
        },
        _ => String::new(),
    }
}

const COPY: &str = "local function copy(value)
    if type(value) ~= 'table' then return value end
    -- An empty table of the script's own is a map, so what is empty is passed on as it is.
    if next(value) == nil then return value end
    local result = {}
    for key, item in value do result[key] = copy(item) end
    return result
end
";

#[test]
fn random_changes_come_back_as_they_were_made() {
    for seed in 1_u64..=300 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let values = chance.map(4);
        let mut expected = Node::Map(values.clone());
        let lines: Vec<String> = (0..chance.below(8)).map(|_| change(&mut chance, &mut expected)).collect();
        let body = lines.join("\n    ");
        let script = format!("{COPY}events.on('pre-render', function(ctx)\n    {body}\nend)");
        let mut context = Context::default().with_values(values.clone());
        test_env(&scripted("web", &script)).emit(Event::PreRender, &mut context);
        let before = yaml(&values);
        let Node::Map(expected) = expected else { panic!("values stay a map") };
        assert_eq!(context.all_values(), &expected, "seed {seed}:\n{script}\nbefore:\n{before}");
    }
}
