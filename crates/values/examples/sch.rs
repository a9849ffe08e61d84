//! temp
#![allow(clippy::all, clippy::print_stdout)]
use std::time::Instant;
use pintle_values::*;
use pintle_tree::Map;
fn walk(c: &pintle_chart::Chart, v: &pintle_tree::Node) {
    let mut read = |name: &str| Err(format!("open {name}: no such file or directory"));
    if let Some(s) = &c.schema {
        let mut best = std::time::Duration::MAX;
        for _ in 0..20 { let t = Instant::now(); let _ = schema::check_json(v, s, &mut read, &mut Vec::new()); best = best.min(t.elapsed()); }
        println!("{} {} bytes {:?}", c.name(), s.len(), best);
    }
    for s in &c.subcharts { if let Some(v) = v.get(s.name()) { walk(s, v) } }
}
fn main() {
    for path in std::env::args().skip(1) {
        println!("== {path}");
        let mut log0 = Vec::new(); let mut log = Vec::new();
        let chart = pintle_chart::load_file(path.as_ref(), &mut log0).unwrap();
        let user = Map::new();
        let chart = process_dependencies(chart, &user, NullRules::Helm4, &mut log).unwrap();
        let values = pintle_tree::Node::Map(coalesce(&chart, &user, NullRules::Helm4, &mut log).unwrap());
        walk(&chart, &values);
    }
}
