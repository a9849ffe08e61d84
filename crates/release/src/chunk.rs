//! Splits a payload into chunks that each fit one Secret.

/// The largest chunk. A Secret may hold 1 MiB including metadata; base64 is not counted.
pub const MAX_CHUNK_BYTES: usize = 900_000;

/// Splits a payload into chunks of at most [`MAX_CHUNK_BYTES`] bytes. An empty payload is one empty chunk, so that
/// there always is a Secret.
pub fn split(payload: &[u8]) -> Vec<&[u8]> {
    if payload.is_empty() { vec![payload] } else { payload.chunks(MAX_CHUNK_BYTES).collect() }
}

/// Joins the chunks of a payload of `size` bytes.
///
/// # Errors
/// The actual size, when it differs from `size`.
pub fn join<'a>(chunks: impl IntoIterator<Item = &'a [u8]>, size: usize) -> Result<Vec<u8>, usize> {
    let mut payload = Vec::new();
    for chunk in chunks {
        payload.extend_from_slice(chunk);
    }
    if payload.len() == size { Ok(payload) } else { Err(payload.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_enough_and_make_up_the_whole() {
        for size in [0, 1, MAX_CHUNK_BYTES, MAX_CHUNK_BYTES + 1, MAX_CHUNK_BYTES * 12 + 5] {
            let payload: Vec<u8> = (0..size).map(|index| index as u8).collect();
            let chunks = split(&payload);
            assert!(!chunks.is_empty() && chunks.iter().all(|chunk| chunk.len() <= MAX_CHUNK_BYTES));
            assert_eq!(join(chunks, size), Ok(payload));
        }
        assert_eq!(join([&b"ab"[..]], 3), Err(2));
    }
}
