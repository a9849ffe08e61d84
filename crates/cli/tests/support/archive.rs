//! Archives that no packager would make.

use std::io::Write as _;
use std::process::{Command, Stdio};

/// A tar archive of entries: name, type and data. Links lead to `/etc/passwd`.
pub(crate) fn tar(entries: &[(&str, u8, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (name, kind, data) in entries {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        header[136..147].copy_from_slice(b"00000000000");
        header[148..156].copy_from_slice(b"        ");
        header[156] = *kind;
        header[157..168].copy_from_slice(b"/etc/passwd");
        header[257..265].copy_from_slice(b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        tar.extend_from_slice(&header);
        tar.extend_from_slice(data);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

/// Compresses with the system's gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    let target = file.reopen().expect("it can be opened");
    let mut gzip = Command::new("gzip")
        .args(["-1", "-n"])
        .stdin(Stdio::piped())
        .stdout(target)
        .spawn()
        .expect("gzip is there");
    gzip.stdin.take().expect("the input is a pipe").write_all(bytes).expect("gzip reads");
    assert!(gzip.wait().expect("gzip ends").success());
    std::fs::read(file.path()).expect("it can be read")
}
