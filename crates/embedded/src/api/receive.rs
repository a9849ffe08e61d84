//! Reading request bodies.

use std::pin::pin;

use bytes::{Buf as _, Bytes};
use http_body_util::BodyExt as _;

/// The limit of a body, as in the real server (`MaxRequestBodyBytes`): twice the 1.5 MiB that etcd accepts by
/// default, as JSON takes more space than the protobuf that is stored.
pub(super) const MAX_BODY_BYTES: usize = 3 << 20;
/// How much of a body that is too large is read and discarded. Closing the connection while the client is still
/// sending would reset it, and the client would never see the error; beyond this limit that is accepted.
const MAX_DRAINED_BYTES: usize = 64 << 20;

/// The body ended too early. It must not be decoded: a part of a YAML document is often a valid document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IncompleteBody;

/// Reads the whole body, or as much as is needed to reject it.
pub(crate) async fn receive<B: http_body::Body>(body: B) -> Result<Bytes, IncompleteBody> {
    let mut body = pin!(body);
    let mut kept = Vec::new();
    let mut received = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(mut data) = frame.map_err(|_| IncompleteBody)?.into_data() else { continue };
        received = received.saturating_add(data.remaining());
        if received > MAX_DRAINED_BYTES {
            break;
        }
        // One byte more than the limit is kept, so that the caller sees that the body is too large.
        let room = (MAX_BODY_BYTES + 1).saturating_sub(kept.len());
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

    /// Sends `chunks` mebibytes; returns how many bytes were kept and how many chunks were read.
    async fn receive_chunks(chunks: usize) -> (usize, usize) {
        let mut received = 0;
        let chunk = |_| {
            received += 1;
            Ok::<_, Infallible>(Frame::data(Bytes::from(vec![b'x'; 1 << 20])))
        };
        let kept = receive(StreamBody::new(stream::iter((0..chunks).map(chunk)))).await.unwrap();
        (kept.len(), received)
    }

    #[tokio::test]
    async fn large_bodies_are_drained_up_to_a_limit_and_not_kept() {
        assert_eq!(receive_chunks(0).await, (0, 0));
        assert_eq!(receive_chunks(3).await, (MAX_BODY_BYTES, 3));
        assert_eq!(receive_chunks(5).await, (MAX_BODY_BYTES + 1, 5));
        assert_eq!(receive_chunks(1_000).await, (MAX_BODY_BYTES + 1, 65));
    }

    #[tokio::test]
    async fn a_truncated_body_is_rejected() {
        let chunks = [Ok(Frame::data(Bytes::from_static(b"kind: ConfigMap\n"))), Err("gone")];
        assert_eq!(receive(StreamBody::new(stream::iter(chunks))).await, Err(IncompleteBody));
    }
}
