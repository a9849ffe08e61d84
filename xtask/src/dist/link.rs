//! Links programs for musl: with the linker that comes with the compiler, because zig's knows neither packed relocations nor an order
//! of functions. Both are what memory is about: a page of the program counts as soon as anything near it is used, and what
//! renders charts is 1.4 MB of code in 26. `benches/hot-functions.txt` lists it, and it is put side by side.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::dist::target::Target;
use crate::shell::{cache, output, print_line, root, run};

/// The functions that `template` calls, without the hashes that differ between builds; `cargo xtask hot-functions` writes them.
const HOT: &str = "benches/hot-functions.txt";

/// What the linker is told: to pack relocations, which are read and written at each start.
const ARGUMENTS: [&str; 3] = ["-zpack-relative-relocs", "--no-warn-symbol-ordering", "-znoexecstack"];

/// The flags for rustc that link a target's programs in this way.
pub(crate) fn rust_flags(target: &Target, zig: &Path) -> Result<String> {
    let libraries = cxx_library(target, zig)?;
    let script = cache()?.join("link.sh");
    let this = std::env::current_exe().context("where this program is")?;
    let text = format!("#!/bin/sh\nexec '{}' __link \"$@\"\n", this.display());
    fs::write(&script, text).context("cannot write the script that links")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    let mut flags = vec![format!("-Clinker={}", script.display()), "-Clinker-flavor=ld.lld".to_owned()];
    flags.push(format!("-Clink-arg=-L{}", libraries.display()));
    flags.extend(ARGUMENTS.iter().map(|argument| format!("-Clink-arg={argument}")));
    Ok(flags.join(" "))
}

/// A folder with the C++ library of a target, which zig builds from its sources when it links a program that needs it.
fn cxx_library(target: &Target, zig: &Path) -> Result<PathBuf> {
    let folder = cache()?.join(format!("cxx-{}", target.triple));
    if folder.join("libstdc++.a").is_file() {
        return Ok(folder);
    }
    print_line(&format!("building the C++ library for {} (once)", target.triple));
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let (source, program) = (work.path().join("a.cpp"), work.path().join("a"));
    fs::write(&source, "#include <string>\nint main() { throw std::string(\"a\"); }\n")?;
    let architecture = target.triple.split('-').next().unwrap_or_default();
    let mut compile = Command::new(zig.join("python-zig"));
    compile.args(["c++", "-static", "-target", &format!("{architecture}-linux-musl"), "-O2"]);
    compile.arg(&source).arg("-o").arg(&program).env("ZIG_GLOBAL_CACHE_DIR", work.path().join("cache"));
    compile.env("ZIG_LOCAL_CACHE_DIR", work.path().join("local"));
    run(&mut compile).context("zig cannot build its C++ library")?;
    fs::create_dir_all(&folder)?;
    for name in ["libc++.a", "libc++abi.a"] {
        let built = find(&work.path().join("cache/o"), name)?;
        fs::copy(&built, folder.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    // The name by which crates ask for it. The linker reads a script where it looks for an archive.
    fs::write(folder.join("libstdc++.a"), "GROUP ( libc++.a libc++abi.a )\n")?;
    Ok(folder)
}

/// A file with this name in a folder of folders.
fn find(folder: &Path, name: &str) -> Result<PathBuf> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path().join(name);
        if path.is_file() {
            return Ok(path);
        }
    }
    bail!("zig built no {name}")
}

/// `__link`: the linker, for rustc. Adds the order of functions to what it is told.
pub(crate) fn link(arguments: &[String]) -> Result<()> {
    let mut linker = Command::new(tool("rust-lld")?);
    linker.args(arguments);
    let objects: Vec<&String> = arguments.iter().filter(|path| path.ends_with(".rcgu.o")).collect();
    let order = tempfile::NamedTempFile::new().context("cannot make a file for the order of functions")?;
    if !objects.is_empty() {
        let mut nm = Command::new(tool("llvm-nm")?);
        let symbols = output(nm.args(["--defined-only", "--format=just-symbols"]).args(&objects))?;
        let hot = fs::read_to_string(root().join(HOT)).with_context(|| format!("cannot read {HOT}"))?;
        fs::write(order.path(), ordered(&String::from_utf8_lossy(&symbols), &hot).join("\n"))?;
        linker.arg(format!("--symbol-ordering-file={}", order.path().display()));
    }
    run(&mut linker)
}

/// The symbols of a program that are on the list, in the order of the list.
fn ordered<'s>(symbols: &'s str, hot: &str) -> Vec<&'s str> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for symbol in symbols.lines() {
        found.entry(without_hash(symbol)).or_default().push(symbol);
    }
    hot.lines().filter_map(|name| found.get(name)).flatten().copied().collect()
}

/// A symbol of Rust without the hash at its end, which depends on the compiler and on flags.
pub(crate) fn without_hash(symbol: &str) -> &str {
    let Some(rest) = symbol.strip_suffix('E') else { return symbol };
    match rest.len().checked_sub(19).and_then(|at| rest.get(at..)) {
        Some(hash) if hash.starts_with("17h") && hash[3..].bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            &rest[..rest.len() - 19]
        }
        _ => symbol,
    }
}

/// A tool of the compiler's toolchain.
fn tool(name: &str) -> Result<PathBuf> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()))?;
    let version = String::from_utf8(output(Command::new("rustc").arg("-vV").current_dir(root()))?)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).context("rustc names no host")?;
    let path = Path::new(String::from_utf8(sysroot)?.trim()).join(format!("lib/rustlib/{host}/bin/{name}"));
    if !path.is_file() {
        let mut install = Command::new("rustup");
        install.args(["--quiet", "component", "add", "llvm-tools"]).current_dir(root());
        run(&mut install).with_context(|| format!("{name} comes with rustup's component llvm-tools"))?;
    }
    Ok(path)
}

/// `hot-functions PROGRAM`: writes the list from what a program with symbols calls while it renders charts.
pub(crate) fn write_hot_functions(arguments: &[String]) -> Result<()> {
    let [program] = arguments else { bail!("usage: cargo xtask hot-functions PROGRAM") };
    let corpus = crate::shell::corpus().context("the corpus of charts is needed")?;
    let work = tempfile::tempdir().context("cannot make a temporary folder")?;
    let mut names = Vec::new();
    for chart in CHARTS {
        let trace = work.path().join("trace");
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--demangle=no"]);
        valgrind.arg(format!("--callgrind-out-file={}", trace.display())).arg(program);
        valgrind.args(["template", "x"]).arg(corpus.join("charts").join(chart)).env("HOME", work.path());
        output(&mut valgrind).context("valgrind and charts of the corpus are needed")?;
        let text = fs::read_to_string(&trace)?;
        names.extend(text.lines().filter_map(called).map(|name| without_hash(name).to_owned()));
    }
    names.sort();
    names.dedup();
    names.push(String::new());
    fs::write(root().join(HOT), names.join("\n")).with_context(|| format!("cannot write {HOT}"))
}

/// Charts that use much of what there is.
const CHARTS: [&str; 3] =
    ["helm__testdata.alpine-0.1.0.tgz", "bitnami__redis-23.1.1.tgz", "argoproj__argo-cd-10.1.1.tgz"];

/// The function that a line of a trace names for the first time.
fn called(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?;
    let (_, name) = rest.split_once(") ")?;
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_').then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_ordered_as_listed_whatever_their_hashes() {
        let symbols =
            "_ZN1a1b17h0123456789abcdefE\nmemcpy\n_ZN1c1d17hffffffffffffffffE\n_ZN1a1b17h00000000000000ffE";
        let hot = "memcpy\n_ZN1a1b\ngone\n";
        assert_eq!(
            ordered(symbols, hot),
            ["memcpy", "_ZN1a1b17h0123456789abcdefE", "_ZN1a1b17h00000000000000ffE"]
        );
        for kept in ["E", "", "_ZN1a1bE", "17h0123456789abcdxE"] {
            assert_eq!(without_hash(kept), kept);
        }
    }

    #[test]
    fn the_list_is_sorted_and_has_no_hashes() {
        let text = fs::read_to_string(root().join(HOT)).expect("there");
        let names: Vec<&str> = text.lines().collect();
        assert!(names.len() > 1_000 && names.is_sorted());
        assert!(names.iter().all(|name| without_hash(name) == *name));
    }

    #[test]
    fn a_trace_names_functions_once_with_their_numbers() {
        assert_eq!(called("fn=(12) _ZN1a1bE"), Some("_ZN1a1bE"));
        assert_eq!(called("cfn=(3) memcpy"), Some("memcpy"));
        assert_eq!(called("fn=(12)"), None);
        assert_eq!(called("fn=(1) 0x0000000000160e04"), None);
    }
}
