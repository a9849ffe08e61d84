//! The running time of every native function must grow linearly with its arguments, or be ended by a limit.
//!
//! `cargo xtask native-functions` runs the same with larger arguments and writes the table in
//! docs/contributing/native-functions.md.

use crate::common::{chart, error_chain, services, try_test_env};

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pintle_lua::{Limits, Permissions, Scripts};

/// Names the file to write the table of functions to.
const VARIABLE: &str = "PINTLE_NATIVE_LUA";

/// Names the maximum argument size, in bytes; without it, all sizes are measured.
const MAX_SIZE_VARIABLE: &str = "PINTLE_NATIVE_MOST";

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/contributing/native-functions.md");

/// The argument sizes that are compared, in bytes.
const SIZES: [usize; 2] = [4 << 10, 64 << 10];

/// The maximum cost ratio for sixteen times the size; quadratic functions are at 256.
const TOLERANCE: f64 = 96.0;

/// Calls faster than this are not compared.
const QUICK: Duration = Duration::from_millis(20);

/// How often a call is timed: before its instructions are counted, which takes seconds, and where they cannot be.
const ATTEMPTS: [usize; 2] = [5, 40];

const TEST: &str = "growth::no_native_function_takes_the_square_of_the_time";

/// Creates the arguments of the calls for a size `n`; this is not measured.
const GIVEN: &str = "
local s = ('a'):rep(n)
local b = s:sub(1, n // 2) .. 'b'
local words = ('Foo bar, '):rep(n // 9)
local digits = ('9'):rep(n)
local t, texts = {}, {}
for i = 1, n // 16 do t[i] = i; texts[i] = string.format('%08d', n - i) end
local keys = {}
for i, text in texts do keys[i] = 'k' .. text .. ' = 1' end
local document = table.concat(keys, '\\n')
local map = {}
for _, text in texts do map['k' .. text] = 'v' end
local bytes = buffer.fromstring(s)
local encoded = base64.encode(s)
";

/// Every native function with calls that could take longer than they should. Those that work on one number or one value
/// have none.
const CALLS: &[(&str, &[&str])] = &[
    ("string.byte", &["for i = 1, 100 do string.byte(s, i) end"]),
    ("string.char", &["string.char(97, 98)"]),
    ("string.find", &["s:find(b, 1, true)", "s:find(b)", "s:find('.-b')", "s:find('[^' .. b .. ']*$')"]),
    ("string.format", &["string.format('%s %q', s, words)"]),
    ("string.gmatch", &["for word in words:gmatch('%a+') do end", "for word in s:gmatch('a*b') do end"]),
    ("string.gsub", &["words:gsub('%s', '__')", "s:gsub('a*b', '')", "s:gsub(b, '')"]),
    ("string.len", &["s:len()"]),
    ("string.lower", &["words:lower()"]),
    ("string.match", &["words:match('^(.*)(.)$')", "s:match('a-b')", "s:match(b)"]),
    ("string.pack", &["string.pack('s4', s)"]),
    ("string.packsize", &["string.packsize('i4')"]),
    ("string.rep", &["string.rep('ab', n)"]),
    ("string.reverse", &["s:reverse()"]),
    ("string.split", &["words:split(', ')", "s:split(b)", "s:split('a')", "s:split('')"]),
    ("string.sub", &["s:sub(2, -2)"]),
    ("string.unpack", &["string.unpack('s4', string.pack('s4', s))"]),
    ("string.upper", &["words:upper()"]),
    ("table.clear", &["table.clear(t)"]),
    ("table.clone", &["table.clone(t)"]),
    ("table.concat", &["table.concat(texts, ', ')"]),
    ("table.create", &["table.create(n // 16, 1)"]),
    ("table.find", &["table.find(t, 0)"]),
    ("table.freeze", &["table.freeze(t)"]),
    ("table.insert", &["table.insert(t, 1, 0)"]),
    ("table.isfrozen", &["table.isfrozen(t)"]),
    ("table.maxn", &["table.maxn(t)"]),
    ("table.move", &["table.move(t, 1, #t, 2)"]),
    ("table.pack", &["table.pack(1, 2)"]),
    ("table.remove", &["table.remove(t, 1)"]),
    ("table.sort", &["table.sort(texts)", "table.sort(t, function(a, b) return a > b end)"]),
    ("table.unpack", &["table.unpack(t, 1, 200)"]),
    ("utf8.char", &["utf8.char(97)"]),
    ("utf8.codepoint", &["utf8.codepoint(s, 1, 100)"]),
    ("utf8.codes", &["for _ in utf8.codes(s) do end"]),
    ("utf8.len", &["utf8.len(s)"]),
    ("utf8.offset", &["utf8.offset(s, n)"]),
    ("buffer.copy", &["buffer.copy(bytes, 0, bytes)"]),
    ("buffer.create", &["buffer.create(n)"]),
    ("buffer.fill", &["buffer.fill(bytes, 0, 1)"]),
    ("buffer.fromstring", &["buffer.fromstring(s)"]),
    ("buffer.readstring", &["buffer.readstring(bytes, 0, n)"]),
    ("buffer.tostring", &["buffer.tostring(bytes)"]),
    ("buffer.writestring", &["buffer.writestring(bytes, 0, s)"]),
    ("tostring", &["tostring(s)", "tostring(t)"]),
    ("tonumber", &["tonumber(digits)", "tonumber(s, 16)"]),
    ("array", &["array(t)"]),
    ("print", &["pcall(print, s)"]),
    ("yaml.encode", &["yaml.encode(map)", "yaml.encode({ a = words })"]),
    ("yaml.decode", &["yaml.decode(('- a\\n'):rep(n // 4))", "yaml.decode('a: \"' .. words .. '\"')"]),
    ("yaml.decode_all", &["yaml.decode_all(('a: 1\\n---\\n'):rep(n // 9))"]),
    ("json.encode", &["json.encode(map)"]),
    ("json.pretty", &["json.pretty(map)"]),
    ("json.decode", &["json.decode('[' .. ('1,'):rep(n // 2) .. '1]')"]),
    ("toml.encode", &["toml.encode(map)"]),
    ("toml.decode", &["toml.decode(document)"]),
    ("semver.parse", &["pcall(semver.parse, '1.2.3-' .. s)", "pcall(semver.parse, digits)"]),
    ("semver.compare", &["pcall(semver.compare, '1.2.3-' .. s, '1.2.3-' .. b)"]),
    ("semver.satisfies", &["pcall(semver.satisfies, '1.2.3-' .. s, '>1')"]),
    ("base64.encode", &["base64.encode(s)"]),
    ("base64.decode", &["base64.decode(encoded)"]),
    ("hash.sha1", &["hash.sha1(s)"]),
    ("hash.sha256", &["hash.sha256(s)"]),
    ("hash.sha512", &["hash.sha512(s)"]),
    ("regex.match", &["regex.match('(a|b)*a(a|b){50}c', s)", "regex.match('(a*)*b', s)"]),
    ("regex.find", &["regex.find('a.*b', s)"]),
    ("regex.find_all", &["regex.find_all('a.*b|a', s)", "regex.find_all('o+', words)"]),
    ("regex.captures", &["regex.captures('(a*)(b?)', s)"]),
    ("regex.replace", &["regex.replace('o', words, '$0$0')"]),
    ("regex.split", &["regex.split(', ', words)"]),
    ("regex.quote", &["regex.quote(words)"]),
    ("log.debug", &["pcall(log.debug, s)"]),
    ("log.info", &["pcall(log.info, s)"]),
    ("log.warn", &["pcall(log.warn, s)"]),
    ("log.error", &["pcall(log.error, s)"]),
    ("template.render", &["template.render('{{ range . }}{{ . }}{{ end }}', t)", "template.render(words)"]),
];

/// Libraries whose functions take numbers or single values only, or ask services that have limits of their own.
const CONSTANT: &[&str] = &["math", "bit32", "coroutine", "kubernetes", "http", "fs", "os", "events"];

/// Functions of `buffer` that read or write one number.
fn is_constant(name: &str) -> bool {
    let (library, function) = name.split_once('.').unwrap_or((name, ""));
    let number = ["read", "write"].iter().any(|verb| function.starts_with(verb));
    CONSTANT.contains(&library) || (library == "buffer" && (number || function == "len"))
}

/// The CPU time of this thread, which does not depend on other load.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Runs a call on arguments of a size. Returns its error, if there is one.
fn load(call: &str, size: usize, limits: &Limits) -> Option<String> {
    let text = format!("local n = {size}\n{GIVEN}{call}\n");
    let chart = chart("web", &[("ext/lua/chart.lua", &text)]);
    let outcome = Scripts::load(&chart, &Permissions::none(), limits, &services(&Arc::default()));
    outcome.err().map(|error| error_chain(&error))
}

/// The duration of a call, and whether a limit ended it.
fn run(call: &str, size: usize, limits: &Limits) -> (Duration, bool) {
    let timed = |script: &str| {
        let started = processor_time();
        let failed = load(script, size, limits);
        (processor_time().saturating_sub(started), failed)
    };
    let (before, failed) = timed("");
    if failed.is_some() {
        return (Duration::ZERO, true);
    }
    let (time, failed) = timed(call);
    if let Some(failed) = &failed {
        let limit = ["took", "more than", "more memory", "at most"].iter().any(|word| failed.contains(word));
        assert!(limit, "{call}: {failed}");
    }
    (time.saturating_sub(before), failed.is_some())
}

fn limits() -> Limits {
    Limits { steps: 1_000_000, time: Duration::from_secs(60), ..Limits::default() }
}

/// How many times more the larger call costs. Time is measured first; a call that looks too slow is judged by its
/// instruction count, which does not depend on other load.
fn growth(call: &str) -> f64 {
    let growth = growth_of_time(call, ATTEMPTS[0]);
    if growth <= TOLERANCE {
        return growth;
    }
    let index = all_calls().position(|known| known == call).expect("it is one of the calls");
    let count =
        |size: usize, called: bool| pintle_testkit::instructions(TEST, &format!("{index} {size} {called}"));
    growth_of_instructions(count).unwrap_or_else(|| growth_of_time(call, ATTEMPTS[1]))
}

/// `count` returns the instructions of a process that creates arguments of a size and, if the flag is set, makes the call.
fn growth_of_instructions(count: impl Fn(usize, bool) -> Option<u64>) -> Option<f64> {
    let of = |size| Some(count(size, true)?.saturating_sub(count(size, false)?).max(1) as f64);
    Some(of(SIZES[1])? / of(SIZES[0])?)
}

fn all_calls() -> impl Iterator<Item = &'static str> {
    CALLS.iter().flat_map(|(_, calls)| calls.iter().copied())
}

/// Runs the one call whose instructions are counted.
fn run_counted(part: &str) {
    let words: Vec<&str> = part.split(' ').collect();
    let [index, size, called] = words[..] else { panic!("{part} is no part of this test") };
    let call = all_calls().nth(index.parse().expect("an index")).expect("it is one of the calls");
    load(if called == "true" { call } else { "" }, size.parse().expect("a size"), &limits());
}

/// How many times longer the larger call takes: its fastest run against the slowest of the smaller one, to discount load.
fn growth_of_time(call: &str, attempts: usize) -> f64 {
    let limits = limits();
    let (mut slowest, mut quickest) = (Duration::from_micros(50), Duration::MAX);
    let mut ratio = f64::MAX;
    for _ in 0..attempts {
        let (small, _) = run(call, SIZES[0], &limits);
        let (large, refused) = run(call, SIZES[1], &limits);
        (slowest, quickest) = (slowest.max(small), quickest.min(large));
        ratio =
            if refused || quickest < QUICK { 0.0 } else { quickest.as_secs_f64() / slowest.as_secs_f64() };
        if ratio <= TOLERANCE {
            break;
        }
    }
    ratio
}

#[test]
fn no_native_function_takes_the_square_of_the_time() {
    if let Some(path) = std::env::var_os(VARIABLE) {
        let rows: String = CALLS.iter().map(|(name, calls)| row(name, calls)).collect();
        return std::fs::write(path, rows).expect("the table can be written");
    }
    if let Some(part) = pintle_testkit::counted_part() {
        return run_counted(&part);
    }
    let problems: Vec<String> = all_calls()
        .map(|call| (call, growth(call)))
        .filter(|(_, growth)| *growth > TOLERANCE)
        .map(|(call, growth)| format!("{call}: {growth:.0} times as long for 16 times as much"))
        .collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn what_looks_too_slow_is_judged_by_its_instructions() {
    let square = |size: usize, called: bool| Some(1_000 + if called { (size * size) as u64 } else { 0 });
    let linear = |size: usize, called: bool| Some(1_000 + if called { size as u64 } else { 0 });
    assert!(growth_of_instructions(square).is_some_and(|growth| growth > TOLERANCE));
    assert!(growth_of_instructions(linear).is_some_and(|growth| growth < TOLERANCE));
    assert!(growth_of_instructions(|_, _| None).is_none());
    let counted = |called: bool| pintle_testkit::instructions(TEST, &format!("0 4096 {called}"));
    if let (Some(without), Some(with)) = (counted(false), counted(true)) {
        assert!(with > without, "{with} {without}");
    }
}

#[test]
fn every_native_function_is_measured_and_in_the_table() {
    let script = "
    for _, library in {'string', 'table', 'utf8', 'buffer', 'yaml', 'json', 'toml', 'semver', 'base64', 'hash', 'regex',
        'log', 'template'} do
        for name, value in pairs(_G[library]) do
            if type(value) == 'function' then log.info(library .. '.' .. name) end
        end
    end";
    let script = script.replace("_G[library]", "getmetatable('') and _G[library]");
    let test_env =
        try_test_env(&chart("web", &[("ext/lua/chart.lua", &script)]), &Permissions::none(), |_| ())
            .unwrap_or_else(|error| panic!("{}", error_chain(&error)));
    let table = std::fs::read_to_string(DOCUMENT).expect("the table is there");
    let said = test_env.listener.text();
    let names: Vec<&str> = said.lines().filter_map(|line| line.rsplit(' ').next()).collect();
    assert!(names.len() > 60, "{names:?}");
    for name in names.iter().filter(|name| !is_constant(name)) {
        assert!(CALLS.iter().any(|(known, _)| known == name), "{name} is not measured");
        assert!(table.contains(&format!("| `{name}` |")), "{name}: run `cargo xtask native-functions`");
    }
}

/// The row of a function: the slowest of its calls at each size.
fn row(name: &str, calls: &[&str]) -> String {
    // More than the default memory limit: the arguments of all calls are created at once, and do not fit at 10 MB otherwise.
    let memory = 1 << 30;
    let limits = Limits { time: Duration::from_secs(20), memory, all_memory: memory, ..Limits::default() };
    let mut out = String::new();
    for call in calls {
        let mut times = Vec::new();
        let most =
            std::env::var(MAX_SIZE_VARIABLE).ok().and_then(|most| most.parse().ok()).unwrap_or(usize::MAX);
        for size in [10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|size| *size <= most) {
            let (time, refused) = run(call, size, &limits);
            times.push(if refused {
                "limit".to_owned()
            } else {
                format!("{:.1} ms", time.as_secs_f64() * 1e3)
            });
            if refused || time > Duration::from_secs(2) {
                break;
            }
        }
        let call = call.replace('|', "\\|");
        writeln!(out, "| `{name}` | `{call}` | {} |", times.join(", ")).expect("it is memory");
    }
    out
}
