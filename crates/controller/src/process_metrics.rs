//! The metrics of the process that every exporter of Prometheus has, from `/proc`; nothing on other systems.

use std::fmt::Write as _;

/// The kernel's unit of times in `/proc`, the same on every architecture that we build for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Appends the metrics.
pub(crate) fn render(out: &mut String) {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let (stat, status, boot) = (read("/proc/self/stat"), read("/proc/self/status"), read("/proc/stat"));
    let open = std::fs::read_dir("/proc/self/fd").map(|entries| entries.count() as f64).ok();
    for (name, kind, help, value) in [
        ("cpu_seconds_total", "counter", "CPU time of the process.", cpu_seconds(&stat)),
        (
            "resident_memory_bytes",
            "gauge",
            "Memory of the process that is in RAM.",
            kilobytes(&status, "VmRSS:"),
        ),
        ("virtual_memory_bytes", "gauge", "Addresses that the process uses.", kilobytes(&status, "VmSize:")),
        (
            "start_time_seconds",
            "gauge",
            "When the process began, in seconds since 1970.",
            start(&stat, &boot),
        ),
        ("open_fds", "gauge", "Open files and connections.", open),
    ] {
        let Some(value) = value else { continue };
        let _ = writeln!(out, "# HELP process_{name} {help}\n# TYPE process_{name} {kind}");
        let _ = writeln!(out, "process_{name} {value}");
    }
}

/// A field of `/proc/self/stat`, by its number in proc(5). The name of the program may have blanks and brackets.
fn field(stat: &str, number: usize) -> Option<f64> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number.checked_sub(3)?)?.parse().ok()
}

fn cpu_seconds(stat: &str) -> Option<f64> {
    Some((field(stat, 14)? + field(stat, 15)?) / TICKS_PER_SECOND)
}

fn start(stat: &str, boot: &str) -> Option<f64> {
    let boot: f64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    Some(boot + field(stat, 22)? / TICKS_PER_SECOND)
}

fn kilobytes(status: &str, name: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_the_program_is_called() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 5 0 12345 1000000 300 18446744073709551615";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(start(stat, "cpu 1 2\nbtime 1000\n"), Some(1123.45));
        assert_eq!(kilobytes("Name:\ta\nVmRSS:\t    2048 kB\n", "VmRSS:"), Some(2_097_152.0));
        assert_eq!((cpu_seconds(""), start("", ""), kilobytes("", "VmRSS:")), (None, None, None));
    }
}
