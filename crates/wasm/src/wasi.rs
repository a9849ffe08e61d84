//! WASI preview 1, as much of it as plugins use: streams, environment, clock, random numbers, and files in `/tmp`.

use std::time::Duration;

use wasmi::{Caller, Error, Linker};

use crate::files::{OpenFlags, PATH, Status};
use crate::guest::{Errno, Memory, State, split};
use crate::{Host, Stream};

const MODULE: &str = "wasi_snapshot_preview1";

const CHARACTER_DEVICE: u8 = 2;
const FOLDER: u8 = 3;
const FILE: u8 = 4;

type Call<'c> = Caller<'c, State>;
type Outcome = Result<(), Errno>;

/// Runs some work on the memory and the state, and returns its error as a number.
fn with(mut call: Call<'_>, work: impl FnOnce(Memory<'_>, &mut State) -> Outcome) -> i32 {
    match split(&mut call).and_then(|(memory, state)| work(memory, state)) {
        Ok(()) => 0,
        Err(error) => error as i32,
    }
}

/// Adds all functions.
pub(crate) fn define(linker: &mut Linker<State>) -> Result<(), Error> {
    process(linker)?;
    clocks(linker)?;
    streams(linker)?;
    descriptors(linker)?;
    paths(linker)?;
    unsupported(linker)
}

fn process(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "args_sizes_get", |call: Call<'_>, count: i32, size: i32| {
        with(call, |memory, _| write_sizes(memory, &[], count, size))
    })?;
    linker.func_wrap(MODULE, "args_get", |_: Call<'_>, _: i32, _: i32| 0)?;
    linker.func_wrap(MODULE, "environ_sizes_get", |call: Call<'_>, count: i32, size: i32| {
        with(call, |memory, state| write_sizes(memory, &environment(&*state.host), count, size))
    })?;
    linker.func_wrap(MODULE, "environ_get", |call: Call<'_>, list: i32, buffer: i32| {
        with(call, |mut memory, state| {
            let (mut list, mut buffer) = (list, buffer);
            for text in environment(&*state.host) {
                memory.write(list, &buffer.to_le_bytes())?;
                memory.write(buffer, &text)?;
                list = list.wrapping_add(4);
                buffer = buffer.wrapping_add(i32::try_from(text.len()).map_err(|_| Errno::Fault)?);
            }
            Ok(())
        })
    })?;
    linker
        .func_wrap(MODULE, "proc_exit", |_: Call<'_>, code: i32| Err::<(), Error>(Error::i32_exit(code)))?;
    linker.func_wrap(MODULE, "random_get", |call: Call<'_>, at: i32, length: i32| {
        with(call, |mut memory, state| {
            state.host.random(memory.bytes_mut(at, length)?);
            Ok(())
        })
    })?;
    linker.func_wrap(MODULE, "sched_yield", |_: Call<'_>| 0)?;
    Ok(())
}

/// The variables, each NUL-terminated.
fn environment(host: &dyn Host) -> Vec<Vec<u8>> {
    let variables = host.variables().into_iter();
    variables.map(|(name, value)| format!("{name}={value}\0").into_bytes()).collect()
}

fn write_sizes(mut memory: Memory<'_>, texts: &[Vec<u8>], count: i32, size: i32) -> Outcome {
    let number = |number: usize| u32::try_from(number).map(u32::to_le_bytes).map_err(|_| Errno::Fault);
    memory.write(count, &number(texts.len())?)?;
    memory.write(size, &number(texts.iter().map(Vec::len).sum())?)
}

fn clocks(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "clock_res_get", |call: Call<'_>, _: i32, at: i32| {
        with(call, |mut memory, _| memory.write(at, &1_000u64.to_le_bytes()))
    })?;
    linker.func_wrap(MODULE, "clock_time_get", |call: Call<'_>, clock: i32, _: i64, at: i32| {
        with(call, |mut memory, state| memory.write(at, &nanoseconds(time(state, clock)).to_le_bytes()))
    })?;
    linker.func_wrap(
        MODULE,
        "poll_oneoff",
        |call: Call<'_>, wanted: i32, events: i32, count: i32, happened: i32| {
            with(call, |memory, state| poll(memory, state, [wanted, events, count, happened]))
        },
    )?;
    Ok(())
}

/// The wall-clock time, or the monotonic time since the start of the call.
fn time(state: &State, clock: i32) -> Duration {
    if clock == 0 { state.host.now() } else { state.start.elapsed() }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits for the first of some events. Streams are always ready; timers end at the timeout of the module at the latest.
fn poll(mut memory: Memory<'_>, state: &State, [wanted, events, count, happened]: [i32; 4]) -> Outcome {
    const SUBSCRIPTION: i32 = 48;
    let count = u32::try_from(count).ok().filter(|count| (1..=1024).contains(count)).ok_or(Errno::Invalid)?;
    let mut timer: Option<(u64, Duration)> = None;
    let mut ready: Vec<(u64, u8)> = Vec::new();
    for index in 0..count.cast_signed() {
        let at = wanted.wrapping_add(index * SUBSCRIPTION);
        let (user, kind) = (memory.u64(at)?, memory.bytes(at.wrapping_add(8), 1)?[0]);
        if kind != 0 {
            ready.push((user, kind));
            continue;
        }
        let clock = memory.u32(at.wrapping_add(16))?.cast_signed();
        let limit = Duration::from_nanos(memory.u64(at.wrapping_add(24))?);
        let absolute = memory.bytes(at.wrapping_add(40), 1)?[0] & 1 != 0;
        let wait = if absolute { limit.saturating_sub(time(state, clock)) } else { limit };
        if timer.is_none_or(|(_, shortest)| wait < shortest) {
            timer = Some((user, wait));
        }
    }
    if let (true, Some((user, wait))) = (ready.is_empty(), timer) {
        std::thread::sleep(wait.min(state.settings.timeout.saturating_sub(state.start.elapsed())));
        ready.push((user, 0));
    }
    for (index, (user, kind)) in (0..).zip(&ready) {
        let mut event = [0; 32];
        event[..8].copy_from_slice(&user.to_le_bytes());
        event[10] = *kind;
        memory.write(events.wrapping_add(index * 32), &event)?;
    }
    memory.write(happened, &u32::try_from(ready.len()).unwrap_or(0).to_le_bytes())
}

/// The arguments of reads and writes.
struct Transfer {
    fd: i32,
    /// Where the list of buffers is, and how many it has.
    buffers: (i32, i32),
    /// Where the number of bytes is written to.
    done: i32,
    /// The position in the file; `None` is the current one.
    at: Option<u64>,
}

type TransferFunction = fn(Memory<'_>, &mut State, Transfer) -> Outcome;

fn streams(linker: &mut Linker<State>) -> Result<(), Error> {
    let functions: [(_, _, TransferFunction); 2] =
        [("fd_write", "fd_pwrite", write), ("fd_read", "fd_pread", read)];
    for (name, with_position, transfer) in functions {
        linker.func_wrap(
            MODULE,
            name,
            move |call: Call<'_>, fd: i32, list: i32, count: i32, done: i32| {
                let what = Transfer { fd, buffers: (list, count), done, at: None };
                with(call, |memory, state| transfer(memory, state, what))
            },
        )?;
        linker.func_wrap(
            MODULE,
            with_position,
            move |call: Call<'_>, fd: i32, list: i32, count: i32, at: u64, done: i32| {
                let what = Transfer { fd, buffers: (list, count), done, at: Some(at) };
                with(call, |memory, state| transfer(memory, state, what))
            },
        )?;
    }
    Ok(())
}

fn write(mut memory: Memory<'_>, state: &mut State, transfer: Transfer) -> Outcome {
    let Transfer { fd, buffers: (list, count), done, mut at } = transfer;
    let mut written: u32 = 0;
    for (start, length) in memory.buffers(list, count)? {
        let bytes = memory.bytes(start, length)?;
        match fd {
            1 | 2 => {
                let stream = if fd == 1 { Stream::Out } else { Stream::Error };
                state.host.write(stream, bytes).map_err(|error| match error.kind() {
                    std::io::ErrorKind::BrokenPipe => Errno::Pipe,
                    _ => Errno::Io,
                })?;
            }
            _ => {
                state.files.write(fd.cast_unsigned(), bytes, at)?;
                at = at.map(|at| at.saturating_add(bytes.len() as u64));
            }
        }
        written = written.saturating_add(length.cast_unsigned());
    }
    memory.write(done, &written.to_le_bytes())
}

fn read(mut memory: Memory<'_>, state: &mut State, transfer: Transfer) -> Outcome {
    let Transfer { fd, buffers: (list, count), done, mut at } = transfer;
    let mut total = 0;
    for (start, length) in memory.buffers(list, count)? {
        let buffer = memory.bytes_mut(start, length)?;
        if buffer.is_empty() {
            continue;
        }
        let wanted = buffer.len();
        let got = match fd {
            0 => state.host.read(buffer).map_err(|_| Errno::Io)?.min(wanted),
            _ => state.files.read(fd.cast_unsigned(), buffer, at)?,
        };
        at = at.map(|at| at.saturating_add(got as u64));
        total += got;
        // Another read of standard input could block.
        if got < wanted || fd == 0 {
            break;
        }
    }
    memory.write(done, &u32::try_from(total).unwrap_or(u32::MAX).to_le_bytes())
}

fn descriptors(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(MODULE, "fd_close", |call: Call<'_>, fd: i32| {
        with(
            call,
            |_, state| if (0..3).contains(&fd) { Ok(()) } else { state.files.close(fd.cast_unsigned()) },
        )
    })?;
    linker.func_wrap(MODULE, "fd_fdstat_get", |call: Call<'_>, fd: i32, at: i32| {
        with(call, |mut memory, state| {
            let mut status = [0; 24];
            status[0] = kind(state, fd)?;
            status[8..].fill(0xff);
            memory.write(at, &status)
        })
    })?;
    linker.func_wrap(MODULE, "fd_filestat_get", |call: Call<'_>, fd: i32, at: i32| {
        with(call, |memory, state| {
            let kind = kind(state, fd)?;
            let size =
                if kind == CHARACTER_DEVICE { 0 } else { state.files.status(fd.cast_unsigned())?.size };
            write_status(memory, at, kind, size)
        })
    })?;
    linker.func_wrap(MODULE, "fd_filestat_set_size", |call: Call<'_>, fd: i32, size: u64| {
        with(call, |_, state| state.files.set_size(fd.cast_unsigned(), size))
    })?;
    linker.func_wrap(MODULE, "fd_prestat_get", |call: Call<'_>, fd: i32, at: i32| {
        with(call, |mut memory, state| {
            is_root(state, fd)?;
            let mut status = [0; 8];
            status[4] = PATH.len().to_le_bytes()[0];
            memory.write(at, &status)
        })
    })?;
    linker.func_wrap(MODULE, "fd_prestat_dir_name", |call: Call<'_>, fd: i32, at: i32, length: i32| {
        with(call, |mut memory, state| {
            is_root(state, fd)?;
            let length = usize::try_from(length).unwrap_or(0).min(PATH.len());
            memory.write(at, &PATH.as_bytes()[..length])
        })
    })?;
    linker.func_wrap(MODULE, "fd_seek", |call: Call<'_>, fd: i32, offset: i64, whence: i32, at: i32| {
        with(call, |mut memory, state| {
            if (0..3).contains(&fd) {
                return Err(Errno::Seek);
            }
            memory.write(at, &state.files.seek(fd.cast_unsigned(), offset, whence)?.to_le_bytes())
        })
    })?;
    linker.func_wrap(MODULE, "fd_tell", |call: Call<'_>, fd: i32, at: i32| {
        with(call, |mut memory, state| {
            memory.write(at, &state.files.seek(fd.cast_unsigned(), 0, 1)?.to_le_bytes())
        })
    })?;
    linker.func_wrap(
        MODULE,
        "fd_readdir",
        |call: Call<'_>, fd: i32, at: i32, length: i32, cookie: u64, done: i32| {
            with(call, |memory, state| list(memory, state, fd, (at, length), cookie, done))
        },
    )?;
    linker.func_wrap(MODULE, "fd_fdstat_set_flags", |_: Call<'_>, _: i32, _: i32| 0)?;
    for name in ["fd_sync", "fd_datasync"] {
        linker.func_wrap(MODULE, name, |_: Call<'_>, _: i32| 0)?;
    }
    linker.func_wrap(MODULE, "fd_advise", |_: Call<'_>, _: i32, _: u64, _: u64, _: i32| 0)?;
    linker.func_wrap(MODULE, "fd_filestat_set_times", |_: Call<'_>, _: i32, _: u64, _: u64, _: i32| 0)?;
    Ok(())
}

fn is_root(state: &State, fd: i32) -> Outcome {
    if state.files.is_root(fd.cast_unsigned()) { Ok(()) } else { Err(Errno::BadDescriptor) }
}

fn kind(state: &State, fd: i32) -> Result<u8, Errno> {
    match fd {
        0..3 => Ok(CHARACTER_DEVICE),
        _ => state.files.status(fd.cast_unsigned()).map(kind_of),
    }
}

fn kind_of(status: Status) -> u8 {
    if status.is_folder { FOLDER } else { FILE }
}

fn write_status(mut memory: Memory<'_>, at: i32, kind: u8, size: u64) -> Outcome {
    let mut status = [0; 64];
    status[16] = kind;
    status[24] = 1;
    status[32..40].copy_from_slice(&size.to_le_bytes());
    memory.write(at, &status)
}

/// Writes as many entries of a folder as fit into the buffer, starting after `cookie`.
fn list(
    mut memory: Memory<'_>,
    state: &State,
    fd: i32,
    (at, length): (i32, i32),
    cookie: u64,
    done: i32,
) -> Outcome {
    let mut bytes = Vec::new();
    for (next, (name, is_folder)) in (1u64..).zip(state.files.list(fd.cast_unsigned())?) {
        if next <= cookie {
            continue;
        }
        bytes.extend(next.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        bytes.extend(u32::try_from(name.len()).unwrap_or(0).to_le_bytes());
        bytes.extend([if is_folder { FOLDER } else { FILE }, 0, 0, 0]);
        bytes.extend(name.as_bytes());
    }
    // The module requests a truncated entry again.
    bytes.truncate(length.cast_unsigned() as usize);
    memory.write(at, &bytes)?;
    memory.write(done, &u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes())
}

fn paths(linker: &mut Linker<State>) -> Result<(), Error> {
    linker.func_wrap(
        MODULE,
        "path_open",
        |call: Call<'_>,
         folder: i32,
         _: i32,
         path: i32,
         length: i32,
         open: i32,
         _: u64,
         _: u64,
         flags: i32,
         at: i32| {
            with(call, |mut memory, state| {
                let path = memory.text(path, length)?;
                let flags = OpenFlags::from_bits(open, flags);
                let descriptor = state.files.open(folder.cast_unsigned(), &path, flags)?;
                memory.write(at, &descriptor.to_le_bytes())
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_filestat_get",
        |call: Call<'_>, folder: i32, _: i32, path: i32, length: i32, at: i32| {
            with(call, |memory, state| {
                let path = memory.text(path, length)?;
                let status = state.files.status_at(folder.cast_unsigned(), &path)?;
                write_status(memory, at, kind_of(status), status.size)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_create_directory",
        |call: Call<'_>, folder: i32, path: i32, length: i32| {
            with(call, |memory, state| {
                let path = memory.text(path, length)?;
                state.files.create_folder(folder.cast_unsigned(), &path)
            })
        },
    )?;
    for (name, is_folder) in [("path_unlink_file", false), ("path_remove_directory", true)] {
        linker.func_wrap(MODULE, name, move |call: Call<'_>, folder: i32, path: i32, length: i32| {
            with(call, |memory, state| {
                let path = memory.text(path, length)?;
                state.files.remove(folder.cast_unsigned(), &path, is_folder)
            })
        })?;
    }
    linker.func_wrap(
        MODULE,
        "path_rename",
        |call: Call<'_>, folder: i32, path: i32, length: i32, to: i32, new: i32, new_length: i32| {
            with(call, |memory, state| {
                let (path, new) = (memory.text(path, length)?, memory.text(new, new_length)?);
                state.files.rename(folder.cast_unsigned(), &path, to.cast_unsigned(), &new)
            })
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_filestat_set_times",
        |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: u64, _: u64, _: i32| 0,
    )?;
    Ok(())
}

/// Defines the functions that always fail: links, sockets and signals are not supported.
fn unsupported(linker: &mut Linker<State>) -> Result<(), Error> {
    const NONE: i32 = Errno::NoSystemCall as i32;
    linker.func_wrap(MODULE, "proc_raise", |_: Call<'_>, _: i32| NONE)?;
    linker.func_wrap(MODULE, "fd_allocate", |_: Call<'_>, _: i32, _: u64, _: u64| NONE)?;
    linker.func_wrap(MODULE, "fd_fdstat_set_rights", |_: Call<'_>, _: i32, _: u64, _: u64| NONE)?;
    linker.func_wrap(MODULE, "fd_renumber", |_: Call<'_>, _: i32, _: i32| NONE)?;
    linker.func_wrap(
        MODULE,
        "path_link",
        |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| NONE,
    )?;
    linker.func_wrap(
        MODULE,
        "path_readlink",
        |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| NONE,
    )?;
    linker.func_wrap(MODULE, "path_symlink", |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: i32| NONE)?;
    linker.func_wrap(MODULE, "sock_accept", |_: Call<'_>, _: i32, _: i32, _: i32| NONE)?;
    linker.func_wrap(
        MODULE,
        "sock_recv",
        |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: i32, _: i32| NONE,
    )?;
    linker.func_wrap(MODULE, "sock_send", |_: Call<'_>, _: i32, _: i32, _: i32, _: i32, _: i32| NONE)?;
    linker.func_wrap(MODULE, "sock_shutdown", |_: Call<'_>, _: i32, _: i32| NONE)?;
    Ok(())
}
