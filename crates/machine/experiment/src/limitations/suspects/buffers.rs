//! Send and receive buffers together. The search builds this from [`super::send_buffer`] and
//! [`super::receive_window`] if neither alone has a gain, so `find` returns nothing here.

use super::{Removal, Suspect};
use crate::limitations::case::Case;
use result::LimitationKind;

pub(super) struct Buffers;

impl Suspect for Buffers {
    fn kind(&self) -> LimitationKind {
        LimitationKind::Buffers
    }

    fn find(&self, _: &Case<'_>) -> Vec<Removal> {
        Vec::new()
    }
}
