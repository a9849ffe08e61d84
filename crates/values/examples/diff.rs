//! temp
#![allow(clippy::all, clippy::print_stdout)]
use std::io::BufRead;
use pintle_tree::{json, Node};
fn norm(s: &str) -> Vec<String> { let mut v: Vec<String> = s.lines().map(|l| { if let Some(i) = l.find("additional properties ") { let mut p: Vec<&str> = l[i+22..].trim_end_matches(" not allowed").split(", ").collect(); p.sort(); format!("{}{}", &l[..i], p.join(",")) } else { l.to_owned() } }).collect(); v.sort(); v }
fn main() {
    let mut n = 0; let mut bad = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let case = json::read(line.as_bytes()).unwrap();
        let schema = case.get("schema").unwrap().as_str().unwrap().to_owned();
        let values = case.get("values").unwrap().clone();
        let values = if values.is_nil() { Node::empty_map() } else { values };
        let err = case.get("err").unwrap().as_str().unwrap().to_owned();
        let mut read = |name: &str| Err(format!("open {name}: no such file or directory"));
        let ours = pintle_values::schema::check_json(&values, schema.as_bytes(), &mut read, &mut Vec::new()).err().unwrap_or_default();
        n += 1;
        if norm(&ours) != norm(&err) { bad += 1; if bad <= 12 { println!("SCHEMA {schema}\nVALUES {}\nGO   {err}\nOURS {ours}\n", String::from_utf8_lossy(&json::write_raw(&values).unwrap())); } }
    }
    println!("{} of {n}", n - bad);
}
