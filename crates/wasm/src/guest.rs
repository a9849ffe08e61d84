//! What the functions of the host work on: their own state, and the memory of the module.

use std::collections::BTreeMap;
use std::time::Instant;

use wasmi::{Caller, Extern, StoreLimits};

use crate::files::Files;
use crate::http::HttpResponse;
use crate::memory::Blocks;
use crate::{Host, Settings};

/// The state of a call.
pub(crate) struct State {
    pub(crate) host: Box<dyn Host>,
    pub(crate) settings: Settings,
    pub(crate) blocks: Blocks,
    pub(crate) input: (u64, u64),
    pub(crate) output: (u64, u64),
    pub(crate) error: u64,
    pub(crate) variables: BTreeMap<String, Vec<u8>>,
    pub(crate) response: HttpResponse,
    pub(crate) files: Files,
    pub(crate) limits: StoreLimits,
    pub(crate) start: Instant,
}

/// The error numbers of WASI (`errno`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Errno {
    BadDescriptor = 8,
    Exists = 20,
    Fault = 21,
    Invalid = 28,
    Io = 29,
    IsDirectory = 31,
    NoEntry = 44,
    NoSpace = 51,
    NoSystemCall = 52,
    NotDirectory = 54,
    NotEmpty = 55,
    Pipe = 64,
    Seek = 70,
    NotCapable = 76,
}

/// The memory of a module.
pub(crate) struct Memory<'m>(pub(crate) &'m mut [u8]);

impl Memory<'_> {
    pub(crate) fn bytes(&self, at: i32, length: i32) -> Result<&[u8], Errno> {
        let (at, length) = (at.cast_unsigned() as usize, length.cast_unsigned() as usize);
        self.0.get(at..at.checked_add(length).ok_or(Errno::Fault)?).ok_or(Errno::Fault)
    }

    pub(crate) fn bytes_mut(&mut self, at: i32, length: i32) -> Result<&mut [u8], Errno> {
        let (at, length) = (at.cast_unsigned() as usize, length.cast_unsigned() as usize);
        self.0.get_mut(at..at.checked_add(length).ok_or(Errno::Fault)?).ok_or(Errno::Fault)
    }

    pub(crate) fn write(&mut self, at: i32, bytes: &[u8]) -> Result<(), Errno> {
        let length = i32::try_from(bytes.len()).map_err(|_| Errno::Fault)?;
        self.bytes_mut(at, length)?.copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn u32(&self, at: i32) -> Result<u32, Errno> {
        let bytes = self.bytes(at, 4)?;
        Ok(u32::from_le_bytes(bytes.try_into().map_err(|_| Errno::Fault)?))
    }

    pub(crate) fn u64(&self, at: i32) -> Result<u64, Errno> {
        let bytes = self.bytes(at, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().map_err(|_| Errno::Fault)?))
    }

    pub(crate) fn text(&self, at: i32, length: i32) -> Result<String, Errno> {
        String::from_utf8(self.bytes(at, length)?.to_vec()).map_err(|_| Errno::Invalid)
    }

    /// The buffers of a list of them, as pairs of offset and length.
    pub(crate) fn buffers(&self, at: i32, count: i32) -> Result<Vec<(i32, i32)>, Errno> {
        // A longer list is not plausible.
        let count = u32::try_from(count).ok().filter(|count| *count <= 1024).ok_or(Errno::Invalid)?;
        (0..count.cast_signed())
            .map(|index| {
                let at = at.wrapping_add(index * 8);
                Ok((self.u32(at)?.cast_signed(), self.u32(at.wrapping_add(4))?.cast_signed()))
            })
            .collect()
    }
}

/// The memory that the calling module exports, and the state.
pub(crate) fn split<'c>(caller: &'c mut Caller<'_, State>) -> Result<(Memory<'c>, &'c mut State), Errno> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory).ok_or(Errno::Fault)?;
    let (bytes, state) = memory.data_and_store_mut(caller);
    Ok((Memory(bytes), state))
}
