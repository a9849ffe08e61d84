//! The body of a response: whole, or a stream for watches and followed logs.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::Frame;

pub(super) type ByteStream = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The body of a response.
pub struct Body(Inner);

enum Inner {
    Whole(Option<Bytes>),
    Stream(ByteStream),
}

impl Body {
    pub(crate) fn whole(text: impl Into<Bytes>) -> Body {
        Body(Inner::Whole(Some(text.into())))
    }

    pub(super) fn stream(chunks: ByteStream) -> Body {
        Body(Inner::Stream(chunks))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Inner::Stream(chunks) => {
                chunks.as_mut().poll_next(context).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Inner::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match &self.0 {
            Inner::Whole(text) => {
                http_body::SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            Inner::Stream(_) => http_body::SizeHint::default(),
        }
    }
}
