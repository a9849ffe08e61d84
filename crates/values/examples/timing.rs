//! temp
#![allow(clippy::all, clippy::print_stdout)]
use std::time::Instant;
use pintle_values::*;
use pintle_tree::Map;
fn main() {
    for path in std::env::args().skip(1) {
        let mut log0 = Vec::new(); let mut log = Vec::new();
        let t = Instant::now();
        let Ok(chart) = pintle_chart::load_file(path.as_ref(), &mut log0) else { println!("no load {path}"); continue };
        let load = t.elapsed();
        let user = Map::new();
        let t = Instant::now();
        let chart = match process_dependencies(chart, &user, NullRules::Helm4, &mut log) { Ok(c) => c, Err(e) => { println!("{path}: {e}"); continue } };
        let deps = t.elapsed();
        let t = Instant::now();
        let values = coalesce(&chart, &user, NullRules::Helm4, &mut log).unwrap();
        let coal = t.elapsed();
        let mut read = |name: &str| Err(format!("open {name}: no such file or directory"));
        let t = Instant::now();
        let values = pintle_tree::Node::Map(values);
        let r = schema::check(&chart, &values, &mut read, &mut log);
        let sch = t.elapsed();
        println!("{:>8.0?} load {:>8.0?} deps {:>8.0?} coalesce {:>8.0?} schema {} {}", load, deps, coal, sch, path.rsplit('/').next().unwrap(), r.err().map(|e| e.to_string()).unwrap_or_default().lines().take(3).collect::<Vec<_>>().join("|"));
    }
}
