//! A payload in pieces that each fit one Secret.

/// The largest piece. A Secret may hold a mebibyte, and a request somewhat more; this leaves room for both.
pub const CHUNK: usize = 900_000;

/// Cuts a payload into pieces of at most [`CHUNK`] bytes. An empty payload is one empty piece, so that there is always
/// something to find.
pub fn split(payload: &[u8]) -> Vec<&[u8]> {
    if payload.is_empty() { vec![payload] } else { payload.chunks(CHUNK).collect() }
}

/// Joins the pieces of a payload of `size` bytes.
///
/// # Errors
/// How many bytes there are, when that is another number.
pub fn join<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, size: usize) -> Result<Vec<u8>, usize> {
    let mut payload = Vec::new();
    for piece in pieces {
        payload.extend_from_slice(piece);
    }
    if payload.len() == size { Ok(payload) } else { Err(payload.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_small_enough_and_make_up_the_whole() {
        for size in [0, 1, CHUNK, CHUNK + 1, CHUNK * 12 + 5] {
            let payload: Vec<u8> = (0..size).map(|index| index as u8).collect();
            let pieces = split(&payload);
            assert!(!pieces.is_empty() && pieces.iter().all(|piece| piece.len() <= CHUNK));
            assert_eq!(join(pieces, size), Ok(payload));
        }
        assert_eq!(join([&b"ab"[..]], 3), Err(2));
    }
}
