//! stub
use units::{Span, Time};
pub struct Contract;
#[derive(Clone, Copy)]
pub struct Terms {
    pub pace: u64,
    pub bucket: u64,
}
impl Contract {
    pub fn new(_packet: u64) -> Contract {
        Contract
    }
    pub fn on_sent(&mut self, now: Time, _: u64, _: u64) -> Time {
        now
    }
    pub fn on_acked(&mut self, _: Time, _: u64, _: Span) {}
    pub fn on_lost(&mut self, _: Time, _: u64) {}
    pub fn terms(&self) -> Option<Terms> {
        None
    }
}
