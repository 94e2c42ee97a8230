//! Send and receive buffers together: made of [`super::send_buffer`] and [`super::receive_window`] where neither alone gains
//! anything, so that it finds nothing by itself.

use super::{Removal, Suspect};
use crate::holders::case::Case;
use result::HolderKind;

pub(super) struct Buffers;

impl Suspect for Buffers {
    fn kind(&self) -> HolderKind {
        HolderKind::Buffers
    }

    fn find(&self, _: &Case<'_>) -> Vec<Removal> {
        Vec::new()
    }
}
