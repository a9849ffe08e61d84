//! Reading the body of a request.

use std::pin::pin;

use bytes::{Buf as _, Bytes};
use http_body_util::BodyExt as _;

/// The largest body that is read, as on the real server.
pub(super) const MOST_BYTES: usize = 3 << 20;
/// How much of a body that is too large is listened to. A connection that is closed while its client still speaks
/// breaks there, and the client never reads why; one who says more than this need not know.
const MOST_IGNORED: usize = 64 << 20;

/// The body did not arrive to its end. What did must not be taken for all: half of a YAML text is often YAML too.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Incomplete;

/// The whole body, or what is enough of it to be refused.
pub(crate) async fn receive<B: http_body::Body>(body: B) -> Result<Bytes, Incomplete> {
    let mut body = pin!(body);
    let mut kept = Vec::new();
    let mut heard = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(mut data) = frame.map_err(|_| Incomplete)?.into_data() else { continue };
        heard = heard.saturating_add(data.remaining());
        if heard > MOST_IGNORED {
            break;
        }
        let room = (MOST_BYTES + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&data.copy_to_bytes(data.remaining().min(room)));
    }
    Ok(kept.into())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    /// How much is kept of so many pieces of a mebibyte, and how many of them were listened to.
    async fn hear(pieces: usize) -> (usize, usize) {
        let mut heard = 0;
        let piece = |_| {
            heard += 1;
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; 1 << 20])))
        };
        let kept = receive(StreamBody::new(stream::iter((0..pieces).map(piece)))).await.unwrap();
        (kept.len(), heard)
    }

    #[tokio::test]
    async fn what_is_too_large_is_heard_out_but_not_kept_and_not_for_ever() {
        assert_eq!(hear(0).await, (0, 0));
        assert_eq!(hear(3).await, (MOST_BYTES, 3));
        assert_eq!(hear(5).await, (MOST_BYTES + 1, 5));
        assert_eq!(hear(1_000).await, (MOST_BYTES + 1, 65));
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_not_taken_for_a_whole_one() {
        let pieces = [Ok(Frame::data(Bytes::from_static(b"kind: ConfigMap\n"))), Err("gone")];
        assert_eq!(receive(StreamBody::new(stream::iter(pieces))).await, Err(Incomplete));
    }
}
