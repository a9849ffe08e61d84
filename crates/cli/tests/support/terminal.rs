//! Runs the program on a pseudo-terminal, as a user would, and answers its prompts.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::TestEnv;

/// The timeout, generous for busy machines.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A program on a terminal. Its standard output is redirected, unless `all` is set.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts `pintle`.
    pub(crate) fn start(env: &TestEnv, line: &str) -> Terminal {
        Terminal::launch(env, "pintle", line, &[], false)
    }

    /// Starts `pintle` with variables set.
    pub(crate) fn start_with(env: &TestEnv, line: &str, variables: &[(&str, &str)]) -> Terminal {
        Terminal::launch(env, "pintle", line, variables, false)
    }

    /// Starts it under one of its names; with `all`, standard output is shown too.
    pub(crate) fn start_as(env: &TestEnv, name: &str, line: &str, all: bool) -> Terminal {
        Terminal::launch(env, name, line, &[], all)
    }

    fn launch(env: &TestEnv, name: &str, line: &str, variables: &[(&str, &str)], all: bool) -> Terminal {
        let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&near).expect("it is ours");
        unlockpt(&near).expect("it is ours");
        let path = ptsname(&near, Vec::new()).expect("it has a name");
        // Processes of concurrent tests must not inherit it.
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let far = || File::from(open(&path, flags, Mode::empty()).expect("its other side"));
        let child = Command::new(env.linked(name))
            .args(line.split(' '))
            .current_dir(env.path())
            .env_clear()
            .env("HOME", env.path())
            .envs(variables.iter().copied())
            .stdin(far())
            .stderr(far())
            .stdout(if all { Stdio::from(far()) } else { Stdio::piped() })
            .spawn()
            .expect("the program can be run");
        let keyboard = File::from(near);
        let mut reader = keyboard.try_clone().expect("it can be shared");
        let screen = Arc::new(Mutex::new(Vec::new()));
        let shown = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 1024];
            // Reading fails with EIO when the program has exited.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                shown.lock().expect("nobody panics").extend_from_slice(&buffer[..count]);
            }
        });
        Terminal { child, keyboard, screen, reader }
    }

    /// The output so far.
    pub(crate) fn screen(&self) -> String {
        let shown = self.screen.lock().expect("nobody panics");
        String::from_utf8_lossy(&shown).replace("\r\n", "\n")
    }

    /// Waits until a text has appeared this many times.
    pub(crate) fn wait_for(&self, text: &str, times: usize) -> &Terminal {
        let started = Instant::now();
        while self.screen().matches(text).count() < times {
            assert!(started.elapsed() < TIMEOUT, "no {text:?} in:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    /// Types text.
    pub(crate) fn type_in(&self, keys: &str) -> &Terminal {
        (&self.keyboard).write_all(keys.as_bytes()).expect("it takes keys");
        self
    }

    /// Sends SIGINT.
    pub(crate) fn interrupt(&self) -> &Terminal {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        self
    }

    /// Waits for the exit, and returns the exit code, standard output, and the terminal output.
    pub(crate) fn end(mut self) -> (i32, String, String) {
        let mut output = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut output).expect("text");
        }
        let started = Instant::now();
        let status = loop {
            match self.child.try_wait().expect("it can be waited for") {
                Some(status) => break status,
                None if started.elapsed() > TIMEOUT => {
                    self.child.kill().expect("it can be ended");
                    panic!("it does not end:\n{}", self.screen());
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        // The last output may still be in transit; after that the terminal is closed.
        while !self.reader.is_finished() {
            assert!(started.elapsed() < TIMEOUT, "the terminal stays open:\n{}", self.screen());
            std::thread::sleep(Duration::from_millis(5));
        }
        (status.code().unwrap_or(-1), output, self.screen())
    }
}
